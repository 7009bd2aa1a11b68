"""Rogue peers in a simulated trial: non-brokers on the master's HA port, and a rogue master in its place."""

from __future__ import annotations

from random import Random

from ...harness.ports import Effect
from ...harness.rocketmq import topology
from ..labs.sim.host import Host
from ..labs.sim.world import World
from .rogues import RogueClient, RogueMaster, RogueSlave
from .sim_readings import SimReadings


class RoguePeers:
    """Abilities CanImpersonate, CanIntrude and CanImpersonateMaster of :mod:`pairproof.harness.ports`."""

    def __init__(self, world: World, readings: SimReadings) -> None:
        self.world = world
        self.readings = readings

    def impersonate(self, character: str) -> RogueSlave:
        host = self.world.hosts["rogue_slave"]
        rogue = RogueSlave(
            character, "master-ha", host, Random(f"{self.world.seed}/hostile/{host.incarnation}"), self._master_end
        )
        host.start(lambda: rogue)
        return rogue

    def dismiss(self, handle: RogueSlave) -> Effect:
        host = self.world.hosts["rogue_slave"]
        if host.node is handle:
            handle.on_stop()
            host.kill()
        return handle.effect

    def intrude(self, node: str, port: str, character: str) -> tuple[Host, RogueClient]:
        self.world.node_host(node)
        host = self.world.rogue_host()
        address = f"{node}-{'main' if node == topology.NAMES else port}"
        rogue = RogueClient(character, address, host, Random(f"{self.world.seed}/intruder/{host.name}"))
        host.start(lambda: rogue)
        return host, rogue

    def expel(self, handle: tuple[Host, RogueClient]) -> Effect:
        host, rogue = handle
        rogue.on_stop()
        host.kill()
        return rogue.effect

    def take_place(self, character: str) -> RogueMaster:
        host, link = self.world.hosts["rogue_master"], self.world.link(topology.HA_LINKS[0])
        dice = Random(f"{self.world.seed}/impostor/{host.incarnation}")
        rogue = RogueMaster(character, host, dice)
        self.world.network.cut(link)
        link.cuts.pop()
        link.host = host
        host.kill()
        host.start(lambda: rogue)
        return rogue

    def give_back(self, handle: RogueMaster) -> Effect:
        host, link = self.world.hosts["rogue_master"], self.world.link(topology.HA_LINKS[0])
        if host.node is handle:
            link.host = self.world.hosts["master"]
            host.kill()
        return handle.effect

    def _master_end(self) -> int:
        return self.readings.end(topology.MASTER) or 0
