"""``meta-converges``: within a sync period after the last change, a slave's topics, groups, consumer offsets and delay
offsets equal its master's.

A change is anything that may cause one: a fault; a node's start, end or resume; for topics and groups a save by the
master (or by a slave outside of a sync), an administrator's call, a consumer's start or end, or a group's first use of
a topic; for offsets a commit of a new value; for delays a new record of the master.

Checks:
- In the last readings after healing, topics and groups are equal, with their data versions.
- The slave has the whole map of every topic@group of the master, and the master's delay offsets in its file.
- A table must be equal if the slave requested it after the last change and received, or could not read it. An
  unrecorded result counts at the slave's next request, or 1 s later.
- Otherwise the slave has a period and four calls of 3 s, from the last change, from its knowledge of the master, and
  from the first failure after both, which may only reveal a dead connection. A slave that does not know its master has
  three registration periods more: the first attempt of each side may fail.
Abstains when:
- The topic is the system's own: no client and no master ever had it, or settings that differ create it.
- The slave is down at the end.
- For delays: files of the master's log were deleted.
- The lab does not record the master's saves: changes count as 30 s later, for consumers' heartbeats.
Source: SlaveSynchronize.syncAll, every 10 s; TopicConfigManager.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....event_types.client import Consumer, Fail, Info, Invoke, Ok
from ....event_types.node import Start
from ....history import MS, Event
from ....judging.law import only
from ...event_types.log import Append
from ...event_types.metadata import Persist, Register, Sync, Table
from ...known.metadata import (
    CHANGES,
    DELAYS,
    GROUPS,
    OFFSETS,
    SLACK_NS,
    STEPS,
    TOPICS,
    Name,
    entries,
    registration_answer,
)
from ...settings import Settings, registration_ms, template
from ...topology import MASTER
from .syncing import CALL_NS, MetadataLaw, schedule

HEARTBEAT_NS = 30_000 * MS
NAMED = (TOPICS, GROUPS)


class Reading(NamedTuple):
    """A table that was read, and the state of its slave's syncs."""

    event: Table
    asked: int | None
    """The slave's request of its last sync, ns."""
    known: int | None
    """Since when the slave had known its master, ns."""
    failures: tuple[int, ...]


