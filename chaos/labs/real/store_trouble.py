"""What can happen to the disks and stores of a trial.

Where a store lies on a device of its own (ext4 on a loop device) a machine crash is a real one: the file system is shut
down with nothing more written, and mounted anew; a full disk is really full, and a read-only one takes nothing more.
Elsewhere a crash takes from the log what its broker had not flushed, and the effect says so; a store in memory can be
full, too. Stalled, slow and lying flushes, and stalled dispatch, are the reference's own seam, see
:mod:`pairproof.chaos.labs.real.control`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from pairproof.chaos.labs.real.node_trouble import NodeTrouble
from pairproof.chaos.labs.real.nodes import RealNode
from pairproof.chaos.labs.real.stores import Store
from pairproof.harness.errors import LabError, Unable
from pairproof.harness.ports import Effect


class Disturbed(NamedTuple):
    """A disk in trouble: the control's field, what it is raised by, and how often it had bitten before."""

    node: RealNode
    field: str
    amount: int
    bitten: int


class Taken(NamedTuple):
    """What was changed at a node's disk, and how to undo it."""

    node: RealNode
    amount: int
    undo: Callable[[], object]


class Image(NamedTuple):
    """A copy of a node's store."""

    node: RealNode
    copy: Any


LOG = ("commitlog/",)
WITHIN_LOG = ("half", "hole")
"""What of the unflushed bytes may stay only where it is known which those are."""
EXPIRED_NS = 500_000_000
COUNTERS = {
    "stalled": ("held", "flushes_held"), "slow_ms": ("slowed", "flushes_slowed"), "lies": ("lied", "files_feigned"),
    "undispatched": ("dispatches_held", "dispatches_held"),
}  # fmt: skip
"""By what is set: what the node counts, and what an effect calls it."""


