"""The names that the master's tables certainly hold, and the slaves that have synced them.

A name is known from a call that the master answered, or a reading of its table. Unobserved clients may delete it. A
master saves its table at each change, so a name is certain until the next save; if it is seen again after only one
save, it was never deleted: deletion and re-creation need two.

The master's names are uncertain after it ends, the slaves' after it is up again, since a sync may bring them its
losses. Bounded by the topics, groups and queues of one trial. Left out: trials without slaves that sync.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...event_types.client import Ok
from ..event_types.metadata import Sync, Table
from ..settings import Settings
from ..topology import MASTER
from .metadata import DONE, GROUPS, OFFSETS, SLACK_NS, TOPICS, Name, holds, topic_of

if TYPE_CHECKING:
    from .model import Known


class Sighting:
    """A name that the master's tables have held continuously."""

    __slots__ = ("is_broken", "last", "seen", "since", "there")

    def __init__(self, since: int) -> None:
        self.since = since
        self.seen = since
        """The last observation, ns."""
        self.last = -1
        self.there = -1
        """An event after which it certainly existed."""
        self.is_broken = False
        """Whether the master may have been without it, and slaves with it."""


class Copies:
    def __init__(self, known: Known) -> None:
        self._known = known
        self.master: dict[Name, Sighting] = {}
        self.syncing: dict[str, Settings] = {}
        """Slaves that know a name server, and so sync."""
        self._slaves: dict[str, dict[Name, int]] = {}
        """By slave that syncs: its certain names, and the event since which each is certain."""
        self._left: set[Name] = set()
        """The certain names of a master that is down."""

    def is_sure(self, name: Name) -> bool:
        """Whether the master holds it now, or did when it ended, without a deletion since the observation."""
        if name in self._left:
            return True
        known = self.master.get(name)
        return known is not None and not self._saves(name, known.there) and self._is_quiet(known)

    def held(self, node: str, before: int) -> list[Name]:
        """The certain names of this slave that it had before this event."""
        return [name for name, since in self._slaves.get(node, {}).items() if since < before]

    def brought(self, step: Sync) -> dict[Name, Sighting]:
        """The certain names of a slave after this step of its sync."""
        asked = self._known.tables.asked(step.node, step.f)
        if asked is None or step.status not in DONE:
            return {}
        found = {name: known for name, known in self.master.items() if name[0] == step.f and known.since <= asked.t}
        if step.f == OFFSETS:
            # After a stall an unanswered commit may have arrived later.
            stall = self._known.disturbances.stall
            found = {name: known for name, known in found.items() if stall(known.since - SLACK_NS, asked.t) is None}
        return found

    def _is_quiet(self, known: Sighting) -> bool:
        """Whether each change was saved: a full disk hides some."""
        return self._known.disturbances.is_unaffected(MASTER, known.seen)

    def _saves(self, name: Name, since: int) -> int:
        """How many saves may have removed this name: a group's progress is removed with the group or the topic."""
        tables = (TOPICS, GROUPS) if name[0] == OFFSETS else (name[0],)
        return sum(len(self._known.tables.saved(MASTER, table, since)) for table in tables)

    def configured(self, node: str, settings: Settings) -> None:
        if settings.get("brokerRole") == "SLAVE" and settings.get("namesrvAddr"):
            self.syncing[node], self._slaves[node] = settings, {}

    def read(self, table: Table) -> None:
        if table.node == MASTER and table.f in (TOPICS, GROUPS):
            for name in [name for name in self.master if name[0] == table.f]:
                if holds(table, name[1]):
                    self._see(name, table.t, table.seq, table.seq)
                else:
                    self._lose(name)

    def answered(self, ok: Ok) -> None:
        """A call succeeded. An answer that was in flight when the master ended does not concern its next
        incarnation.
        """
        begun = self._known.calls.begun(ok) if self._slaves and ok.node == MASTER else None
        if begun is None or not self._known.calls.is_current(ok):
            return
        since, seq = ok.t, begun.call.seq
        if ok.f in ("send", "pull"):
            self._see((TOPICS, topic_of(ok.queue)), since, seq, ok.seq)
            if ok.group is not None:
                self._see((GROUPS, ok.group), since, seq, ok.seq)
        elif ok.f == "topic":
            self._see((TOPICS, ok.message or ""), since, seq, ok.seq)
        elif ok.f == "group":
            self._see((GROUPS, ok.message or ""), since, seq, ok.seq)
        elif ok.f == "commit" and self._arrived(begun.call.t):
            # The sender may not have waited for the master's answer.
            topic, _, queue = (ok.queue or "").rpartition("/")
            self._see((OFFSETS, f"{topic}@{ok.group}/{queue}"), since + SLACK_NS, seq, ok.seq)

    def _see(self, name: Name, t: int, since: int, now: int) -> None:
        known = self.master.get(name)
        if known is not None and (self._saves(name, known.there) > 1 or not self._is_quiet(known)):
            self._lose(name)
            known = None
        if known is None:
            known = self.master[name] = Sighting(t)
        elif self._saves(name, since):
            # The master may have served the call before the save: a pull that waits, for example.
            return
        known.seen, known.last, known.there = t, now, max(since, known.there)

    def _lose(self, name: Name) -> None:
        self.master.pop(name).is_broken = True
        for held in self._slaves.values():
            held.pop(name, None)

    def _arrived(self, began: int) -> bool:
        disturbances = self._known.disturbances
        return all(disturbances.is_unaffected(place, began) for place in (MASTER, f"client-{MASTER}"))

    def synced(self, step: Sync) -> None:
        held = self._slaves.get(step.node)
        if held is not None:
            for name in self.brought(step):
                held.setdefault(name, step.seq)

    def ended(self, node: str) -> None:
        if node == MASTER:
            self._left = {name for name in self.master if self.is_sure(name)}
            self.master.clear()

    def started(self, node: str) -> None:
        if node == MASTER:
            self._left = set()
        for slave, held in self._slaves.items():
            if node in (MASTER, slave):
                held.clear()
