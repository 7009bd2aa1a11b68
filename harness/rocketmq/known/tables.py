"""What each broker's topics and groups may say of the names that administrators made or deleted, and who uses names.

A broker saves its table at each change, and answers then. So what was answered while no fault touched the broker
survives its process; of anything else, and of what is left by a machine's crash or in a replaced store, every value is
possible that the name ever had. A sync replaces a slave's table.

Somebody may change a table whom nobody watches: then the broker saves more often than known calls explain, see
:meth:`Tables.administered`.

Times are events' numbers. Left out: progress, see :mod:`pairproof.harness.rocketmq.known.registers`; values besides a
topic's numbers of queues and a group's two broker ids. Sources: TopicConfigManager, SubscriptionGroupManager: each
persists before the answer.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from ...event_types.client import Consumer, Fail, Info, Invoke, Ok
from ...event_types.node import Crash, Stop, Wipe
from ..event_types.metadata import Persist, Sync
from ..topology import MASTER, SLAVES
from .metadata import CHANGES, DELETES, DONE, GROUPS, TOPICS, Name, topic_of
from .possible import Possible

if TYPE_CHECKING:
    from .model import Known

FIELDS = {TOPICS: ("readQueueNums", "writeQueueNums"), GROUPS: ("brokerId", "whichBrokerWhenConsumeSlowly")}
Value = tuple[int, ...]
"""Of the fields of an entry."""
ABSENT: Value = ()
_seq = attrgetter("seq")


class Entry(Possible[Value]):
    """What one broker's table may say of one name."""

    __slots__ = ("explained", "is_solid", "since")

    def __init__(self) -> None:
        super().__init__(ABSENT)
        self.since: int | None = None
        """When a call settled this; None: none has, or the broker may have lost it."""
        self.explained = 0
        """How many saves since then calls for other names explain."""
        self.is_solid = True
        """Whether it is sure to have been saved."""

    def everything(self) -> set[Value]:
        return self.possible_since(0) or set()


