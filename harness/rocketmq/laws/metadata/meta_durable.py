"""``meta-durable``: what a slave has synced survives its restart, even when the last write was torn.

What a slave is sure to hold by a sync (topics, groups, and that a group has made progress in a queue) must be there
after its restart: in its tables, and in its answers to pulls and queries, until it has synced that table again. What
the slave's table was read to hold before must be there too, data version included, if nothing has been synced, saved or
committed since on either side of the restart; the system's own entries may come on top. And topics and groups that were
the master's before, and that neither side has changed since, are the master's still when they are synced again.

A step of a sync that had not ended when the process did excuses nothing that was there before it: the backup serves. A
machine that loses power keeps what had been saved for a second, if no more than one save came in that second.

Left out: lives in which a fault touched the slave itself before the sync ended (a full disk saves nothing); disks that
lied; stores that were replaced; what an administrator may have deleted, see ``meta-atomic-view``; whatever the master
may have lost by going down, once it is back. Sources: ConfigManager.persist and load, MixAll.string2File,
SlaveSynchronize.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ....event_types.client import Fail, Invoke, Ok
from ....event_types.node import Crash, Start, Stop, Wipe
from ....history import MS
from ....judging.law import DURABILITY, EVERY, EventFilter, only
from ...event_types.metadata import Persist, Sync, Table
from ...known.copies import Sighting
from ...known.metadata import (
    DONE,
    GROUPS,
    MISSING,
    OFFSETS,
    STEPS,
    TOPICS,
    Name,
    entries,
    holds,
)
from ...topology import MASTER, NO_SLAVES
from .syncing import Agreed, CopiesLaw

FLUSHED_NS = 1_000 * MS
"""By then a save has reached the disk."""


class Kept(NamedTuple):
    """What a slave's disk holds."""

    sighting: Sighting
    """Of the master's, from which it has it."""
    since: int
    """At the latest, ns."""


