"""``meta-durable``: synced tables survive a slave restart, even after a torn write.

Checks:
- After a restart, until the next sync of that table, the slave's tables and its answers to pulls and queries have all
  synced topics, groups, and progress of groups. A sync that was in progress loses nothing: the backup file has it.
- The table has the entries and data version of its last reading, if nothing was synced, saved or committed since. It
  may have more of the system's own entries.
- Topics and groups that equalled the master's, and that neither side has changed, still do at the next sync.
- After a power loss, the table has all that was saved 1 s before, if at most one save came in that second.
Abstains when:
- A fault affected the slave before the sync ended, in that incarnation: a full disk saves nothing.
- A disk lied, or the store was replaced.
- An administrator may have deleted the entry (``meta-atomic-view``).
- The master restarted: it may have lost the entry.
Source: ConfigManager.persist and load (X, or its backup X.bak), MixAll.string2File, SlaveSynchronize.
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
    OFFSETS,
    STEPS,
    TOPICS,
    Name,
    entries,
)
from ...topology import MASTER, NO_SLAVES
from .syncing import Agreed, CopiesLaw

AFTER = " after its restart"
FLUSHED_NS = 1_000 * MS
"""The time of a save to reach the disk."""


class Saved(NamedTuple):
    sighting: Sighting
    """The entry in the master's table."""
    since: int
    """At the latest, ns."""


