"""The possible topics and groups of each broker's tables, given the administrators' calls, and the names in use.

A broker saves its table at each change, before it answers. So a change that was answered without a fault of the broker
survives its process, and its machine if the broker flushes its tables (:meth:`Tables.durable`). After anything else, or
if the store was replaced, every earlier value of the name is possible. A sync replaces a slave's table.

Unobserved clients may change a table: then the broker saves more often than known calls explain, see
:meth:`Tables.administered`.

Times are events' numbers. Left out: progress, see :mod:`pairproof.harness.rocketmq.known.registers`; a topic's filter
type, flags and order, which no broker of 4.9 uses. Sources: TopicConfigManager, SubscriptionGroupManager: each
persists before the answer.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from ...event_types.client import Consumer, Fail, Info, Invoke, Ok
from ...event_types.node import Crash, Stop, Wipe
from ...history import MS
from ..contract import LIED
from ..event_types.metadata import Persist, Sync
from ..settings import flushes_tables
from ..topology import MASTER, SLAVES
from .metadata import CHANGES, DELETES, DONE, GROUPS, RETRY, TOPICS, Name, topic_of
from .possible import Possible

if TYPE_CHECKING:
    from .model import Known

WRITE, READ = 2, 4


class Topic(NamedTuple):
    readQueueNums: int = 0
    writeQueueNums: int = 0
    perm: int = READ | WRITE

    def reads(self, queue: int) -> bool:
        """Whether a broker lets clients pull from this queue."""
        return bool(self.perm & READ) and queue < self.readQueueNums

    def takes(self, queue: int) -> bool:
        """Whether a broker accepts sends to this queue: up to 5.5.0, whatever the permissions."""
        return queue < max(self.readQueueNums, self.writeQueueNums)

    @property
    def routed(self) -> bool:
        """Whether producers find a queue."""
        return bool(self.perm & WRITE and self.writeQueueNums)


class Group(NamedTuple):
    brokerId: int = 0
    whichBrokerWhenConsumeSlowly: int = 1
    consumeEnable: bool = True
    consumeFromMinEnable: bool = True
    consumeBroadcastEnable: bool = True
    retryQueueNums: int = 1
    retryMaxTimes: int = 16
    notifyConsumerIdsChangedEnable: bool = True


UNCHANGED = Topic(sys.maxsize, sys.maxsize)
"""As clients and an operator's files made it: clients know its queues, and permissions are usual."""
ENTRY_TYPES: Mapping[str, type[Topic | Group]] = {TOPICS: Topic, GROUPS: Group}
Value = Topic | Group | tuple[()]
ABSENT: Value = ()
"""Or, before an administrator's first call, as clients and an operator's files made it."""
FLUSHED_NS = 1_000 * MS
"""The time of a save to reach the disk, besides the lab's longest flush."""
NEVER, NOW = -sys.maxsize, sys.maxsize
"""Before and after all events."""
_seq = attrgetter("seq")


class Durable(NamedTuple):
    """A table that outlives a crash of its machine."""

    t: int
    """When it was saved or read, ns."""
    until: int
    """The next save of the table, which may be lost, or the node's end (``seq``)."""


class Entry(Possible[Value]):
    __slots__ = ("explained", "is_solid", "lost_power", "since")

    def __init__(self) -> None:
        super().__init__(ABSENT)
        self.since: int | None = None
        """When a call settled this; None: none has, or the broker may have lost it."""
        self.explained = 0
        """How many saves since then are explained by calls for other names."""
        self.is_solid = True
        """Whether it was certainly saved."""
        self.lost_power = False
        """Whether the broker has read it from its disk after a power loss."""

    def everything(self) -> set[Value]:
        return self.possible_since(0) or set()


