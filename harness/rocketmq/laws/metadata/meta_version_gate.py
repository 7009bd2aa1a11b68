"""``meta-version-gate``: a slave takes over and saves topics or groups if and only if the data versions differ.

Judged at the steps of a slave's sync, for topics and for groups:

- *applied* although nothing has changed since the last step after which both agreed: the master has saved nothing (it
  does so at every change) and was not restarted, the slave has changed nothing itself, and no fault touched either;
- *same* although the master has saved its table between the last step after which both agreed and this one, and no
  fault touched it: a master saves when it has made a new version, and else only what a full disk had kept it from,
  within flushConsumerOffsetInterval;
- what was applied is saved at once: before anything else of the sync, if no fault touches the slave;
- nothing is saved in the instant in which a step ends as *same*, but what a full disk had kept the slave from;
- where nobody sees what a slave makes of an answer, it saves the table once before it asks for another one, and once
  more for each topic and group that clients may have made it create.

Left out: which versions they are, see ``meta-converges``; the first step of a life; changes that a machine crash, or a
full disk, took. Sources: SlaveSynchronize.syncTopicConfig and syncSubscriptionGroupConfig, DataVersion.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....event_types.node import Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import EVERY
from ...event_types.metadata import Persist, Sync
from ...known.consumption import PERSIST_MS
from ...known.deadlines import is_instant
from ...known.metadata import GROUPS, TOPICS
from ...topology import MASTER
from .syncing import Agreed, MetadataLaw


class Copy:
    """A slave's copy of one table, in the slave's present life."""

    __slots__ = ("agreed", "applied", "caught_up", "late", "ordered", "same")

    def __init__(self) -> None:
        self.agreed: Agreed | None = None
        self.ordered: int | None = None
        """When the master saved a version that the copy lacks, ns."""
        self.applied: Event | None = None
        """A step whose result is still to be saved."""
        self.late = False
        """Whether what was applied could not be saved then: it is some time."""
        self.caught_up = -1
        """The event with which it was."""
        self.same: Event | None = None
        """The last step that ended as same."""


class Answered:
    """An answer of which nobody sees what its slave makes."""

    __slots__ = ("event", "saves")

    def __init__(self, event: Sync) -> None:
        self.event = event
        self.saves = 0


class MetaVersionGate(MetadataLaw):
    id = "meta-version-gate"
    promise = "A slave takes over and saves its master's topics or groups if and only if their data versions differ."
    source = "SlaveSynchronize.syncTopicConfig, syncSubscriptionGroupConfig: dataVersion.equals"
    needs = frozenset({"config", "start", "sync", "persist"})
    timed = True
    awaits = {"sync": EVERY}

    def begin(self) -> None:
        super().begin()
        self.copies: dict[tuple[str, str], Copy] = {}
        self.answers: dict[str, Answered] = {}
        """By slave: the answer that it may still be taking over."""

    # Steps.

    def on_sync(self, event: Sync) -> None:
        node = event.node
        self.answers.pop(node, None)
        self._judge_unsaved(node, event)
        if node not in self.slaves or event.f not in (TOPICS, GROUPS):
            return
        copy = self.copies.setdefault((node, event.f), Copy())
        if event.status == "answered":
            self.answers[node] = Answered(event)
            self.judged += 1
        agreed = self.agreed(event)
        if agreed is not None:
            saves = self.known.tables.saved(node, event.f, max(agreed.asked.seq, copy.caught_up))
            if event.status == "applied":
                self._judge_applied(copy, event, saves)
            else:
                self._judge_same(copy, agreed.asked, event, saves)
            copy.agreed, copy.ordered = agreed, None

    def _judge_applied(self, copy: Copy, event: Sync, saves: Sequence[Persist]) -> None:
        self.judged += 1
        if not any(is_instant(self.known, event.node, each.t, event.t) for each in saves):
            copy.applied = event
        if copy.agreed is None or not self.is_unchanged(copy.agreed, event):
            return
        if all(self.known.disturbances.is_unaffected(each, copy.agreed.asked.t) for each in (MASTER, event.node)):
            self.violate(
                event,
                f"{event.node} took over the master's {event.f}, though neither has changed since they agreed",
                since=copy.agreed.asked.t,
            )

    def _judge_same(self, copy: Copy, asked: Sync, event: Sync, saves: Sequence[Persist]) -> None:
        self.judged += 1
        copy.same = event
        agreed = copy.agreed.asked.t if copy.agreed is not None else asked.t
        undisturbed = self.known.disturbances.is_unaffected(MASTER, agreed)
        if copy.ordered is not None and copy.ordered <= asked.t and undisturbed:
            self.violate(
                event,
                f"{event.node} took its {event.f} for the master's, though those were changed since they agreed",
                since=agreed,
            )
        if saves and (saves[-1].seq, saves[-1].t) == (event.seq - 1, event.t):
            self._violate_save(event)

    def _violate_save(self, event: Persist | Sync) -> None:
        self.violate(event, f"{event.node} saved its {event.f}, though they were the master's already", since=None)

    # Changes.

    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if node == MASTER:
            self._order(table, event.t)
            return
        answered = self.answers.get(node)
        if answered is not None and answered.event.f == table:
            self._judge_save(answered, event)
            return
        copy = self.copies.get((node, table))
        if copy is None:
            return
        if copy.late:
            # It saves all that was applied since, too.
            copy.late, copy.applied, copy.caught_up = False, None, event.seq
            return
        if self.known.tables.asked(node, table) is not None:
            return
        same = copy.same
        if copy.applied is not None:
            copy.applied = None
        elif same is not None and (same.seq, same.t) == (event.seq - 1, event.t):
            self._violate_save(event)

    def _judge_save(self, answered: Answered, event: Persist) -> None:
        answered.saves += 1
        names = len(self.known.tables.names())
        # A group makes a topic for its retries, too.
        if answered.saves == 2 + 2 * names:
            what = f"{event.node} saved its {event.f} {answered.saves} times after one answer"
            self.violate(event, f"{what}; clients may have made it create {names} names", since=None)

    def _order(self, table: str, t: int) -> None:
        late_ns = int(self.known.config.get(MASTER, {}).get("flushConsumerOffsetInterval", PERSIST_MS)) * MS
        if self.known.disturbances.is_unaffected(MASTER, t - late_ns):
            for (_, each), copy in self.copies.items():
                if each == table and copy.ordered is None and copy.agreed is not None and copy.agreed.done.t < t:
                    copy.ordered = t

    def _judge_unsaved(self, node: str, event: Event) -> None:
        for (slave, table), copy in self.copies.items():
            applied = copy.applied
            if slave == node and applied is not None and event.t > applied.t:
                copy.applied = None
                copy.late = not self.known.disturbances.is_unaffected(node, applied.t)
                if not copy.late:
                    what = f"{node} took over the master's {table}, and did not save them"
                    self.violate(applied, what, since=applied.t, until=event.t)

    # Lives.

    def on_crash(self, event: Crash | Start | Stop | Wipe) -> None:
        node = event.node
        self.answers.pop(node, None)
        for place in [place for place in self.copies if place[0] == node]:
            del self.copies[place]
        if node == MASTER:
            for copy in self.copies.values():
                copy.agreed = copy.ordered = None

    on_stop = on_crash
    on_start = on_crash
    on_wipe = on_crash

    def end(self, last: Event) -> None:
        for node in self.slaves:
            self._judge_unsaved(node, last)