class Tables:
    """Bounded by an administrator's calls, and the topics, groups and saves of one trial."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.used: set[Name] = set()
        """Topics and groups that anybody but an administrator uses."""
        self._entries: dict[Name, dict[str, Entry]] = {}
        """By name and broker."""
        self._saves: dict[tuple[str, str], list[Persist]] = {}
        """By broker and table."""
        self._asked: dict[tuple[str, str], Sync] = {}
        """By slave and table: steps of syncs that are under way."""
        self._hidden: set[tuple[str, str]] = set()
        """Tables that slaves may have taken over, nobody knows when."""

    # What laws ask.

    def administered(self, table: str) -> Iterator[tuple[str, Entry]]:
        """Names of the master's that are sure to be as administrators left them, for nobody else had a part in it.

        An answered call that makes something other than what was there, or deletes something that was there, explains
        one save; the others are somebody's of whom nobody knows.
        """
        for name, brokers in self._entries.items():
            entry = brokers.get(MASTER)
            if name[0] != table or name in self.used or entry is None or entry.since is None:
                continue
            if not entry.under_way() and len(self.saved(MASTER, table, entry.since)) <= entry.explained:
                yield name[1], entry

    def possible(self, node: str, name: Name, since: int) -> set[Value]:
        """All that a broker may have said of a name at any moment since this event."""
        if self.is_hidden(node, name[0]):
            return self._anything(name)
        if name not in self._entries:
            return {ABSENT}
        found = self._entry(name, node).possible_since(since) or set()
        # A step that is under way may have been done already.
        return found | self._coming(name, node)

    def is_made(self, node: str, name: Name) -> bool:
        """Whether an administrator ever tried to make this there."""
        entry = self._entries.get(name, {}).get(node)
        return entry is not None and entry.everything() != {ABSENT}

    def names(self) -> set[str]:
        """Topics and groups that administrators or anybody else ever named."""
        return {name for _, name in (*self.used, *self._entries)}

    def saved(self, node: str, table: str, since: int = -1) -> Sequence[Persist]:
        """A broker's saves of a table since this event."""
        saves = self._saves.get((node, table), [])
        return saves[bisect_right(saves, since, key=_seq) :]

    def asked(self, node: str, table: str) -> Sync | None:
        """With what a slave asked for a table that it may not have taken over yet."""
        return self._asked.get((node, table))

    def is_hidden(self, node: str, table: str) -> bool:
        """Whether a sync may overwrite a table at any time, or has, and nobody sees when."""
        return (node, table) in self._hidden or (node in SLAVES and "sync" not in self._known.observes)

    def _coming(self, name: Name, node: str) -> set[Value]:
        asked = self.asked(node, name[0])
        return set() if asked is None else self._entry(name, MASTER).possible_since(asked.seq) or set()

    def _anything(self, name: Name) -> set[Value]:
        return {ABSENT}.union(*(each.everything() for each in self._entries.get(name, {}).values()))

    # What the judge reports.

    def comes(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group))

    def begins(self, event: Invoke) -> None:
        table = CHANGES.get(event.f)
        if table is not None:
            value = ABSENT if event.f in DELETES else _asked(event.detail or "{}")
            self._entry((table, event.message or ""), event.node).begin(event.op, value, event.seq)
            return
        if event.group is not None:
            self.used.add((GROUPS, event.group))
        if event.queue is not None:
            self.used.add((TOPICS, topic_of(event.queue)))

    def ends(self, event: Ok | Fail | Info) -> None:
        table, begun = CHANGES.get(event.f), self._known.calls.begun(event)
        if table is None or begun is None:
            return
        node, name = begun.call.node, (table, begun.call.message or "")
        entry = self._entry(name, node)
        before = entry.settled or set()
        beside = entry.end(event, event.seq)
        if beside is None:
            return
        entry.since, entry.explained = event.seq, 0
        entry.is_solid = self._known.disturbances.is_quiet(node, begun.call.t)
        # To delete what is not there saves nothing, and neither does what is as it was in every broker.
        changes = ABSENT not in before if event.f in DELETES else before != entry.settled
        if changes and not beside:
            for other, brokers in self._entries.items():
                if other[0] == table and other != name and node in brokers:
                    brokers[node].explained += 1

    def persisted(self, event: Persist) -> None:
        self._saves.setdefault((event.node, event.f), []).append(event)

    def synced(self, event: Sync) -> None:
        place = event.node, event.f
        if event.status == "asked":
            self._asked[place] = event
            return
        if event.status == "answered":
            # It may be about to take that over, and nobody will see it.
            self._hidden.add(place)
            return
        asked = self._asked.pop(place, event)
        if event.status in DONE:
            for name in self._entries:
                if name[0] == event.f:
                    entry = self._entry(name, event.node)
                    entry.copy(self._entry(name, MASTER).possible_since(asked.seq), asked.seq, event.seq)
                    if event.status == "applied":
                        entry.is_solid = self._known.disturbances.is_quiet(event.node, asked.t)

    def ended(self, event: Crash | Stop) -> None:
        of_machine = event.kind == "crash" and event.f == "machine"
        for name, brokers in self._entries.items():
            entry = brokers.get(event.node)
            if entry is not None:
                is_kept = entry.is_solid and not of_machine
                coming = self._coming(name, event.node)
                entry.recover(event.seq if is_kept else 0, event.seq)
                entry.become((entry.settled or set()) | coming, event.seq)
                entry.since = entry.since if is_kept else None
        self._asked = {place: asked for place, asked in self._asked.items() if place[0] != event.node}

    def wiped(self, event: Wipe) -> None:
        """Whose store it has now may be anybody's."""
        for name in self._entries:
            entry = self._entry(name, event.node)
            entry.since = None
            entry.recover(0, event.seq)
            entry.become(self._anything(name), event.seq)

    def _entry(self, name: Name, node: str) -> Entry:
        return self._entries.setdefault(name, {}).setdefault(node, Entry())


@lru_cache(maxsize=64)
def _asked(detail: str) -> Value:
    said: Mapping[str, int] = json.loads(detail)
    if "queues" in said:
        return (said["queues"], said["queues"])
    return tuple(said.get(field, default) for field, default in zip(FIELDS[GROUPS], (0, 1), strict=True))