class Tables:
    """Bounded by an administrator's calls, and the topics, groups and saves of one trial."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self.used: set[Name] = set()
        """Topics and groups that other clients than administrators use."""
        self._entries: dict[Name, dict[str, Entry]] = {}
        self._saves: dict[tuple[str, str], list[Persist]] = {}
        self._asked: dict[tuple[str, str], Sync] = {}
        """By slave and table: current steps of syncs."""
        self._deleted: set[Name] = set()
        """Names that an administrator ever asked to delete."""
        self._changed_at: dict[Name, int] = {}
        """When an administrator's call for a name, or a sync after one, last began or ended, ns."""
        self._hidden: set[tuple[str, str]] = set()
        """Tables that slaves may have applied at an unknown time."""

    def administered(self, table: str) -> Iterator[tuple[str, Entry]]:
        """The master's names that certainly are as administrators left them, without unobserved changes.

        An answered call that changes or deletes an existing name explains one save; other saves are those of unobserved
        clients.
        """
        for name, brokers in self._entries.items():
            entry = brokers.get(MASTER)
            if name[0] != table or name in self.used or entry is None or entry.since is None:
                continue
            if not entry.under_way() and len(self.saved(MASTER, table, entry.since)) <= entry.explained:
                yield name[1], entry

    def possible(self, node: str, name: Name, since: int) -> set[Value]:
        """All possible values of a name at a broker since this event."""
        if self.is_hidden(node, name[0]):
            return self._anything(name)
        if name not in self._entries:
            return {ABSENT}
        found = self._entry(name, node).possible_since(since) or set()
        # A current step may have been applied already.
        return found | self._coming(name, node)

    def topics(self, node: str, topic: str, since: int) -> Iterator[Topic | None]:
        """All possible settings of a topic at a broker since this event; None: unknown, since an administrator changed
        or deleted it, and now it may be as clients made it.
        """
        name = (TOPICS, topic)
        is_unknown = name in self._entries or self._may_be_smaller(node, topic)
        for each in self.possible(node, name, since):
            yield each if isinstance(each, Topic) else None if is_unknown else UNCHANGED

    def _may_be_smaller(self, node: str, topic: str) -> bool:
        """Whether it is a retry topic that may have been made with fewer queues: by a group that an administrator gave
        none, or again, since the table was lost, for a group that had fewer then.
        """
        group = (GROUPS, topic.removeprefix(RETRY))
        if group not in self._entries or not topic.startswith(RETRY):
            return False
        usual = Group().retryQueueNums
        sizes = {each.retryQueueNums for each in self._anything(group) if isinstance(each, Group)} | {usual}
        may_lack = any(self._known.stores.may_lack_files(each) for each in (node, MASTER))
        return min(sizes) < usual or (max(sizes) > usual and may_lack)

    @property
    def may_lack_topics(self) -> bool:
        """Whether an administrator has asked to delete a topic."""
        return any(table == TOPICS for table, _ in self._deleted)

    def groups(self, node: str, group: str, since: int) -> set[Group]:
        """All possible settings of a group; one that no administrator made has the defaults."""
        return {each if isinstance(each, Group) else Group() for each in self.possible(node, (GROUPS, group), since)}

    def reads(self, node: str, queue: str, group: str, since: int) -> set[bool]:
        """Whether a broker may have let a group pull from a queue since this event: both answers if unknown."""
        topic, _, number = queue.rpartition("/")
        found: set[bool] = set()
        for each in self.topics(node, topic, since):
            found |= {True, False} if each is None else {each.reads(int(number))}
        enabled = {each.consumeEnable for each in self.groups(node, group, since)}
        return {a and b for a in found for b in enabled}

    def held_back_until(self, queue: str | None, group: str | None, now: int) -> int:
        """Until when administrators may have kept a group from reading a queue, ns: ``now`` if they may still;
        :data:`NEVER`.
        """
        names = ((TOPICS, topic_of(queue)), (GROUPS, group or ""))
        changed = max(self._changed_at.get(name, NEVER) for name in names)
        if changed == NEVER:
            return changed
        nodes = {node for name in names for node in self._entries.get(name, ())}
        return now if any(False in self.reads(node, queue or "", group or "", NOW) for node in nodes) else changed

    def is_used_changed(self) -> bool:
        """Whether an administrator ever asked to change a topic or group that clients use."""
        return not self.used.isdisjoint(self._entries)

    def is_routed(self, node: str, queue: str | None, since: int) -> bool:
        """Whether producers certainly find a queue of a topic, and administrators have not changed it since (ns)."""
        topic = topic_of(queue)
        found = self.topics(node, topic, NOW)
        is_quiet = self._changed_at.get((TOPICS, topic), NEVER) < since
        return is_quiet and all(each is not None and each.routed for each in found)

    def is_made(self, node: str, name: Name) -> bool:
        """Whether an administrator ever tried to create it there."""
        entry = self._entries.get(name, {}).get(node)
        return entry is not None and entry.everything() != {ABSENT}

    def names(self) -> set[str]:
        """Topics and groups in any call of administrators or other clients."""
        return {name for _, name in (*self.used, *self._entries)}

    def saved(self, node: str, table: str, since: int = -1) -> Sequence[Persist]:
        saves = self._saves.get((node, table), [])
        return saves[bisect_right(saves, since, key=_seq) :]

    def durable(self, table: str, end: Crash | Stop) -> Durable | None:
        """The last saved table that a master without power certainly has on its disk; None if nothing is certain.

        A flush belongs to each save, and takes longer on a faulty disk. A backup is durable: a save that is not flushed
        yet replaces the table, not its backup. A start flushes what it reads.
        """
        known, node = self._known, end.node
        down, started = known.nodes.down[node], known.nodes.last_start(node)
        faulty = any(each.node == node and each.t < down.t for each in known.disturbances.active.values())
        if node != MASTER or end.status == LIED or not flushes_tables(known.config.get(node, {})) or faulty:
            return None
        bound = FLUSHED_NS + known.flush_ns
        if known.disturbances.ended.get(node, -1) >= started or known.disturbances.stall(down.t - bound, end.t):
            return None
        until, seq = down.t, down.seq
        for save in reversed(self.saved(node, table)):
            if save.t <= started:
                break
            if until - save.t >= bound:
                return Durable(save.t, seq)
            until, seq = save.t, save.seq
        return Durable(started, seq)

    def asked(self, node: str, table: str) -> Sync | None:
        """A slave's request for a table that it may not have applied yet."""
        return self._asked.get((node, table))

    def is_hidden(self, node: str, table: str) -> bool:
        """Whether a sync may overwrite, or has overwritten, a table at an unobserved time."""
        return (node, table) in self._hidden or (node in SLAVES and "sync" not in self._known.observes)

    def _coming(self, name: Name, node: str) -> set[Value]:
        asked = self.asked(node, name[0])
        return set() if asked is None else self._entry(name, MASTER).possible_since(asked.seq) or set()

    def _anything(self, name: Name) -> set[Value]:
        return {ABSENT}.union(*(each.everything() for each in self._entries.get(name, {}).values()))

    def comes(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group))

    def begins(self, event: Invoke) -> None:
        table = CHANGES.get(event.f)
        if table is not None:
            name = (table, event.message or "")
            if event.f in DELETES:
                self._deleted.add(name)
            self._changed_at[name] = event.t
            value = ABSENT if event.f in DELETES else requested(event.detail or "{}")
            self._entry(name, event.node).begin(event.op, value, event.seq)
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
        self._changed_at[name] = event.t
        entry = self._entry(name, node)
        before = entry.settled or set()
        beside = entry.end(event, event.seq)
        if beside is None:
            return
        entry.since, entry.explained, entry.lost_power = event.seq, 0, False
        entry.is_solid = self._known.disturbances.is_unaffected(node, begun.call.t)
        # Deleting a missing name saves nothing, and neither does an unchanged value.
        changes = ABSENT not in before if event.f in DELETES else before != entry.settled
        if changes and not beside:
            for other, brokers in self._entries.items():
                if other[0] == table and other != name and node in brokers:
                    brokers[node].explained += 1

    def persisted(self, event: Persist) -> None:
        self._saves.setdefault((event.node, event.f), []).append(event)

    def synced(self, event: Sync) -> None:
        key = event.node, event.f
        if event.status == "asked":
            self._asked[key] = event
            return
        if event.status == "answered":
            # It may be about to apply it, unobserved.
            self._hidden.add(key)
            return
        asked = self._asked.pop(key, event)
        if event.status in DONE:
            for name in self._entries:
                if name[0] == event.f:
                    if event.status == "applied":
                        self._changed_at[name] = event.t
                    entry = self._entry(name, event.node)
                    entry.copy(self._entry(name, MASTER).possible_since(asked.seq), asked.seq, event.seq)
                    if event.status == "applied":
                        entry.is_solid = self._known.disturbances.is_unaffected(event.node, asked.t)

    def ended(self, event: Crash | Stop) -> None:
        of_machine = event.kind == "crash" and event.f == "machine"
        for name, brokers in self._entries.items():
            entry = brokers.get(event.node)
            if entry is not None:
                durable = self.durable(name[0], event) if of_machine else Durable(event.t, event.seq)
                is_kept = entry.is_solid and durable is not None
                coming = self._coming(name, event.node)
                entry.recover(durable.until if is_kept and durable is not None else 0, event.seq)
                entry.become((entry.settled or set()) | coming, event.seq)
                entry.since = entry.since if is_kept else None
                entry.lost_power |= of_machine
        self._asked = {key: asked for key, asked in self._asked.items() if key[0] != event.node}

    def wiped(self, event: Wipe) -> None:
        """Its new store may be any node's."""
        for name in self._entries:
            entry = self._entry(name, event.node)
            entry.since = None
            entry.recover(0, event.seq)
            entry.become(self._anything(name), event.seq)

    def _entry(self, name: Name, node: str) -> Entry:
        return self._entries.setdefault(name, {}).setdefault(node, Entry())


def value_of(table: str, entry: Mapping[str, Any] | None) -> Value:
    """An entry as a table has it; None: it has none."""
    if entry is None:
        return ABSENT
    kind = ENTRY_TYPES[table]
    return kind(**{field: entry[field] for field in kind._fields if field in entry})


@lru_cache(maxsize=64)
def requested(detail: str) -> Value:
    """The value that an administrator's call gives to its topic or group."""
    asked: Mapping[str, int] = json.loads(detail)
    if "queues" in asked:
        return Topic(asked.get("reads", asked["queues"]), asked["queues"], asked.get("perm", Topic().perm))
    return value_of(GROUPS, asked)
