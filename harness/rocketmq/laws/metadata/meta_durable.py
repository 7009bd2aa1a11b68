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

from ....history import MS, Event
from ....judging.law import DURABILITY
from ....kinds.client import Fail, Info, Invoke, Ok
from ....kinds.node import Crash, Start, Stop, Wipe
from ...kinds.metadata import Persist, Sync, Table
from ...known.metadata import (
    DONE,
    GROUPS,
    MISSING,
    OFFSETS,
    STEPS,
    TOPICS,
    Agreement,
    CopiesLaw,
    Name,
    entries,
    holds,
)
from ...places import MASTER

FLUSHED_NS = 1_000 * MS
"""By then a save has reached the disk."""


class MetaDurable(CopiesLaw):
    id = "meta-durable"
    kind = DURABILITY
    promise = "Tables that a slave has synced survive its restart, even when the last write was torn."
    source = "ConfigManager.persist, ConfigManager.load: X, or its backup X.bak"
    needs = frozenset({"config", "start", "sync", "persist"})
    timed = True

    def begin(self) -> None:
        super().begin()
        self.kept: dict[str, dict[Name, int]] = {}
        """Per slave: what its disk holds, and since when at the latest, ns."""
        self.owed: dict[str, set[Name]] = {}
        """Of that, what has not been synced again since its restart."""
        self.saves: dict[Name, list[int]] = {}
        """When a slave saved a table last, and the time before, ns."""
        self.read: dict[Name, Table] = {}
        """By slave and table: what a restart must not change."""
        self.before: dict[Name, Table] = {}
        """The same, of the life before."""
        self.open: set[Name] = set()
        """Steps of syncs that are under way."""
        self.committed: set[str] = set()
        """Slaves that were told a group's progress in their present life: it is saved some time, or never."""
        self.asked: dict[int | None, tuple[Name, ...]] = {}
        self.agreements: dict[Name, Agreement] = {}
        """By slave and table, for those that have versions."""
        self.unproven: set[Name] = set()
        """Tables that agreed before their slave's restart, and have not been synced since."""

    # What slaves hold.

    def on_sync(self, event: Sync) -> None:
        node, table = event.node, event.f
        if node not in self.slaves:
            return
        found = self.copies.synced(event)
        if table in (TOPICS, GROUPS):
            self._agree((node, table), event)
        if event.status == "asked":
            self.open.add((node, table))
            return
        if event.status in ("applied", "answered"):
            self._changed(node, table)
        if event.status == "answered":
            # It may be about to take that over.
            return
        self.open.discard((node, table))
        if event.status in DONE:
            if node in self.owed:
                self.owed[node] = {name for name in self.owed[node] if name[0] != table}
            if self._is_sound(node):
                kept = self.kept.setdefault(node, {})
                for name in found:
                    kept.setdefault(name, event.t)

    def _agree(self, place: Name, event: Sync) -> None:
        agreement = self.agreements.setdefault(place, Agreement())
        if event.status == "asked":
            agreement.ask(event.t)
            return
        if event.status in DONE and place in self.unproven:
            self.unproven.discard(place)
            if (
                agreement.is_unchanged(event, self.known.instant_ns)
                and self._is_sound(place[0])
                and self._is_master_sound(agreement)
            ):
                self.judged += 1
                if event.status == "applied":
                    self.violate(
                        event,
                        f"{place[0]} has other {place[1]} after its restart than those that it had synced",
                        since=agreement.agreed[0] if agreement.agreed is not None else None,
                    )
        agreement.end(event)
        if not self._is_sound(place[0]):
            agreement.agreed = None

    def _is_master_sound(self, agreement: Agreement) -> bool:
        """Whether whatever the master has changed since both agreed is sure to have been saved, and seen."""
        return agreement.agreed is not None and self.known.trouble.is_quiet(MASTER, agreement.agreed[0])

    def _is_sound(self, node: str) -> bool:
        """Whether nothing has touched this slave in its present life; what ended with its start was before."""
        return self.known.trouble.is_quiet(node, self.known.nodes.born(node) + 1)

    def on_persist(self, event: Persist) -> None:
        node, table = event.node, event.f
        if node == MASTER:
            self.copies.saved(event)
            for place, agreement in self.agreements.items():
                if place[1] == table:
                    agreement.change()
        elif (node, table) in self.agreements:
            self.agreements[node, table].saved(event)
        if node in self.slaves:
            last = self.saves.setdefault((node, table), [])
            last[:] = [*last[-1:], event.t]
            if table != OFFSETS or (node, table) in self.open:
                self._changed(node, table)

    def _changed(self, node: str, table: str) -> None:
        self.read.pop((node, table), None)
        self.before.pop((node, table), None)

    # Restarts.

    def on_crash(self, event: Crash | Stop) -> None:
        """A broker is gone, and what was not on its disk with it."""
        node = event.node
        self.down(node)
        if node == MASTER:
            self.agreements.clear()
        if node not in self.slaves:
            return
        machine = event.f == "machine" and event.kind == "crash"
        for place in [place for place in self.read if place[0] == node]:
            read = self.read.pop(place)
            if not machine and place not in self.open:
                self.before[place] = read
        if machine:
            kept = self.kept.get(node, {})
            self.kept[node] = {} if event.status == "lied" else {
                name: t for name, t in kept.items() if self._is_flushed(node, name[0], t, event.t)
            }  # fmt: skip
            self.before = {place: read for place, read in self.before.items() if place[0] != node}
        self.open = {place for place in self.open if place[0] != node}
        for place in [place for place in self.agreements if place[0] == node]:
            agreement = self.agreements[place]
            lost = machine and not self._is_flushed(node, place[1], max(self.saves.get(place, [0])), event.t)
            cut = agreement.asked is not None and agreement.saves
            if lost or cut or event.status == "lied" or agreement.agreed is None:
                del self.agreements[place]
            agreement.asked = None

    on_stop = on_crash

    def _is_flushed(self, node: str, table: str, since: int, now: int) -> bool:
        late = now - FLUSHED_NS
        saves = self.saves.get((node, table), [])
        known = since <= late and (len(saves) < 2 or saves[-2] <= late) and self._is_sound_at(node, now)
        return known and self.known.trouble.stall(late, now) is None

    def _is_sound_at(self, node: str, now: int) -> bool:
        """As before the fault that takes the power, which has just begun."""
        trouble = self.known.trouble
        others = [each for each in trouble.active.values() if each.node == node and each.t < now]
        return not others and trouble.ended.get(node, -1) <= self.known.nodes.born(node)

    def on_start(self, event: Start) -> None:
        node = event.node
        self.copies.up(node)
        if node in self.slaves:
            self.copies.slaves.pop(node, None)
            self.owed[node] = set(self.kept.get(node, ()))
            self.unproven.update(place for place in self.agreements if place[0] == node)
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

    def on_table(self, event: Table) -> None:
        node, table = event.node, event.f
        if node == MASTER and table in (TOPICS, GROUPS):
            self.see(self.copies.read(event))
        if node not in self.slaves:
            return
        names = sorted(name for of, name in self.owed.get(node, ()) if of == table)
        if names:
            self.judged += 1
        for name in names:
            if not holds(event, name):
                self.suspect(event, (table, name), f"{node}'s {table} lack {name} after its restart")
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

    def on_invoke(self, event: Invoke) -> None:
        self.copies.began(event)
        node = event.node
        if node not in self.slaves:
            return
        if event.f == "commit":
            self.committed.add(node)
            self._changed(node, OFFSETS)
        elif self.owed.get(node):
            topic, _, queue = (event.queue or "").rpartition("/")
            needs: tuple[Name, ...] = ()
            if event.f == "pull":
                needs = ((TOPICS, topic), (GROUPS, event.group or ""))
            elif event.f == "query":
                needs = ((OFFSETS, f"{topic}@{event.group}/{queue}"),)
            self.asked[event.op] = tuple(name for name in needs if name in self.owed[node])

    def on_ok(self, event: Ok) -> None:
        needs = self.asked.pop(event.op, ())
        if needs:
            self.judged += 1
        if event.node not in self.slaves:
            self.see(self.copies.answered(event))
        elif needs and event.f == "query" and event.queue_offset is None:
            self._violate_answer(event, needs[0])

    def on_fail(self, event: Fail) -> None:
        needs = self.asked.pop(event.op, ())
        if needs:
            self.judged += 1
        for name in needs:
            if name[0] == MISSING.get(event.status):
                self._violate_answer(event, name)

    def _violate_answer(self, event: Fail | Ok, name: Name) -> None:
        if name in self.owed.get(event.node or "", ()):
            what = f"{event.node} answered {event.status} after its restart, and had synced {name[1]}"
            self.suspect(event, name, what)

    def accuse(self, event: Event, text: str) -> None:
        """A loss is one whatever stalled."""
        self.violate(event, text, since=None)

    def forget(self, name: Name) -> None:
        for each in self.kept.values():
            each.pop(name, None)
        for names in self.owed.values():
            names.discard(name)

    def on_info(self, event: Info) -> None:
        self.asked.pop(event.op, None)