class StoreTrouble(NodeTrouble):
    """Abilities CanCrashMachine, CanReplaceStore, CanPromote, CanExpire, CanStallDispatch, and all of a disk: see the
    harness.
    """

    # Machines.

    def crash_machine(self, node: str, keep: str) -> Effect:
        found, store = self._stored(node)
        if not found.powered:
            return {}
        if not found.program.has_seams and keep != "all" and (keep in WITHIN_LOG or store.kind != "device"):
            raise Unable(f"it is unknown what {node} has flushed: keep={keep} cannot be played on a {store.kind}")
        running = found.is_up
        if running:
            self.processes.freeze(found)
        # Before its connections end, as those of a machine without power do not for what it did.
        now, flushed = self.world.evidence.now(), self.world.evidence.flushed.get(node, 0)
        before = self.world.evidence.log_ends.get(node, 0)
        did = store.lose_power(keep, flushed, self._pid_ender(found))
        found.powered = False
        end = self.driver.log_end(node)
        lost = max(0, before - end)
        lied = end < flushed and self.world.bench.control(node).get("lied") > 0
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

    def stall_disk(self, node: str) -> Disturbed:
        return self._disturb(node, "stalled", 1)

    def resume_disk(self, handle: Disturbed) -> Effect:
        """Let the held flushes end, and what waits for them start."""
        effect = self._calm(handle)
        self.processes.await_serving(handle.node)
        return effect

    def slow_disk(self, node: str, ms: int) -> Disturbed:
        return self._disturb(node, "slow_ms", ms)

    def restore_disk(self, handle: Disturbed) -> Effect:
        """Flushes that begin from now on are as fast as before."""
        return self._calm(handle)

    def lie_about_flushes(self, node: str) -> Disturbed:
        return self._disturb(node, "lies", 1)

    def flush_honestly(self, handle: Disturbed) -> Effect:
        """Flushes that begin from now on are true again."""
        return self._calm(handle)

    def stall_dispatch(self, node: str) -> Disturbed:
        return self._disturb(node, "undispatched", 1)

    def resume_dispatch(self, handle: Disturbed) -> Effect:
        """Its node looks every few milliseconds whether it may."""
        return self._calm(handle)

    def _disturb(self, node: str, field: str, amount: int) -> Disturbed:
        found, _ = self._stored(self.world.obedient(node).name)
        control = self.world.bench.control(node)
        bitten = control.get(COUNTERS[field][0])
        control.set(field, control.get(field) + amount)
        return Disturbed(found, field, amount, bitten)

    def _calm(self, handle: Disturbed) -> Effect:
        node, field, amount, bitten = handle
        control = self.world.bench.control(node.name)
        control.set(field, control.get(field) - amount)
        counter, effect = COUNTERS[field]
        return {effect: control.get(counter) - bitten}

    def fill_disk(self, node: str) -> Taken:
        """Real RocketMQ deletes its oldest files then, unseen."""
        found, store = self._stored(self.world.obedient(node).name)
        self._needs(store.kind != "folder", "a full disk", store)
        return Taken(found, store.fill(), store.free)

    def free_disk(self, handle: Taken) -> Effect:
        """There is room again."""
        handle.undo()
        return {"bytes_filled": handle.amount}

    def turn_read_only(self, node: str) -> Taken:
        found, store = self._stored(node)
        self._needs(store.kind == "device", "a disk that turns read-only", store)
        store.read_only()
        return Taken(found, found.incarnation if found.is_up else 0, store.writable)

    def turn_writable(self, handle: Taken) -> Effect:
        """Reboot; what came of it."""
        node, before, undo = handle
        ended = int(before > 0 and not (node.is_up and node.incarnation == before))
        effect = self.crash_machine(node.name, "none")
        undo()
        self.restart(node.name)
        return {**effect, "processes_ended": ended}

    # Stores.

    def expire(self, node: str, keep_files: int) -> Effect:
        """Nothing of a broker that stands still or does not serve."""
        found, _ = self._stored(self.world.obedient(node).name)
        if not self.world.serves(found) or found.pauses:
            return {}
        before = found.files(LOG)
        self.world.bench.control(node).set("keep_files", keep_files)
        traced = self.world.evidence.traced
        seen = len(traced)
        found.signal(signal.SIGUSR1)
        # A log that has no files to spare says nothing.
        self.world.run_until(lambda: any(each.kind == "expire" for each in traced[seen:]), EXPIRED_NS)
        after = found.files(LOG)
        gone = [len(data) for name, data in before.items() if name not in after]
        return {"files_deleted": len(gone), "bytes_deleted": sum(gone)}

    def wipe_store(self, node: str) -> Effect:
        found, store = self._stored(node)
        effect = dict(self.kill(node))
        store.empty()
        found.provide()
        return self._replaced(found, "empty", effect)

    def take_image(self, node: str) -> Image:
        """Copy the store as any process sees it now: page cache included, and the trace of a running broker."""
        found, store = self._stored(node)
        with self.processes.standing_still(found) as stood_still:
            image = Image(found, store.image())
            if not stood_still():
                raise LabError(f"{node} cannot be copied: something outside the lab has let it go on meanwhile")
            return image

    def restore_image(self, handle: Image) -> Effect:
        """End the process, put the copy in place, durable throughout, and start it again."""
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
        (slave, own), (master, old) = self._stored(node), self._stored(first)
        effect = dict(self.kill(first))
        if slave.pauses:
            self.kill(node)
        self.stop(node)
        for name, store in ((node, own), (first, old)):
            # Whoever moves a disk takes it from its machine, and what that could not write is gone.
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
        """Start the slave on what is the old master's disk."""
        node, effect = handle
        self.restart(node)
        return effect

    def _replaced(self, node: RealNode, f: str, effect: dict[str, int], whose: str | None = None) -> Effect:
        before = self.world.evidence.log_ends.pop(node.name, 0)
        end = self.driver.log_end(node.name)
        self.world.evidence.flushed.pop(node.name, None)
        self.world.evidence.add(self.world.evidence.now(), "wipe", node.name, f=f, hi=end, detail=whose)
        return {**effect, "log_bytes_gone": max(0, before - end)}

    def _stored(self, node: str) -> tuple[RealNode, Store]:
        found = self.world.node(node)
        if found.store is None:
            raise Unable(f"{node} does not have its own disk")
        return found, found.store

    @staticmethod
    def _needs(found: bool, what: str, store: Store) -> None:
        if not found:
            raise Unable(f"{what} needs a separate disk for each store: {store.why_not}")