class MetaDurable(CopiesLaw):
    kind = DURABILITY
    needs = frozenset({"config", "start", "sync", "persist"})
    timed = True
    awaits = {
        "sync": EVERY, "table": EventFilter(but=frozenset(NO_SLAVES)),
        "invoke": EventFilter(frozenset({"commit"}), but=frozenset(NO_SLAVES)),
    }  # fmt: skip

    def begin(self) -> None:
        super().begin()
        self.saved: dict[str, dict[Name, Saved]] = {}
        self.pending: dict[str, dict[Name, Saved]] = {}
        """By slave: entries that it has not synced again since its restart."""
        self.read: dict[Name, Table] = {}
        """By slave and table: the reading that a restart must not change."""
        self.before: dict[Name, Table] = {}
        """The same, before the restart."""
        self.committed: set[str] = set()
        """Slaves with a commit in their present incarnation: it is saved at some time, or never."""
        self.agreements: dict[Name, Agreed] = {}
        """By slave and table with a version: the last one."""

    # Syncs and saves.

    def on_sync(self, event: Sync) -> None:
        node, table = event.node, event.f
        if node not in self.slaves:
            return
        if table in (TOPICS, GROUPS):
            self._agree((node, table), event)
        if event.status in ("applied", "answered"):
            self._changed(node, table)
        if event.status in DONE:
            pending, saved = self.pending.get(node, {}), self.saved.setdefault(node, {})
            self.pending[node] = {name: each for name, each in pending.items() if name[0] != table}
            if self._is_sound(node):
                for name, sighting in self.known.copies.brought(event).items():
                    if name not in saved or saved[name].sighting.is_broken:
                        saved[name] = Saved(sighting, event.t)

    def _agree(self, key: Name, event: Sync) -> None:
        agreed = self.agreed(event)
        if agreed is None:
            return
        before, is_sound = self.agreements.pop(key, None), self._is_sound(key[0])
        if before is not None and before.done.t < self.known.nodes.last_start(key[0]) and is_sound:
            # Every later change by the master was saved, and the save recorded.
            is_seen = self.known.disturbances.is_unaffected(MASTER, before.asked.t)
            if is_seen and self.is_unchanged(before, event):
                self.judged += 1
                if event.status == "applied":
                    what = f"{key[0]} has other {key[1]} after its restart than those that it had synced"
                    self.violate(event, what, since=before.asked.t)
        if is_sound:
            self.agreements[key] = agreed

    def _is_sound(self, node: str) -> bool:
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
        node = event.node
        if node == MASTER:
            self.agreements.clear()
        if node not in self.slaves:
            return
        machine = event.f == "machine" and event.kind == "crash"
        for key in [key for key in self.read if key[0] == node]:
            read = self.read.pop(key)
            if not machine and self.known.tables.asked(*key) is None:
                self.before[key] = read
        if machine:
            saved = self.saved.get(node, {})
            self.saved[node] = {} if event.status == "lied" else {
                name: each for name, each in saved.items() if self._is_flushed(node, name[0], each.since, event.t)
            }  # fmt: skip
            self.before = {key: read for key, read in self.before.items() if key[0] != node}
        for key in [key for key in self.agreements if key[0] == node]:
            saves, asked = self.known.tables.saved(*key), self.known.tables.asked(*key)
            is_lost = machine and not self._is_flushed(*key, saves[-1].t if saves else 0, event.t)
            is_cut = asked is not None and saves and saves[-1].seq > asked.seq
            if is_lost or is_cut or event.status == "lied":
                del self.agreements[key]

    on_stop = on_crash

    def _is_flushed(self, node: str, table: str, since: int, now: int) -> bool:
        late = now - FLUSHED_NS
        saves = self.known.tables.saved(node, table)
        known = since <= late and (len(saves) < 2 or saves[-2].t <= late) and self._is_sound_at(node, now)
        return known and self.known.disturbances.stall(late, now) is None

    def _is_sound_at(self, node: str, now: int) -> bool:
        """The same, without the power loss that has just begun."""
        disturbances = self.known.disturbances
        others = [each for each in disturbances.active.values() if each.node == node and each.t < now]
        return not others and disturbances.ended.get(node, -1) <= self.known.nodes.last_start(node)

    def on_start(self, event: Start) -> None:
        node = event.node
        if node in self.slaves:
            self.pending[node] = dict(self.saved.get(node, {}))
            self.committed.discard(node)
        elif node == MASTER:
            # The next sync may bring the master's losses.
            self.saved.clear()
            self.pending.clear()

    def on_wipe(self, event: Wipe) -> None:
        node = event.node
        for each in (self.saved, self.pending):
            each.pop(node, None)
        self.agreements = {key: each for key, each in self.agreements.items() if key[0] != node}
        self.before = {key: read for key, read in self.before.items() if key[0] != node}

    # Readings and answers.

    @only(but=NO_SLAVES)
    def on_table(self, event: Table) -> None:
        node, table = event.node, event.f
        if node not in self.slaves:
            return
        self.check_table(event, self._pending(node), AFTER)
        before = self.before.pop((node, table), None)
        if before is not None:
            self._compare(before, event)
        if table in STEPS and self._is_sound(node) and not (table == OFFSETS and node in self.committed):
            self.read[node, table] = event

    def _compare(self, before: Table, after: Table) -> None:
        self.judged += 1
        if (before.counter, before.stamp) != (after.counter, after.stamp):
            what = f"{after.node}'s {after.f} are of version ({after.counter}, {after.stamp}){AFTER}"
            self.violate(after, f"{what}, and were of ({before.counter}, {before.stamp})", since=None)
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
        self.judged += bool(needs)
        if needs and event.f == "query" and event.queue_offset is None:
            what = f"{event.node} answered {event.status}{AFTER}, and had synced {needs[0][1]}"
            self.suspect(event, needs[0], what)

    @only("pull", "query", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        self.check_answer(event, self._needed(event), AFTER)

    def _pending(self, node: str) -> Iterator[Name]:
        return (name for name, saved in self.pending.get(node, {}).items() if not saved.sighting.is_broken)

    def _needed(self, event: Fail | Ok) -> list[Name]:
        """The pending entries that a call of the slave's present incarnation needs."""
        begun = self.known.calls.begun(event)
        if begun is None or not self.pending.get(event.node) or not self.known.calls.is_current(event):
            return []
        call = begun.call
        topic, _, queue = (call.queue or "").rpartition("/")
        needs: tuple[Name, ...] = ((OFFSETS, f"{topic}@{call.group}/{queue}"),)
        if event.f == "pull":
            needs = ((TOPICS, topic), (GROUPS, call.group or ""))
        return [name for name in self._pending(event.node) if name in needs]