class MetaConverges(MetadataLaw):
    applies_with = "a name server and a slave"
    needs = frozenset({"config", "table", "mark"})
    parts = STEPS
    timed = True

    def begin(self) -> None:
        self.changed = dict.fromkeys(STEPS, 0)
        """By table: the last change at the master or a client, ns."""
        self.changed_at: dict[Name, int] = {}
        self.asked: dict[Name, int] = {}
        self.synced: dict[Name, tuple[int, int]] = {}
        """By slave and table: request and end of the last sync, ns."""
        self.answered: dict[str, tuple[str, int, int]] = {}
        """By slave: the last answered table that may not be applied yet, its request and its answer, ns."""
        self.failures: dict[Name, list[int]] = {}
        """By slave and table: since the last sync, ns."""
        self.knew_master: dict[str, int] = {}
        self.readings: dict[Name, Reading] = {}
        self.named: set[str] = set()
        self.uses: set[tuple[str | None, str | None, str | None]] = set()
        self.progress: dict[tuple[str | None, str | None, str | None], Invoke] = {}
        """By node, queue and group: the last commit of a new value."""

    # Disturbances.

    def on_start(self, event: Start) -> None:
        node = event.node
        self.knew_master.pop(node, None)
        self.answered.pop(node, None)
        for table in STEPS:
            for each in (self.asked, self.synced, self.failures):
                each.pop((node, table), None)
        # A restart may lose commits.
        self.progress.clear()

    # Changes.

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "commit":
            # A commit at a slave replaces the synced value, also a repeated commit.
            before = [self.progress.get((node, event.queue, event.group)) for node in (event.node, MASTER)]
            if any(each is None or each.queue_offset != event.queue_offset for each in before):
                self.progress[event.node, event.queue, event.group] = event
                self.changed[OFFSETS] = event.t
        elif event.f not in CHANGES:
            use = (event.node, event.queue, event.group)
            if use not in self.uses:
                self.uses.add(use)
                self._names_changed(event.t)

    def on_ok(self, event: Ok | Fail | Info) -> None:
        if event.f == "send":
            self.changed[DELAYS] = event.t
        elif event.f in CHANGES:
            self.changed[CHANGES[event.f]] = event.t
        elif event.f == "commit":
            begun, last = self.known.calls.begun(event), self.progress.get((event.node, event.queue, event.group))
            if begun is not None and last is not None and begun.call.seq <= last.seq:
                # It may have arrived last.
                self.changed[OFFSETS] = event.t

    on_fail = on_ok
    on_info = on_ok

    def on_consumer(self, event: Consumer) -> None:
        """Its heartbeat creates its group and its retry topic."""
        self._names_changed(event.t)

    def _names_changed(self, t: int) -> None:
        self.changed[TOPICS] = self.changed[GROUPS] = t

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        """The append may be the delivery of a delayed message."""
        self.changed[DELAYS] = event.t

    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if table not in NAMED:
            return
        if node == MASTER:
            self.changed[table] = event.t
        elif node in self.answered and self.answered[node][0] == table:
            # The save applies the answer.
            return
        elif (node, table) not in self.asked and self.synced.get((node, table), (0, -1))[1] != event.t:
            self.changed_at[node, table] = event.t

    # Syncs.

    def on_register(self, event: Register) -> None:
        node = event.node
        if event.status != "ok" or node not in self.slaves:
            return
        if registration_answer(event).get("master"):
            self.knew_master.setdefault(node, event.t)
        else:
            self.knew_master.pop(node, None)

    def on_sync(self, event: Sync) -> None:
        key = (event.node, event.f)
        if event.status == "asked":
            self.asked[key] = event.t
            self._apply(event.node)
            return
        asked = self.asked.pop(key, None)
        if event.status == "answered":
            self.failures.pop(key, None)
            if asked is not None:
                self.answered[event.node] = event.f, asked, event.t
        elif event.status == "failed":
            self.answered.pop(event.node, None)
            self.failures.setdefault(key, []).append(event.t)
        elif asked is not None:
            self.synced[key] = (asked, event.t)
            self.failures.pop(key, None)

    def _apply(self, node: str) -> None:
        """A slave's next request shows that it has applied the last answer."""
        if node in self.answered:
            table, asked, t = self.answered.pop(node)
            self.synced[node, table] = asked, t

    # Readings.

    def on_table(self, event: Table) -> None:
        if event.node == MASTER and event.f == TOPICS:
            self.named.update(entries(event))
        if "heal" in self.known.milestones:
            if event.node in self.answered and event.t >= self.answered[event.node][2] + SLACK_NS:
                self._apply(event.node)
            key = (event.node, event.f)
            synced = self.synced.get(key)
            known = self.knew_master.get(event.node)
            failures = tuple(self.failures.get(key, ()))
            self.readings[key] = Reading(event, synced[0] if synced else None, known, failures)

    def end(self, last: Event) -> None:
        final = self.known.audits.final.get(MASTER)
        # A level skips a delayed message that is gone with the beginning of the master's log, unrecorded.
        is_trimmed = final is not None and final.read is not None and final.read.lo > 0
        for slave, settings in self.slaves.items():
            for table in STEPS:
                copy, original = self.readings.get((slave, table)), self.readings.get((MASTER, table))
                hidden = table == DELAYS and is_trimmed
                since = None if copy is None or hidden else self._due_since(slave, settings, table, copy)
                if copy is not None and original is not None and since is not None:
                    self.judge_part(table)
                    own = self._own(original.event, copy.event) if table == TOPICS else set()
                    difference = _difference(original.event, copy.event, own)
                    if difference:
                        self.violate(copy.event, f"{slave}'s {table} are not the master's: {difference}", since=since)

    def _own(self, original: Table, copy: Table) -> set[str]:
        """The system's own topics, which may differ between slave and master.

        These are topics that the master never had. If the two brokers' settings create different ones, they are all
        topics that no client had: a broker creates them at its start without a new version, and a slave keeps a table
        of an equal version.
        """
        named, known = self.known.tables.names(), self.known
        one, other = (template(known.config.get(each.node, {})) for each in (original, copy))
        if one == other:
            named |= self.named
        return {
            name for name in (*entries(original), *entries(copy)) if named.isdisjoint((name, name.rpartition("%")[2]))
        }

    def _due_since(self, slave: str, settings: Settings, table: str, copy: Reading) -> int | None:
        """Since when the slave's table must equal the master's, ns; None if it need not."""
        changed = max(self.changed[table], self.changed_at.get((slave, table), 0))
        quiet = max(self.known.milestones["heal"].t, self.known.disturbed_at(), changed)
        if table == OFFSETS:
            # A commit may have no answer to wait for.
            quiet += SLACK_NS
        elif table in NAMED and "persist" not in self.known.observes:
            quiet += HEARTBEAT_NS
        if copy.event.t < quiet:
            return None
        if copy.asked is not None and copy.asked >= quiet:
            return quiet - SLACK_NS
        plan = schedule(settings)
        bound = (plan.period + plan.look) * MS + len(STEPS) * CALL_NS + self.known.healthy_ns
        if copy.known is None:
            bound += 3 * registration_ms(settings) * MS
        since = max(quiet, copy.known or 0)
        since = next((t for t in copy.failures if t >= since), since)
        return since if copy.event.t - since > bound else None


def _difference(original: Table, copy: Table, own: set[str]) -> str:
    """The difference of the copy, or nothing. ``own``: topics to ignore."""
    if original.f in NAMED and (original.counter, original.stamp) != (copy.counter, copy.stamp):
        return f"version ({copy.counter}, {copy.stamp}), the master's ({original.counter}, {original.stamp})"
    if original.detail == copy.detail:
        return ""
    here, there = entries(original), entries(copy)
    names = {*here, *there} if original.f != OFFSETS else {*here}
    shared = _fields(here) & _fields(there) if original.f in NAMED else set()
    wrong = sorted(name for name in names - own if not _agree(here.get(name), there.get(name), shared))
    return f"they differ in {', '.join(wrong)}" if wrong else ""


def _fields(table: Mapping[str, Any]) -> set[str]:
    return {field for entry in table.values() if isinstance(entry, dict) for field in entry}


def _agree(entry: Any, other: Any, shared: set[str]) -> bool:
    """Whether two entries agree. Topics and groups are compared in the fields that both brokers have: a broker drops
    unknown fields (5.x has more than 4.x, and than a reference that plays 5.x)."""
    if not isinstance(entry, dict) or not isinstance(other, dict) or not shared:
        return bool(entry == other)
    return all(entry.get(name) == other.get(name) for name in shared)
