"""Strangers in a simulated trial: peers on the master's HA port that are no brokers, and an impostor in its place."""

from __future__ import annotations

from random import Random

from ...harness.ports import Effect
from ...harness.rocketmq import places
from ..labs.sim.host import Host
from ..labs.sim.world import World
from .hostile import Hostile, Impostor, Intruder
from .sim_readings import SimReadings


class Strangers:
    """Abilities CanImpersonate, CanIntrude and CanImpersonateMaster of :mod:`pairproof.harness.ports`."""

    def __init__(self, world: World, readings: SimReadings) -> None:
        self.world = world
        self.readings = readings

    def impersonate(self, character: str) -> Hostile:
        host = self.world.hosts["hostile"]
        stranger = Hostile(
            character, "master-ha", host, Random(f"{self.world.seed}/hostile/{host.incarnation}"), self._master_end
        )
        host.start(lambda: stranger)
        return stranger

    def dismiss(self, handle: Hostile) -> Effect:
        host = self.world.hosts["hostile"]
        if host.node is handle:
            handle.on_stop()
            host.kill()
        return handle.effect

    def intrude(self, node: str, port: str, character: str) -> tuple[Host, Intruder]:
        self.world.node_host(node)
        host = self.world.stranger_host()
        address = f"{node}-{'main' if node == places.NAMES else port}"
        stranger = Intruder(character, address, host, Random(f"{self.world.seed}/intruder/{host.name}"))
        host.start(lambda: stranger)
        return host, stranger

    def expel(self, handle: tuple[Host, Intruder]) -> Effect:
        host, stranger = handle
        stranger.on_stop()
        host.kill()
        return stranger.effect

    def take_place(self, character: str) -> Impostor:
        host, link = self.world.hosts["impostor"], self.world.link(places.HA_LINKS[0])
        dice = Random(f"{self.world.seed}/impostor/{host.incarnation}")
        stranger = Impostor(character, host, dice)
        self.world.network.cut(link)
        link.cuts.pop()
        link.host = host
        host.kill()
        host.start(lambda: stranger)
        return stranger

    def give_back(self, handle: Impostor) -> Effect:
        host, link = self.world.hosts["impostor"], self.world.link(places.HA_LINKS[0])
        if host.node is handle:
            link.host = self.world.hosts["master"]
            host.kill()
        return handle.effect

    def _master_end(self) -> int:
        return self.readings.end(places.MASTER) or 0
