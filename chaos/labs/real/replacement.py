"""Another program replaces a node's, on the same store and address, as in an upgrade.

The plan lists the programs (:attr:`pairproof.chaos.plan.NodePlan.others`); a container lab also accepts images. The
programs' settings may differ, so the history records them again.
"""

from __future__ import annotations

from typing import NamedTuple

from ....harness.ports import Effect
from ...driver import Driver
from ...plan import OWN
from .node_faults import NodeFaults
from .nodes import RealNode
from .world import World


class Replaced(NamedTuple):
    node: RealNode
    effect: Effect


class Replacement:
    """Ability CanReplaceImage of :mod:`pairproof.harness.ports.nodes`."""

    def __init__(self, world: World, on_nodes: NodeFaults, driver: Driver) -> None:
        self.world = world
        self.on_nodes = on_nodes
        self.driver = driver

    def replace_image(self, node: str, image: str) -> Replaced:
        """A stopped node is killed."""
        found = self.world.node(node)
        return Replaced(found, self._run(found, image))

    def keep_image(self, handle: Replaced) -> Effect:
        return handle.effect

    def restore_own_image(self, handle: Replaced) -> Effect:
        after = self._run(handle.node, OWN)
        return {key: handle.effect.get(key, 0) + after.get(key, 0) for key in {*handle.effect, *after}}

    def _run(self, node: RealNode, name: str) -> Effect:
        what = self.world.aside(lambda: node.other(name))
        effect = dict(self.on_nodes.kill(node.name) if node.pauses else self.on_nodes.stop(node.name))
        self.world.aside(lambda: node.become(what))
        shown = self.driver.config(node.name)
        if shown is not None and name in (OWN, *node.plan.others):
            self.world.evidence.config(node.name, shown)
        self.on_nodes.restart(node.name)
        return {**effect, "images_replaced": 1}
