"""Rogue peers in a trial: non-brokers on the master's HA port, and a rogue master in its place."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ...harness.ports import Effect
from ...harness.rocketmq import topology
from ..labs.real.links import Link
from ..labs.real.taps import StraightDoor
from ..labs.real.world import World
from ..plan import MAIN, Address
from .machines import Machine
from .rogues import RogueClient, RogueMaster, RogueSlave

ROGUE_SLAVE, ROGUE_MASTER, ROGUE_CLIENT = "rogue_slave", "rogue_master", "rogue_client"
GOODBYE_S = 0.01
DESCRIPTORS = 4_096
"""For a crowd's connections and all others; the usual limit of a process is 1,024."""


class RogueSlaveConnections(NamedTuple):
    """A rogue slave, and the door of its connections."""

    rogue: RogueSlave
    machine: Machine
    door: StraightDoor


class RogueClientConnections(NamedTuple):
    rogue: RogueClient
    machine: Machine


class ActiveRogueMaster(NamedTuple):
    rogue: RogueMaster
    machine: Machine
    link: Link
    address: Address


class RoguePeers:
    """Abilities CanImpersonate, CanIntrude and CanImpersonateMaster of :mod:`pairproof.harness.rocketmq.ports`."""

    def __init__(self, world: World, machine: Callable[[str], Machine]) -> None:
        self.world = world
        self.machine = machine
        self.rogue_peers = 0

    def impersonate(self, character: str) -> RogueSlaveConnections:
        dice = self._dice(ROGUE_SLAVE)
        # Each has its own door.
        address = self.world.environment.own(f"{ROGUE_SLAVE}-{self.rogue_peers}")
        listener = self.world.evidence.listener
        assert listener is not None
        to = self.world.links.address(topology.MASTER, "ha")
        door = StraightDoor(address, to, lambda: listener.forwarder(ROGUE_SLAVE, topology.HA_LINKS[0]))
        self.world.run(door.open())
        machine = self.machine(ROGUE_SLAVE)
        rogue = RogueSlave(character, str(address), machine.io, dice, self._master_end)
        machine.start(lambda: rogue)
        return RogueSlaveConnections(rogue, machine, door)

    def dismiss(self, handle: RogueSlaveConnections) -> Effect:
        handle.rogue.on_stop()
        self.world.run(asyncio.sleep(GOODBYE_S))
        handle.machine.kill()
        handle.door.stop()
        return handle.rogue.effect

    def intrude(self, node: str, port: str, character: str) -> RogueClientConnections:
        """See :class:`pairproof.harness.rocketmq.ports.CanIntrude`. It bypasses all proxies."""
        self.world.node(node)
        address = self.world.links.address(node, MAIN if node == topology.NAMES else port)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS:
            wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        machine = self.machine(ROGUE_CLIENT)
        rogue = RogueClient(character, str(address), machine.io, self._dice(ROGUE_CLIENT))
        machine.start(lambda: rogue)
        return RogueClientConnections(rogue, machine)

    def expel(self, handle: RogueClientConnections) -> Effect:
        handle.rogue.on_stop()
        handle.machine.kill()
        return handle.rogue.effect

    def take_place(self, character: str) -> ActiveRogueMaster:
        link, machine = self.world.link(topology.HA_LINKS[0]), self.machine(ROGUE_MASTER)
        rogue = RogueMaster(character, machine.io, self._dice(ROGUE_MASTER))
        address = self.world.environment.own(f"{ROGUE_MASTER}-{self.rogue_peers}")
        machine.listen(address, "ha")
        machine.start(lambda: rogue)
        self._lead(link, address)
        return ActiveRogueMaster(rogue, machine, link, address)

    def give_back(self, handle: ActiveRogueMaster) -> Effect:
        """The link leads to the master again, unless another rogue master has taken it since."""
        if handle.link.rogue_master == handle.address:
            self._lead(handle.link, None)
        handle.machine.kill()
        return handle.rogue.effect

    def _lead(self, link: Link, rogue_master: Address | None) -> None:
        token = object()
        link.cuts.append(token)
        self.world.refresh()
        link.lead(rogue_master)
        link.cuts.remove(token)
        self.world.refresh()

    def _dice(self, who: str) -> Random:
        self.rogue_peers += 1
        return Random(f"{self.world.seed}/{who}/{self.rogue_peers}")

    def _master_end(self) -> int:
        return self.world.evidence.log_ends.get(topology.MASTER, 0)
