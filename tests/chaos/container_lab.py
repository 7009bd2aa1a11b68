"""The simulation with what only containers can have, imitated: too little memory kills at once, and any image is the
node's own. What is written against these abilities can so be tried without an engine; that a real lab has them, its own
tests show.
"""

from __future__ import annotations

from typing import NamedTuple

from pairproof.chaos.labs.sim.lab import SimLab
from pairproof.chaos.labs.sim.link_faults import LinkFaults
from pairproof.chaos.labs.sim.node_faults import NodeFaults
from pairproof.chaos.labs.sim.session import SimSession
from pairproof.chaos.plan import abilities
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.ports import Effect, Target
from pairproof.harness.trials.schedule import Args

NEEDED_MB = 32


class Replaced(NamedTuple):
    node: str
    stopped: Effect


class Containers(NodeFaults):
    def limit_memory(self, node: str, mb: int) -> Effect:
        killed = self.kill(node) if mb < NEEDED_MB else {}
        return {key: amount for key, amount in killed.items() if key == "processes_killed"}

    def lift_memory(self, handle: Effect) -> Effect:
        return handle

    def replace_image(self, node: str, image: str) -> Replaced:
        return Replaced(node, self._exchange(node))

    def keep_image(self, handle: Replaced) -> Effect:
        return {"images_replaced": 1}

    def restore_own_image(self, handle: Replaced) -> Effect:
        self._exchange(handle.node)
        return {**handle.stopped, "images_replaced": 2}

    def _exchange(self, node: str) -> Effect:
        stopped = self.stop(node)
        self.restart(node)
        return stopped


class ContainerSession(SimSession):
    def __init__(self, target: ReferenceTarget, settings: Args, seed: str) -> None:
        super().__init__(target, settings, seed)
        self.on_nodes = containers = Containers(self.world, self.driver)
        self.parts = (self, self.on_links, containers, *self.driver.parts)


class ContainerLab(SimLab):
    def parts(self, target: Target | None) -> tuple[type, ...]:
        return (ContainerSession, LinkFaults, Containers, *abilities(target))

    def open(self, target: Target, settings: Args, seed: str) -> ContainerSession:
        assert isinstance(target, ReferenceTarget)
        return ContainerSession(target, settings, seed)


LAB = ContainerLab()
