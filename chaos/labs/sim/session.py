"""One simulated trial: a target's nodes and its driver's clients on simulated machines, everything recorded.

Implements :class:`pairproof.harness.ports.Session` and the context of :mod:`pairproof.chaos.labs.script`. The abilities
for operations and faults are its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....harness.errors import LabError
from ....harness.history import MS, Event
from ....harness.trials.schedule import Args
from ...driver import Driver
from ...plan import InProcess, Plan, check_point
from .. import script
from ..awaiting import Awaiting
from ..script import Bounds
from .host import WATCHDOG
from .link_faults import LinkFaults
from .node_faults import NodeFaults
from .world import World

SETTLE_NS = 90_000 * MS
# Addresses from a name server take three registration periods more.
CLUSTER_SETTLE_NS = 210_000 * MS
LOOK_NS = 1_000 * MS


class SimSession:
    """``settings`` are complete: the target has added its defaults."""

    def __init__(self, target: Any, settings: Args, seed: str) -> None:
        self.world = world = World(_planned(target, settings), settings, seed)
        self.recorder, self.evidence, self.kernel = world.recorder, world.evidence, world.kernel
        self.all_nodes = world.initial
        self.driver: Driver = target.simulated(world)
        self.on_links, self.on_nodes = LinkFaults(world), NodeFaults(world, self.driver)
        self.parts = (self, self.on_links, self.on_nodes, *self.driver.parts)
        settle_ns = CLUSTER_SETTLE_NS if self.driver.has_names else SETTLE_NS
        self.bounds = Bounds(SETTLE_NS, settle_ns, LOOK_NS, self.driver.sync_ns)
        world.start(self.driver)

    # Session: time.

    def now(self) -> int:
        return self.kernel.now

    def advance(self, ms: int) -> None:
        """Let ``ms`` of virtual time pass, then read the name server's tables."""
        self.world.run_until(_never, ms * MS)
        self.driver.look()

    def step(self, events: int, within_ms: int = 1_000) -> int:
        """The next simulated events; see :class:`pairproof.harness.ports.timing.CanStep`."""
        until = self.kernel.now + within_ms * MS
        done = 0
        # The clock stays at the last event, so that later calls overlap the events.
        while done < events and self.kernel.next_at() <= until and self.kernel.step(until):
            done += 1
            if self.recorder.is_stopped:
                break
        return done

    def wait_for(self, happens: Callable[[Event], bool], count: int, ms: int) -> int:
        awaiting = Awaiting(self.recorder.events, happens, count)
        self.world.run_until(awaiting.reached, ms * MS)
        return awaiting.seen

    def close(self) -> None:
        WATCHDOG.end()

    # Session: the trial's phases, see :class:`pairproof.chaos.labs.script.Context`.

    def warm_up(self) -> None:
        script.warm_up(self)

    def settle(self) -> None:
        if not self.recorder.is_stopped:
            script.settle(self)

    def idle(self, ns: int) -> None:
        self.world.run_until(_never, ns)

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        return self.world.run_until(reached, limit_ns)

    def restart(self, node: str) -> None:
        self.on_nodes.restart(node)

    # Abilities: triggers.

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        check_point(self.world.plan, node, point)
        self.world.arm(node, point, nth, fire)

    def arm_call(self, node: str, point: str, nth: int, fire: Callable[[], None], over: Callable[[], None]) -> None:
        check_point(self.world.plan, node, point)
        self.world.arm_call(node, point, nth, fire, over)

    def disarm(self) -> None:
        self.world.armed.clear()


def _never() -> bool:
    return False


def _planned(target: Any, settings: Args) -> Plan:
    plan: Plan | None = target.plan(settings) if hasattr(target, "plan") else None
    if plan is None or any(each.form(InProcess) is None for each in plan.nodes):
        raise LabError(f"the simulated lab runs targets within this process, not {target.name!r}")
    return plan
