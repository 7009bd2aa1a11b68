"""Faults of nodes that obey the lab: in their flushes, clock, dispatch and deletion.

A node's program declares its hooks (:attr:`pairproof.chaos.plan.Program.hooks`): numbers of its control file, see
:mod:`pairproof.chaos.labs.real.control`. The node reads them and counts their effects. A target has the abilities of
its nodes' hooks.
"""

from __future__ import annotations

import signal
from typing import ClassVar, NamedTuple

from ....harness.errors import Unable
from ....harness.ports import Effect
from .control import HOOKS
from .nodes import RealNode
from .processes import Processes
from .store_faults import LOG, Taken
from .world import World


class Disturbed(NamedTuple):
    node: RealNode
    field: str
    amount: int
    bitten: int


class Skew(NamedTuple):
    node: RealNode
    ms: int
    looks: int


EXPIRED_NS = 500_000_000
COUNTERS = {
    "stalled": ("held", "flushes_held"), "slow_ms": ("slowed", "flushes_slowed"), "lies": ("lied", "files_feigned"),
    "undispatched": ("dispatches_held", "dispatches_held"),
}  # fmt: skip
"""By control field: the node's counter, and its name in an effect."""


class HookFaults:
    hooks: ClassVar[frozenset[str]] = frozenset()
    """A node that obeys one of these numbers obeys all."""

    def __init__(self, world: World, processes: Processes) -> None:
        self.world = world
        self.processes = processes

    def _disturb(self, node: str, field: str, amount: int) -> Disturbed:
        found, _ = self.world.stored(self.world.obedient(node, field).name)
        control = self.world.environment.control(node)
        bitten = control.get(COUNTERS[field][0])
        control.set(field, control.get(field) + amount)
        return Disturbed(found, field, amount, bitten)

    def _undisturbed(self, handle: Disturbed) -> Effect:
        node, field, amount, bitten = handle
        control = self.world.environment.control(node.name)
        control.set(field, control.get(field) - amount)
        counter, effect = COUNTERS[field]
        return {effect: control.get(counter) - bitten}


class FlushFaults(HookFaults):
    """Abilities CanTear, CanStallDisk, CanSlowDisk and CanLieAboutFlushes: see the harness."""

    hooks = frozenset(field for field, what in HOOKS.items() if what == "flushes")

    def reports_flushes(self, node: str) -> bool:
        return "flush" in self.world.stored(node)[0].program.tells

    def stall_disk(self, node: str) -> Disturbed:
        return self._disturb(node, "stalled", 1)

    def resume_disk(self, handle: Disturbed) -> Effect:
        """Let the held flushes end, and start nodes that wait for them."""
        effect = self._undisturbed(handle)
        self.processes.await_serving(handle.node)
        return effect

    def slow_disk(self, node: str, ms: int) -> Disturbed:
        return self._disturb(node, "slow_ms", ms)

    def lie_about_flushes(self, node: str) -> Disturbed:
        return self._disturb(node, "lies", 1)

    restore_disk = flush_honestly = HookFaults._undisturbed


class DispatchFaults(HookFaults):
    """Ability CanStallDispatch."""

    hooks = frozenset(("undispatched",))

    def stall_dispatch(self, node: str) -> Disturbed:
        return self._disturb(node, "undispatched", 1)

    # The node polls the control every few milliseconds.
    resume_dispatch = HookFaults._undisturbed


class RetentionFaults(HookFaults):
    """Abilities CanExpire and CanFillDisk: on a full disk a broker deletes its oldest files. Only a broker that obeys
    the lab reports this; a real RocketMQ broker does not, so the loss would be unknown.
    """

    hooks = frozenset(("keep_files",))

    def expire(self, node: str, keep_files: int) -> Effect:
        """No effect on a stopped broker or one that does not serve."""
        found, _ = self.world.stored(self.world.obedient(node, "keep_files").name)
        if not self.world.serves(found) or found.pauses:
            return {}
        before = found.files(LOG)
        self.world.environment.control(node).set("keep_files", keep_files)
        traced = self.world.evidence.traced
        seen = len(traced)
        found.signal(signal.SIGUSR1)
        # A log without files to spare reports nothing.
        self.world.run_until(lambda: any(each.kind == "expire" for each in traced[seen:]), EXPIRED_NS)
        after = found.files(LOG)
        gone = [len(data) for name, data in before.items() if name not in after]
        return {"files_deleted": len(gone), "bytes_deleted": sum(gone)}

    def fill_disk(self, node: str) -> Taken:
        found, store = self.world.stored(self.world.obedient(node, "keep_files").name)
        if store.kind == "folder":
            raise Unable(f"a full disk needs a separate disk for each store: {store.why_not}")
        return Taken(found, store.fill(), store.free)

    def free_disk(self, handle: Taken) -> Effect:
        handle.undo()
        return {"bytes_filled": handle.amount}


class ClockFaults(HookFaults):
    """Ability CanSkewClock."""

    hooks = frozenset(("skew_ms",))

    def skew_clock(self, node: str, ms: int) -> Skew:
        found = self.world.obedient(node, "skew_ms")
        control = self.world.environment.control(node)
        self._set_clock(found, control.get("skew_ms") + ms)
        return Skew(found, ms, control.get("skewed"))

    def correct_clock(self, handle: Skew) -> Effect:
        """Restores the true time, except for the skew of other faults."""
        control = self.world.environment.control(handle.node.name)
        self._set_clock(handle.node, control.get("skew_ms") - handle.ms)
        return {"readings_skewed": control.get("skewed") - handle.looks}

    def _set_clock(self, node: RealNode, ms: int) -> None:
        self.world.environment.control(node.name).set("skew_ms", ms)
        self.world.evidence.add(self.world.evidence.now(), "clock", node.name, value=ms)


TROUBLES = (FlushFaults, DispatchFaults, RetentionFaults, ClockFaults)
