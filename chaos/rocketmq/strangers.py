"""Strangers in a trial: peers on the master's HA port that are no brokers, and an impostor in its place."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from ...harness.ports import Effect
from ...harness.rocketmq import places
from ..labs.real.links import Link
from ..labs.real.taps import StraightDoor
from ..labs.real.world import World
from ..plan import Address
from .hostile import Hostile, Impostor, Intruder
from .machines import Machine

STRANGER, IMPOSTOR, INTRUDER = "hostile", "impostor", "intruder"
GOODBYE_S = 0.01
DESCRIPTORS = 4_096
"""For a crowd's connections and all else; the usual limit of a process is 1,024."""


class Guest(NamedTuple):
    """A stranger, and the door that it came in by."""

    stranger: Hostile
    machine: Machine
    door: StraightDoor


class Visitor(NamedTuple):
    """A stranger at a port for clients."""

    stranger: Intruder
    machine: Machine


class Usurper(NamedTuple):
    """An impostor, and the link whose far end it has taken."""

    stranger: Impostor
    machine: Machine
    link: Link
    address: Address


class Strangers:
    """Abilities CanImpersonate, CanIntrude and CanImpersonateMaster of :mod:`pairproof.harness.rocketmq.ports`."""

    def __init__(self, world: World, machine: Callable[[str], Machine]) -> None:
        self.world = world
        self.machine = machine
        self.strangers = 0
        """How many there have been."""

    def impersonate(self, character: str) -> Guest:
        dice = self._dice(STRANGER)
        # Each has a door of its own.
        address = self.world.bench.own(f"{STRANGER}-{self.strangers}")
        ears = self.world.evidence.ears
        assert ears is not None
        to = self.world.links.address(places.MASTER, "ha")
        door = StraightDoor(address, to, lambda: ears.passage(STRANGER, places.HA_LINKS[0]))
        self.world.run(door.open())
        machine = self.machine(STRANGER)
        stranger = Hostile(character, str(address), machine.io, dice, self._master_end)
        machine.start(lambda: stranger)
        return Guest(stranger, machine, door)

    def dismiss(self, handle: Guest) -> Effect:
        handle.stranger.on_stop()
        self.world.run(asyncio.sleep(GOODBYE_S))
        handle.machine.kill()
        handle.door.stop()
        return handle.stranger.effect

    def intrude(self, node: str, port: str, character: str) -> Visitor:
        """See :class:`pairproof.harness.rocketmq.ports.CanIntrude`. It comes past all proxies."""
        self.world.node(node)
        address = self.world.links.address(node, places.NAMES if node == places.NAMES else port)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY and soft < DESCRIPTORS:
            wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        machine = self.machine(INTRUDER)
        stranger = Intruder(character, str(address), machine.io, self._dice(INTRUDER))
        machine.start(lambda: stranger)
        return Visitor(stranger, machine)

    def expel(self, handle: Visitor) -> Effect:
        handle.stranger.on_stop()
        handle.machine.kill()
        return handle.stranger.effect

    def take_place(self, character: str) -> Usurper:
        link, machine = self.world.link(places.HA_LINKS[0]), self.machine(IMPOSTOR)
        stranger = Impostor(character, machine.io, self._dice(IMPOSTOR))
        address = self.world.bench.own(f"{IMPOSTOR}-{self.strangers}")
        machine.listen(address, "ha")
        machine.start(lambda: stranger)
        self._lead(link, address)
        return Usurper(stranger, machine, link, address)

    def give_back(self, handle: Usurper) -> Effect:
        """The link leads to the master again, unless another impostor has taken it since."""
        if handle.link.impostor == handle.address:
            self._lead(handle.link, None)
        handle.machine.kill()
        return handle.stranger.effect

    def _lead(self, link: Link, impostor: Address | None) -> None:
        """Connections end in an orderly way, and new ones lead elsewhere."""
        token = object()
        link.cuts.append(token)
        self.world.refresh()
        link.lead(impostor)
        link.cuts.remove(token)
        self.world.refresh()

    def _dice(self, who: str) -> Random:
        self.strangers += 1
        return Random(f"{self.world.seed}/{who}/{self.strangers}")

    def _master_end(self) -> int:
        return self.world.evidence.log_ends.get(places.MASTER, 0)