class MetaDurable(CopiesLaw):
    id = "meta-durable"
    kind = DURABILITY
    promise = "Tables that a slave has synced survive its restart, even when the last write was torn."
    source = "ConfigManager.persist, ConfigManager.load: X, or its backup X.bak"
    needs = frozenset({"config", "start", "sync", "persist"})
    timed = True
    awaits = {
        "sync": EVERY, "table": EventFilter(but=frozenset(NO_SLAVES)),
        "invoke": EventFilter(frozenset({"commit"}), but=frozenset(NO_SLAVES)),
    }  # fmt: skip

    def begin(self) -> None:
        super().begin()
        self.kept: dict[str, dict[Name, Kept]] = {}
        """By slave."""
        self.owed: dict[str, dict[Name, Kept]] = {}
        """Of that, what has not been synced again since its restart."""
        self.read: dict[Name, Table] = {}
        """By slave and table: what a restart must not change."""
        self.before: dict[Name, Table] = {}
        """The same, of the life before."""
        self.committed: set[str] = set()
        """Slaves that were told a group's progress in their present life: it is saved some time, or never."""
        self.agreements: dict[Name, Agreed] = {}
        """By slave and table, for those that have versions: the last one."""

    # What slaves hold.

    def on_sync(self, event: Sync) -> None:
        node, table = event.node, event.f
        if node not in self.slaves:
            return
        if table in (TOPICS, GROUPS):
            self._agree((node, table), event)
        if event.status in ("applied", "answered"):
            self._changed(node, table)
        if event.status in DONE:
            owed, kept = self.owed.get(node, {}), self.kept.setdefault(node, {})
            self.owed[node] = {name: each for name, each in owed.items() if name[0] != table}
            if self._is_sound(node):
                for name, sighting in self.known.copies.brought(event).items():
                    if name not in kept or kept[name].sighting.is_broken:
                        kept[name] = Kept(sighting, event.t)

    def _agree(self, place: Name, event: Sync) -> None:
        agreed = self.agreed(event)
        if agreed is None:
            return
        before, is_sound = self.agreements.pop(place, None), self._is_sound(place[0])
        if before is not None and before.done.t < self.known.nodes.last_start(place[0]) and is_sound:
            # Whatever the master has changed since is sure to have been saved, and seen.
            is_seen = self.known.disturbances.is_unaffected(MASTER, before.asked.t)
            if is_seen and self.is_unchanged(before, event):
                self.judged += 1
                if event.status == "applied":
                    what = f"{place[0]} has other {place[1]} after its restart than those that it had synced"
                    self.violate(event, what, since=before.asked.t)
        if is_sound:
            self.agreements[place] = agreed

    def _is_sound(self, node: str) -> bool:
        """Whether nothing has touched this slave in its present life; what ended with its start was before."""
        return self.known.disturbances.is_unaffected(node, self.known.nodes.last_start(node) + 1)

    @only(but=NO_SLAVES)
    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if table != OFFSETS or self.known.tables.asked(node, table) is not None:
            self._changed(node, table)

    def _changed(self, node: str, table: str) -> None:
        self.read.pop((node, table), None)
        self.before.pop((node, table), None)

    # Restarts.

    def on_crash(self, event: Crash | Stop) -> None:
        """A broker is gone, and what was not on its disk with it."""
        node = event.node
        if node == MASTER:
            self.agreements.clear()
        if node not in self.slaves:
            return
        machine = event.f == "machine" and event.kind == "crash"
        for place in [place for place in self.read if place[0] == node]:
            read = self.read.pop(place)
            if not machine and self.known.tables.asked(*place) is None:
                self.before[place] = read
        if machine:
            kept = self.kept.get(node, {})
            self.kept[node] = {} if event.status == "lied" else {
                name: each for name, each in kept.items() if self._is_flushed(node, name[0], each.since, event.t)
            }  # fmt: skip
            self.before = {place: read for place, read in self.before.items() if place[0] != node}
        for place in [place for place in self.agreements if place[0] == node]:
            saves, asked = self.known.tables.saved(*place), self.known.tables.asked(*place)
            is_lost = machine and not self._is_flushed(*place, saves[-1].t if saves else 0, event.t)
            is_cut = asked is not None and saves and saves[-1].seq > asked.seq
            if is_lost or is_cut or event.status == "lied":
                del self.agreements[place]

    on_stop = on_crash

    def _is_flushed(self, node: str, table: str, since: int, now: int) -> bool:
        late = now - FLUSHED_NS
        saves = self.known.tables.saved(node, table)
        known = since <= late and (len(saves) < 2 or saves[-2].t <= late) and self._is_sound_at(node, now)
        return known and self.known.disturbances.stall(late, now) is None

    def _is_sound_at(self, node: str, now: int) -> bool:
        """As before the fault that takes the power, which has just begun."""
        disturbances = self.known.disturbances
        others = [each for each in disturbances.active.values() if each.node == node and each.t < now]
        return not others and disturbances.ended.get(node, -1) <= self.known.nodes.last_start(node)

    def on_start(self, event: Start) -> None:
        node = event.node
        if node in self.slaves:
            self.owed[node] = dict(self.kept.get(node, {}))
            self.committed.discard(node)
        elif node == MASTER:
            # A sync may bring to a slave what the master has lost.
            self.kept.clear()
            self.owed.clear()

    def on_wipe(self, event: Wipe) -> None:
        node = event.node
        for each in (self.kept, self.owed):
            each.pop(node, None)
        self.agreements = {place: each for place, each in self.agreements.items() if place[0] != node}
        self.before = {place: read for place, read in self.before.items() if place[0] != node}

    # What they answer.

    @only(but=NO_SLAVES)
    def on_table(self, event: Table) -> None:
        node, table = event.node, event.f
        if node not in self.slaves:
            return
        names = sorted(name for name in self._owed(node) if name[0] == table)
        if names:
            self.judged += 1
        for name in names:
            if not holds(event, name[1]):
                self.suspect(event, name, f"{node}'s {table} lack {name[1]} after its restart")
        before = self.before.pop((node, table), None)
        if before is not None:
            self._compare(before, event)
        if table in STEPS and self._is_sound(node) and not (table == OFFSETS and node in self.committed):
            self.read[node, table] = event

    def _compare(self, before: Table, after: Table) -> None:
        self.judged += 1
        if (before.counter, before.stamp) != (after.counter, after.stamp):
            self.violate(
                after,
                f"{after.node}'s {after.f} are of version ({after.counter}, {after.stamp}) after its restart, "
                f"and were of ({before.counter}, {before.stamp})",
                since=None,
            )
        found = entries(after)
        lost = sorted(name for name, entry in entries(before).items() if found.get(name) != entry)
        if lost:
            what = f"{after.node}'s {after.f} have lost or changed {', '.join(lost)} by its restart"
            self.violate(after, what, since=None)

    @only("commit", but=NO_SLAVES)
    def on_invoke(self, event: Invoke) -> None:
        self.committed.add(event.node)
        self._changed(event.node, OFFSETS)

    @only("pull", "query", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        needs = self._needed(event)
        if needs:
            self.judged += 1
            if event.f == "query" and event.queue_offset is None:
                self._suspect_answer(event, needs[0])

    @only("pull", "query", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        needs = self._needed(event)
        if needs:
            self.judged += 1
        for name in needs:
            if name[0] == MISSING.get(event.status):
                self._suspect_answer(event, name)

    def _owed(self, node: str) -> Iterator[Name]:
        return (name for name, kept in self.owed.get(node, {}).items() if not kept.sighting.is_broken)

    def _needed(self, event: Fail | Ok) -> list[Name]:
        """What is owed of what a call needs, if it is of the slave's present life."""
        begun = self.known.calls.begun(event)
        if begun is None or not self.owed.get(event.node) or not self.known.calls.is_current(event):
            return []
        call = begun.call
        topic, _, queue = (call.queue or "").rpartition("/")
        needs: tuple[Name, ...] = ((OFFSETS, f"{topic}@{call.group}/{queue}"),)
        if event.f == "pull":
            needs = ((TOPICS, topic), (GROUPS, call.group or ""))
        return [name for name in self._owed(event.node) if name in needs]

    def _suspect_answer(self, event: Fail | Ok, name: Name) -> None:
        self.suspect(event, name, f"{event.node} answered {event.status} after its restart, and had synced {name[1]}")
