"""One trial with real processes: brokers and a name server behind a real toxiproxy, everything recorded.

Implements :class:`pairproof.harness.ports.Session` as the simulated lab does, in the machine's own time. Clients and
faults are parts of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any

from ....harness.errors import LabError
from ....harness.history import MS, Event
from ....harness.trials.schedule import Args
from ...driver import Driver
from ...plan import SETTINGS_SUFFIX
from .. import script
from ..awaiting import Awaiting
from ..script import Bounds
from .environment import Environment
from .hook_faults import TROUBLES
from .link_faults import LinkFaults
from .processes import Processes
from .replacement import Replacement
from .store_faults import StoreFaults
from .triggers import Triggers
from .world import World

STAND_NS = 5_000 * MS
SETTLE_NS = 60_000 * MS
CLUSTER_SETTLE_NS = 150_000 * MS
LOOK_NS = 500 * MS
MAX_LOG = 262_144
"""Longest recorded output of a node, in characters: some minutes of a broker's warnings with stack traces."""
PROBE_SLACK_NS = 10_000 * MS
"""A probe may wait behind the trial's sends, which time out after lab.sendTimeoutMs, as it does itself."""
HEALTHY_NS = 1_500 * MS
"""Delay that shared machines may add to anything: such a machine stopped for a second in a measurement."""
INSTANT_NS = 300 * MS
"""The same for two consecutive steps of one process."""

LAST_LINES = 6
"""Output lines of a node that does not start: the cause is often not in the last one."""


class RealSession:
    """``settings`` are complete: the target has added its defaults."""

    faults: type[StoreFaults] = StoreFaults

    def __init__(self, environment: Environment, target: Any, settings: Args, seed: str) -> None:
        self.environment, self.settings = environment, settings
        self.world = world = World(environment, target.plan(settings), settings, seed)
        self.recorder, self.evidence, self.folder = world.recorder, world.evidence, world.folder
        self.nodes = world.nodes
        self._woven = False
        self._last_words: dict[str, str] = {}
        self.processes = world.processes = Processes(world)
        self.driver: Driver = target.driver(world)
        settle_ns = CLUSTER_SETTLE_NS if self.driver.has_names else SETTLE_NS
        self.bounds = Bounds(self.driver.call_ns + PROBE_SLACK_NS, settle_ns, LOOK_NS, self.driver.sync_ns)
        self.on_links = LinkFaults(world)
        self.on_nodes = self.faults(world, self.processes, self.driver)
        on_hooks = (each(world, self.processes) for each in TROUBLES)
        self.triggers = Triggers(world)
        self.replacement = Replacement(world, self.on_nodes, self.driver)
        obeying = (*on_hooks, self.triggers)
        self.parts = (self, self.on_links, self.on_nodes, *obeying, self.replacement, *self.driver.parts)
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        self.evidence.lab(HEALTHY_NS, INSTANT_NS, self.settings)
        for name, node in self.nodes.items():
            shown = self.driver.config(name)
            if shown is not None:
                self.evidence.config(name, shown)
            node.provide()
        plan = self.world.plan
        self.environment.begin(plan, self.evidence)
        self.world.watch.start()
        self.world.run(self.world.links.start())
        for stage in sorted({each.stage for each in plan.nodes}):
            names = [each.name for each in plan.nodes if each.stage == stage]
            self.processes.boot(*names)
            self.world.run_until(partial(self.driver.stand, names), STAND_NS)
        for node in self.nodes.values():
            # On an empty store only an exception in the node's code is sure to be the node's failure.
            if not node.is_up and not node.program.is_bug(node.status()):
                raise LabError(f"{node.name} does not come up; its last output: {node.log_tail(LAST_LINES)}")

    def now(self) -> int:
        return self.evidence.now()

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; returns whether it was reached. Armed faults begin."""
        ends, is_due = time.monotonic_ns() + limit_ns, self.triggers.is_due
        while True:
            found = self.world.run_until(lambda: is_due() or reached(), max(0, ends - time.monotonic_ns()))
            if not self.triggers.fire():
                return found

    def advance(self, ms: int) -> None:
        """Let ``ms`` of real time pass, then read the name server's tables. Armed faults begin."""
        ends, triggers = time.monotonic() + ms / 1_000, self.triggers
        while True:
            self.world.run(self.world.passed(ends, triggers.is_due if triggers.armed else None))
            if not triggers.fire():
                break
        self.environment.check()
        self.driver.look()

    def wait_for(self, happens: Callable[[Event], bool], count: int, ms: int) -> int:
        self.evidence.poll()
        seen = [Awaiting(events, happens, count) for events in (self.recorder.events, self.evidence.traced)]

        def reached() -> bool:
            return any(each.reached() for each in seen)

        self.run_until(reached, ms * MS)
        return sum(each.seen for each in seen)

    # The trial's phases, see :class:`pairproof.chaos.labs.script.Context`.

    def warm_up(self) -> None:
        script.warm_up(self)

    def settle(self) -> None:
        script.settle(self)
        self._weave()

    def _weave(self) -> None:
        if not self._woven:
            self._woven = True
            self.evidence.stalled(self.world.watch.stop())
            self.evidence.merge_traces()

    @property
    def all_nodes(self) -> Collection[str]:
        return self.nodes

    def idle(self, ns: int) -> None:
        self.advance(ns // MS)

    def restart(self, node: str) -> None:
        self.on_nodes.restart(node)

    def logs(self) -> dict[str, str]:
        """See :class:`pairproof.harness.ports.HasLogs`; also for an aborted trial."""
        if self.world.is_closed:
            return self._last_words
        return {name: output for name, node in self.nodes.items() if (output := node.all_output()[-MAX_LOG:])}

    def configurations(self) -> dict[str, str]:
        """See :class:`pairproof.harness.ports.HasConfigurations`: programs write theirs into the trial's folder."""
        found = {name: self.folder / f"{name}{SETTINGS_SUFFIX}" for name in self.nodes}
        return {name: path.read_text("utf-8") for name, path in found.items() if path.is_file()}

    def close(self) -> None:
        """End the trial's processes and empty its stores; the environment is reused.

        An aborted trial has a partial history, and its environment is discarded.
        """
        if self.world.is_closed:
            return
        with suppress(LabError):
            self._last_words = self.logs()
        # Ctrl-C may come during the clean-up; an aborted trial's pending work would continue in the next one.
        self.world.is_closed = self.environment.is_broken = True
        ended_well = self._woven
        with suppress(LabError):
            self.environment.end_nodes()
        for node in self.nodes.values():
            self.processes.forget(node)
        with suppress(LabError):
            self._weave()
        self.driver.close()
        with suppress(LabError):
            self.world.links.stop()
        self.world.loop.run_until_complete(asyncio.sleep(0))
        if ended_well:
            with suppress(LabError, OSError):
                self.environment.clean()
                self.environment.is_broken = False
