"""``meta-converges``: once nothing changes any more, a slave's tables become its master's within a sync period.

Judged by the last readings after healing. Topics and groups are the same, data versions included; every topic@group of
the master has its whole map on the slave (others may stay); the slave's file of delay offsets says what the master's
table says. A slave owes that for a table

- if it has synced it, or could not read the answer, and asked for it after anything last changed; where nobody sees
  what a slave makes of an answer, it has when it asks for the next table, or a second later; or else
- if a period and four calls of 3 s have passed since then, since it learned of its master, and since its first failure
  after that, which may only have shown that its connection had died; one that does not know its master has three
  registration periods besides: the master's or its own first attempt may fail in the same way.

A change is whatever may make one: a fault, or a node that comes, goes, or is resumed; for topics and groups what the
master saves, or a slave outside of a sync, an administrator's call, a consumer that comes or goes, the first use of a
topic by a group; for offsets a commit of another value than the node, or the master, was told last; for delays what the
master stores.

Left out: topics that neither clients nor masters ever had, such as those that a slave makes at each start, and all that
no client had where the settings of both brokers make other ones; slaves that
are down at the end; delays where files of the master's log were deleted; heartbeats of consumers in labs that do not
see what the master saves: there a change counts as 30 s later. Source: SlaveSynchronize, TopicConfigManager.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....event_types.client import Consumer, Fail, Info, Invoke, Ok
from ....event_types.machine import Mark
from ....event_types.node import Start
from ....history import MS, Event
from ....judging.law import only
from ...event_types.log import Append, Audit
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
from ...settings import Settings, template
from ...topology import MASTER
from .syncing import CALL_NS, MetadataLaw, schedule

HEARTBEAT_NS = 30_000 * MS
"""How often a client tells brokers of its groups."""
NAMED = (TOPICS, GROUPS)


class Reading(NamedTuple):
    """A table as it was read, and how far its slave had come."""

    event: Table
    asked: int | None
    """When the slave asked for what it then had, ns."""
    known: int | None
    """Since when the slave had known its master, ns."""
    failures: tuple[int, ...]
    """When the slave failed to get it since, ns."""


class MetaConverges(MetadataLaw):
    id = "meta-converges"
    promise = (
        "Within a sync period after the last change a slave's topics, groups, consumer offsets and delay offsets are "
        "its master's."
    )
    source = "SlaveSynchronize.syncAll, every 10 s"
    applies_with = "a name server and a slave"
    needs = frozenset({"config", "table", "mark"})
    parts = STEPS
    timed = True

    def begin(self) -> None:
        super().begin()
        self.healed: int | None = None
        self.changed = dict.fromkeys(STEPS, 0)
        """When the master's table, or anybody's, may have changed last, ns."""
        self.changed_at: dict[Name, int] = {}
        """When a slave last changed a table itself, ns."""
        self.asked: dict[Name, int] = {}
        self.synced: dict[Name, tuple[int, int]] = {}
        """By slave and table: when it asked for what it has, or has not read, and when it got it, ns."""
        self.answered: dict[str, tuple[str, int, int]] = {}
        """By slave: the table that it was answered last and may not have taken yet, when it asked, and when it was."""
        self.failures: dict[Name, list[int]] = {}
        """By slave and table: since it last got it."""
        self.knew_master: dict[str, int] = {}
        self.readings: dict[Name, Reading] = {}
        self.named: set[str] = set()
        """Topics that the master ever had."""
        self.uses: set[tuple[str | None, str | None, str | None]] = set()
        self.progress: dict[tuple[str | None, str | None, str | None], Invoke] = {}
        """By node, queue and group: the last commit of another value."""
        self.trimmed = False
        """Whether the master's log has lost its beginning: a delayed message may have gone with it. Its level passes it
        over when it is due, which nobody sees."""

    # What disturbs.

    def on_start(self, event: Start) -> None:
        node = event.node
        self.knew_master.pop(node, None)
        self.answered.pop(node, None)
        for table in STEPS:
            for each in (self.asked, self.synced, self.failures):
                each.pop((node, table), None)
        # It may know less than it was told.
        self.progress.clear()

    @only("heal")
    def on_mark(self, event: Mark) -> None:
        self.healed = event.t

    # What changes a table.

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "commit":
            # What it has of its master a commit at a slave replaces, also the same one again.
            before = [self.progress.get((node, event.queue, event.group)) for node in (event.node, MASTER)]
            if any(each is None or each.queue_offset != event.queue_offset for each in before):
                self.progress[event.node, event.queue, event.group] = event
                self.changed[OFFSETS] = event.t
        elif event.f not in CHANGES:
            use = (event.node, event.queue, event.group)
            if use not in self.uses:
                self.uses.add(use)
                self._renamed(event.t)

    def on_ok(self, event: Ok | Fail | Info) -> None:
        if event.f == "send":
            self.changed[DELAYS] = event.t
        elif event.f in CHANGES:
            self.changed[CHANGES[event.f]] = event.t
        elif event.f == "commit":
            begun, last = self.known.calls.begun(event), self.progress.get((event.node, event.queue, event.group))
            if begun is not None and last is not None and begun.call.seq <= last.seq:
                # It may have come last.
                self.changed[OFFSETS] = event.t

    on_fail = on_ok
    on_info = on_ok

    def on_consumer(self, event: Consumer) -> None:
        """Its heartbeat creates its group, and the topic of its retries."""
        self._renamed(event.t)

    def _renamed(self, t: int) -> None:
        self.changed[TOPICS] = self.changed[GROUPS] = t

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        """A delayed message may have been delivered."""
        self.changed[DELAYS] = event.t

    @only("final", node=MASTER)
    def on_audit(self, event: Audit) -> None:
        self.trimmed = event.lo > 0

    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if table not in NAMED:
            return
        if node == MASTER:
            self.changed[table] = event.t
        elif node in self.answered and self.answered[node][0] == table:
            # It makes of the answer what it makes: that is no change of its own.
            return
        elif (node, table) not in self.asked and self.synced.get((node, table), (0, -1))[1] != event.t:
            self.changed_at[node, table] = event.t

    # What slaves do about it.

    def on_register(self, event: Register) -> None:
        node = event.node
        if event.status != "ok" or node not in self.slaves:
            return
        if registration_answer(event).get("master"):
            self.knew_master.setdefault(node, event.t)
        else:
            self.knew_master.pop(node, None)

    def on_sync(self, event: Sync) -> None:
        place = (event.node, event.f)
        if event.status == "asked":
            self.asked[place] = event.t
            self._has_taken(event.node)
            return
        asked = self.asked.pop(place, None)
        if event.status == "answered":
            self.failures.pop(place, None)
            if asked is not None:
                self.answered[event.node] = event.f, asked, event.t
        elif event.status == "failed":
            self.answered.pop(event.node, None)
            self.failures.setdefault(place, []).append(event.t)
        elif asked is not None:
            self.synced[place] = (asked, event.t)
            self.failures.pop(place, None)

    def _has_taken(self, node: str) -> None:
        """A slave has gone on: its last answer has made it what it makes."""
        if node in self.answered:
            table, asked, t = self.answered.pop(node)
            self.synced[node, table] = asked, t

    # What is read.

    def on_table(self, event: Table) -> None:
        if event.node == MASTER and event.f == TOPICS:
            self.named.update(entries(event))
        if self.healed is not None:
            if event.node in self.answered and event.t >= self.answered[event.node][2] + SLACK_NS:
                self._has_taken(event.node)
            place = (event.node, event.f)
            synced = self.synced.get(place)
            known = self.knew_master.get(event.node)
            failures = tuple(self.failures.get(place, ()))
            self.readings[place] = Reading(event, synced[0] if synced else None, known, failures)

    def end(self, last: Event) -> None:
        for slave, settings in self.slaves.items():
            for table in STEPS:
                copy, original = self.readings.get((slave, table)), self.readings.get((MASTER, table))
                hidden = table == DELAYS and self.trimmed
                since = None if copy is None or hidden else self._due_since(slave, settings, table, copy)
                if copy is not None and original is not None and since is not None:
                    self.judge_part(table)
                    own = self._own(original.event, copy.event) if table == TOPICS else set()
                    difference = _difference(original.event, copy.event, own)
                    if difference:
                        self.violate(copy.event, f"{slave}'s {table} are not the master's: {difference}", since=since)

    def _own(self, original: Table, copy: Table) -> set[str]:
        """Topics of the system itself that a slave may have otherwise than its master.

        These are topics that the master never had. If the settings of the two make different ones, they are all of the
        system's: each broker makes them at a start, without a new version, and a slave keeps a table of equal version.
        """
        named, known = self.known.tables.names(), self.known
        one, other = (template(known.config.get(each.node, {})) for each in (original, copy))
        if one == other:
            named |= self.named
        return {
            name for name in (*entries(original), *entries(copy)) if named.isdisjoint((name, name.rpartition("%")[2]))
        }

    def _due_since(self, slave: str, settings: Settings, table: str, copy: Reading) -> int | None:
        """Since when a slave has had the time to be like its master, ns; None if it need not be."""
        quiet = max(
            self.healed or 0, self.known.disturbed_at(), self.changed[table], self.changed_at.get((slave, table), 0)
        )
        if table == OFFSETS:
            # Nobody may have waited for the master's word.
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
            registers = min(max(int(settings.get("registerNameServerPeriod", 30_000)), 10_000), 60_000)
            bound += 3 * registers * MS
        since = max(quiet, copy.known or 0)
        since = next((t for t in copy.failures if t >= since), since)
        return since if copy.event.t - since > bound else None


def _difference(original: Table, copy: Table, own: set[str]) -> str:
    """What the copy lacks; nothing if it is as it should be. ``own``: topics that do not matter."""
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
    """Whether two entries agree, of topics and groups in the fields that both brokers have somewhere: one that does not
    know a field drops it (5.x has more than 4.x, and than a reference that plays a 5.x)."""
    if not isinstance(entry, dict) or not isinstance(other, dict) or not shared:
        return bool(entry == other)
    return all(entry.get(name) == other.get(name) for name in shared)
