"""``meta-version-gate``: a slave applies and saves its master's topics or groups if and only if their data versions
differ.

Checks:
- A step is not *applied* if nothing has changed since both agreed: the master has not saved (it does at every change)
  or restarted, the slave has not changed anything itself, and no fault affected either.
- A step is not *same* if the master saved the table after both agreed and before the request, without a fault. A full
  disk may delay a save by flushConsumerOffsetInterval.
- An applied table is saved at once, before any other event of the sync, if no fault affects the slave.
- A *same* step saves nothing, except what a full disk had delayed. Neither does a slave between two syncs, after its
  first agreement with its master.
- If the slave's result is not recorded, it saves the table once before its next request, and once more for each topic
  and group that clients may have made it create.
Abstains when:
- The step is the first one of an incarnation.
- A machine crash or a full disk took the change.
- Between two syncs: a fault affected the slave since its start, or an administrator ever tried to change it.
Source: SlaveSynchronize.syncTopicConfig, syncSubscriptionGroupConfig, DataVersion.equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....event_types.client import Invoke
from ....event_types.node import Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import EVERY, EventFilter, only
from ...event_types.metadata import Persist, Sync
from ...known.consumption import PERSIST_MS
from ...known.deadlines import is_instant
from ...known.metadata import CHANGES, GROUPS, TOPICS
from ...topology import MASTER, NO_SLAVES
from .syncing import Agreed, MetadataLaw


@dataclass(slots=True, eq=False)
class Copy:
    agreed: Agreed | None = None
    newer: int | None = None
    """When the master saved a newer version, ns."""
    applied: Event | None = None
    """A step with a pending save."""
    late: bool = False
    caught_up: int = -1
    """The event (``seq``) of the late save."""
    same: Event | None = None


@dataclass(slots=True, eq=False)
class Answered:
    event: Sync
    saves: int = 0


class MetaVersionGate(MetadataLaw):
    needs = frozenset({"config", "start", "sync", "persist"})
    timed = True
    awaits = {"sync": EVERY, "invoke": EventFilter(frozenset(CHANGES), but=frozenset(NO_SLAVES))}

    def begin(self) -> None:
        self.copies: dict[tuple[str, str], Copy] = {}
        self.answers: dict[str, Answered] = {}
        """By slave: the answer that it may still apply."""
        self.administered: set[str | None] = set()

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
            copy.agreed, copy.newer = agreed, None

    def _judge_applied(self, copy: Copy, event: Sync, saves: Sequence[Persist]) -> None:
        self.judged += 1
        if not any(is_instant(self.known, event.node, each.t, event.t) for each in saves):
            copy.applied = event
        if copy.agreed is None or not self.is_unchanged(copy.agreed, event):
            return
        if all(self.known.disturbances.is_unaffected(each, copy.agreed.asked.t) for each in (MASTER, event.node)):
            what = f"{event.node} took over the master's {event.f}, though neither has changed since they agreed"
            self.violate(event, what, since=copy.agreed.asked.t)

    def _judge_same(self, copy: Copy, asked: Sync, event: Sync, saves: Sequence[Persist]) -> None:
        self.judged += 1
        copy.same = event
        agreed = copy.agreed.asked.t if copy.agreed is not None else asked.t
        if copy.newer is not None and copy.newer <= asked.t and self.known.disturbances.is_unaffected(MASTER, agreed):
            what = f"{event.node} took its {event.f} for the master's, though those were changed since they agreed"
            self.violate(event, what, since=agreed)
        if saves and (saves[-1].seq, saves[-1].t) == (event.seq - 1, event.t):
            self._violate_save(event)

    def _violate_save(self, event: Persist | Sync) -> None:
        self.violate(event, f"{event.node} saved its {event.f}, though they were the master's already", since=None)

    # Changes.

    @only(*CHANGES, but=NO_SLAVES)
    def on_invoke(self, event: Invoke) -> None:
        self.administered.add(event.node)

    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if node == MASTER:
            self._expect(table, event.t)
            return
        answered = self.answers.get(node)
        if answered is not None and answered.event.f == table:
            self._judge_save(answered, event)
            return
        copy = self.copies.get((node, table))
        if copy is None:
            return
        if copy.late:
            # The late save includes later steps.
            copy.late, copy.applied, copy.caught_up = False, None, event.seq
            return
        if self.known.tables.asked(node, table) is not None:
            return
        same = copy.same
        if copy.applied is not None:
            copy.applied = None
        elif same is not None and (same.seq, same.t) == (event.seq - 1, event.t):
            self._violate_save(event)
        elif copy.agreed is not None and node not in self.administered:
            self.judged += 1
            if self.known.disturbances.is_unaffected(node, self.known.nodes.last_start(node)):
                what = f"{node} saved its {table} between two syncs, though nothing had changed them"
                self.violate(event, what, since=copy.agreed.done.t)

    def _judge_save(self, answered: Answered, event: Persist) -> None:
        answered.saves += 1
        names = len(self.known.tables.names())
        # A group also creates its retry topic.
        if answered.saves == 2 + 2 * names:
            what = f"{event.node} saved its {event.f} {answered.saves} times after one answer"
            self.violate(event, f"{what}; clients may have made it create {names} names", since=None)

    def _expect(self, table: str, t: int) -> None:
        late_ns = int(self.known.config.get(MASTER, {}).get("flushConsumerOffsetInterval", PERSIST_MS)) * MS
        if self.known.disturbances.is_unaffected(MASTER, t - late_ns):
            for (_, each), copy in self.copies.items():
                if each == table and copy.newer is None and copy.agreed is not None and copy.agreed.done.t < t:
                    copy.newer = t

    def _judge_unsaved(self, node: str, event: Event) -> None:
        for (slave, table), copy in self.copies.items():
            applied = copy.applied
            if slave == node and applied is not None and event.t > applied.t:
                copy.applied = None
                copy.late = not self.known.disturbances.is_unaffected(node, applied.t)
                if not copy.late:
                    what = f"{node} took over the master's {table}, and did not save them"
                    self.violate(applied, what, since=applied.t, until=event.t)

    # Incarnations.

    def on_crash(self, event: Crash | Start | Stop | Wipe) -> None:
        node = event.node
        self.answers.pop(node, None)
        for key in [key for key in self.copies if key[0] == node]:
            del self.copies[key]
        if node == MASTER:
            for copy in self.copies.values():
                copy.agreed = copy.newer = None

    on_stop = on_crash
    on_start = on_crash
    on_wipe = on_crash

    def end(self, last: Event) -> None:
        for node in self.slaves:
            self._judge_unsaved(node, last)
