"""Faults of a trial's disks and stores.

With a separate device for each store (ext4 on a loop device) a machine crash is real: the file system is shut down with
nothing more written, and mounted again; full and read-only disks are real as well. Elsewhere a crash removes the log
bytes that its broker had not flushed, and the effect reports that; a store in memory can be full, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....harness.errors import LabError, Unable
from ....harness.ports import Effect
from .node_faults import NodeFaults
from .nodes import RealNode


class Taken(NamedTuple):
    node: RealNode
    amount: int
    undo: Callable[[], object]


class Image(NamedTuple):
    node: RealNode
    copy: Any


LOG = ("commitlog/",)
WITHIN_LOG = ("half", "hole")
"""Unflushed bytes can be kept in part only where their range is known."""


class StoreFaults(NodeFaults):
    """Abilities CanCrashMachine, CanReplaceStore, CanPromote and CanTurnReadOnly: see the harness."""

    # Machines.

    def crash_machine(self, node: str, keep: str) -> Effect:
        found, store = self.world.stored(node)
        if not found.powered:
            return {}
        if "flush" not in found.program.tells and keep != "all" and (keep in WITHIN_LOG or store.kind != "device"):
            raise Unable(f"it is unknown what {node} has flushed: keep={keep} cannot be played on a {store.kind}")
        running = found.is_up
        if running:
            self.processes.freeze(found)
        # Before its connections end: a machine without power does not close them.
        now, flushed = self.world.evidence.now(), self.world.evidence.flushed.get(node, 0)
        before = self.world.evidence.log_ends.get(node, 0)
        did = store.lose_power(keep, flushed, self._pid_ender(found))
        found.powered = False
        end = self.driver.log_end(node)
        lost = max(0, before - end)
        lied = end < flushed and self.world.environment.control(node).get("lied") > 0
        status = "lied" if lied else None
        now = self.world.evidence.last_moment(node, now)
        self.world.evidence.add(now, "crash", node, found.incarnation, f="machine", status=status, value=lost)
        return {"machines_crashed": int(running), "bytes_lost": lost, **did}

    def _pid_ender(self, node: RealNode) -> Callable[[], None]:
        def end() -> None:
            if node.is_up:
                self.processes.end(node)

        return end

    # Disks.

    def turn_read_only(self, node: str) -> Taken:
        found, store = self.world.stored(node)
        if store.kind != "device":
            raise Unable(f"a disk that turns read-only needs a separate disk for each store: {store.why_not}")
        # A concurrent flush may be reported as done, although nothing reached the disk.
        with self.processes.standing_still(found):
            store.read_only()
        return Taken(found, found.incarnation if found.is_up else 0, store.writable)

    def turn_writable(self, handle: Taken) -> Effect:
        node, before, undo = handle
        ended = int(before > 0 and not (node.is_up and node.incarnation == before))
        effect = self.crash_machine(node.name, "none")
        undo()
        self.restart(node.name)
        return {**effect, "processes_ended": ended}

    # Stores.

    def wipe_store(self, node: str) -> Effect:
        found, store = self.world.stored(node)
        effect = dict(self.kill(node))
        store.empty()
        found.provide()
        return self._replaced(found, "empty", effect)

    def take_image(self, node: str) -> Image:
        """Copy the store as any process sees it now: with the page cache, and the trace of a running broker."""
        found, store = self.world.stored(node)
        with self.processes.standing_still(found) as stood_still:
            image = Image(found, store.image())
            if not stood_still():
                raise LabError(f"{node} cannot be copied: a process outside the lab has resumed it")
            return image

    def restore_image(self, handle: Image) -> Effect:
        node, copy = handle
        effect = dict(self.kill(node.name))
        assert node.store is not None
        node.store.restore(copy)
        effect = dict(self._replaced(node, "image", effect))
        self.restart(node.name)
        return effect

    def promote(self, node: str, rejoin: str) -> tuple[str, Effect]:
        """A slave that cannot stop in an orderly way is killed."""
        first = self.world.plan.master
        (slave, own), (master, old) = self.world.stored(node), self.world.stored(first)
        effect = dict(self.kill(first))
        if slave.pauses:
            self.kill(node)
        self.stop(node)
        for name, store in ((node, own), (first, old)):
            # Moving a disk takes it from its machine, which loses its pending writes.
            if store.is_read_only:
                self.crash_machine(name, "none")
        own.swap(old)
        effect = dict(self._replaced(master, "image", effect, node))
        if rejoin == "wiped":
            self.wipe_store(node)
        else:
            self._replaced(slave, "image", {}, first)
        self.restart(first)
        return node, {**effect, "slaves_promoted": 1}

    def take_back(self, handle: tuple[str, Effect]) -> Effect:
        """Start the slave on the old master's disk."""
        node, effect = handle
        self.restart(node)
        return effect

    def _replaced(self, node: RealNode, f: str, effect: dict[str, int], whose: str | None = None) -> Effect:
        before = self.world.evidence.log_ends.pop(node.name, 0)
        end = self.driver.log_end(node.name)
        self.world.evidence.flushed[node.name] = end
        self.world.evidence.add(self.world.evidence.now(), "wipe", node.name, f=f, hi=end, detail=whose)
        return {**effect, "log_bytes_gone": max(0, before - end)}
