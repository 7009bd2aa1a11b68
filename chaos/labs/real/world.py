"""The world of a trial with real processes: its environment, links and nodes, real time, and evidence.

Clients and consumers run in this process, on the same loop as the taps. The loop turns only during a call, and every
call is short except those that let time pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from ....harness.errors import LabError, PairproofError, Unable, UsageError
from ....harness.history import Recorder
from ....harness.trials.schedule import Args
from ...plan import Plan, check_target
from .control import HOOKS
from .environment import Environment
from .evidence import Evidence
from .links import Link, Links
from .nodes import RealNode
from .stalls import Watch, Watched, harness
from .stores import Store

if TYPE_CHECKING:
    from .processes import Processes

T = TypeVar("T")
DRAIN_S = 0.004
"""Bytes on one machine arrive within microseconds; the loop then has to turn."""
TICK_S = 0.005
"""Interval of reading the nodes' traces during a wait for something."""
LOOK_S = 0.02
"""The same otherwise."""
LOOKS = 50
"""Ticks between two checks of the environment."""


class World:
    """``settings`` are complete: the target has added its defaults."""

    processes: Processes

    def __init__(self, environment: Environment, plan: Plan, settings: Args, seed: str) -> None:
        if late := [each.name for each in plan.nodes if each.waits]:
            raise UsageError(f"only a simulated lab starts {late[0]} later: leave lab.others=2 out")
        self.environment = environment
        self.plan = plan
        self.settings = settings
        self.seed = seed
        self.loop = environment.loop
        self.recorder = Recorder()
        self.evidence = Evidence(self.recorder, plan.listener, plan.notes, environment.label)
        self.folder = environment.folder / f"trial-{environment.trials}"
        self.folder.mkdir(exist_ok=True)
        environment.trials += 1
        self.links = Links(environment, plan, self.evidence)
        self.nodes: dict[str, RealNode] = {}
        for each in plan.nodes:
            node = self.nodes[each.name] = environment.node(self.folder, each, self.links)
            if node.store is not None:
                self.evidence.stores[each.name] = node.path
        self.is_closed = False
        self.watch = Watch(self.loop, self._watched)
        self._wrong: BaseException | None = None
        """The first failure on the loop that no caller could raise."""
        self.loop.set_exception_handler(self._went_wrong)

    def _watched(self) -> Iterator[Watched]:
        yield harness()
        yield from self.environment.helpers()
        for node in list(self.nodes.values()):
            if node.pid is not None:
                yield Watched("node", node.name, node.pid, partial(getattr, node, "halted"))

    def serves(self, node: RealNode) -> bool:
        """Whether its process runs and accepts connections."""
        return node.is_up and (node.name, node.incarnation) in self.evidence.ready

    def refresh(self) -> None:
        self.run(self.refreshed())

    async def refreshed(self) -> None:
        if not self.is_closed:
            await self.links.refresh(frozenset(name for name, node in self.nodes.items() if self.serves(node)))

    # Time.

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop; LabError if any part of the lab has failed."""
        result = self.loop.run_until_complete(work)
        if isinstance(self._wrong, PairproofError):
            raise self._wrong
        if self._wrong is not None:
            raise LabError(f"the lab itself has failed: {type(self._wrong).__name__}: {self._wrong}") from self._wrong
        return result

    def _went_wrong(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if self._wrong is None:
            self._wrong = context.get("exception") or LabError(str(context["message"]))

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        return self.run(self._until(reached, limit_ns))

    async def _until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        began = time.monotonic_ns()
        ends, is_extended = began + limit_ns, False
        for tick in count():
            self.evidence.poll()
            if reached():
                return True
            left_s = (ends - time.monotonic_ns()) / 1e9
            if left_s <= 0 and not is_extended:
                # As long as the machine was late, but once only, and at most twice the wait.
                ends, is_extended = ends + min(limit_ns, self.watch.stalls.total_ns(began)), True
                left_s = (ends - time.monotonic_ns()) / 1e9
            if left_s <= 0 or tick % LOOKS == 0:
                self.environment.check()
            if left_s <= 0 or self._wrong is not None:
                break
            await asyncio.sleep(min(TICK_S, left_s))
        return False

    async def passed(self, ends: float, is_due: Callable[[], bool] | None) -> None:
        """Let time pass, until ``ends`` or an armed fault is due. Evidence is read regularly, since file contents are
        dated by their reading.
        """
        look_s = LOOK_S if is_due is None else TICK_S
        while (left_s := ends - time.monotonic()) > 0 and not (is_due and is_due()):
            self.evidence.poll()
            await asyncio.sleep(min(look_s, left_s))
        self.evidence.poll()

    def now(self) -> int:
        return self.evidence.now()

    def aside(self, work: Callable[[], T]) -> T:
        """Run slow work in a thread: clients, taps and consumers continue."""
        return self.run(asyncio.to_thread(work))

    def drained(self) -> None:
        self.run(asyncio.sleep(DRAIN_S))
        self.environment.drain()
        self.evidence.poll()

    # Nodes and links.

    def node(self, name: str) -> RealNode:
        check_target(name, self.nodes, "node")
        return self.nodes[name]

    def obedient(self, name: str, hook: str) -> RealNode:
        """A node that obeys this number of its control file; Unable otherwise."""
        found = self.node(name)
        if hook not in found.program.hooks:
            raise Unable(f"{name} has no hook for its {HOOKS[hook]}")
        return found

    def stored(self, name: str) -> tuple[RealNode, Store]:
        """A node and its store; Unable for a node without."""
        found = self.node(name)
        if found.store is None:
            raise Unable(f"{name} does not have its own disk")
        return found, found.store

    def link(self, name: str) -> Link:
        check_target(name, self.links.by_name, "link")
        return self.links.by_name[name]
