"""Strangers in a process trial: peers on the master's HA port that are no brokers, and an impostor in its place."""

from __future__ import annotations

import asyncio
from random import Random
from typing import NamedTuple

from pairproof.chaos.labs.hostile import Hostile, Impostor, Intruder
from pairproof.chaos.labs.process.bench import FAST_BELOW, HA_ABOVE, HOST
from pairproof.chaos.labs.process.ha_passage import HaPassage
from pairproof.chaos.labs.process.links import Link
from pairproof.chaos.labs.process.machines import Machine
from pairproof.chaos.labs.process.taps import StrangersDoor
from pairproof.chaos.labs.process.world import World
from pairproof.harness import places
from pairproof.harness.ports import Effect

STRANGER, IMPOSTOR, INTRUDER = "hostile", "impostor", "intruder"
GOODBYE_S = 0.01


class Guest(NamedTuple):
    """A stranger, and the door that it came in by."""

    stranger: Hostile
    machine: Machine
    door: StrangersDoor


class Visitor(NamedTuple):
    """A stranger at a port for clients."""

    stranger: Intruder
    machine: Machine


class Usurper(NamedTuple):
    """An impostor, and the link whose far end it has taken."""

    stranger: Impostor
    machine: Machine
    link: Link
    port: int


class Strangers(World):
    """Abilities CanImpersonate, CanIntrude and CanImpersonateMaster of :mod:`pairproof.harness.ports`."""

    strangers = 0
    """How many there have been."""

    def impersonate(self, character: str) -> Guest:
        """See :class:`pairproof.harness.ports.CanImpersonate`."""
        dice = self._dice(STRANGER)
        # Each has a door of its own.
        port = self.bench.asker(f"{STRANGER}-{self.strangers}")
        leads_to = self.bench.broker(places.MASTER) + HA_ABOVE
        door = StrangersDoor(port, lambda: leads_to, lambda: HaPassage(STRANGER, self.evidence))
        self.run(door.open())
        machine = self.machine(STRANGER)
        stranger = Hostile(character, f"{HOST}:{port}", machine.io, dice, self._master_end)
        machine.start(lambda: stranger)
        return Guest(stranger, machine, door)

    def dismiss(self, handle: Guest) -> Effect:
        """Let it go."""
        handle.stranger.on_stop()
        self.run(asyncio.sleep(GOODBYE_S))
        handle.machine.kill()
        handle.door.stop()
        return handle.stranger.effect

    def intrude(self, node: str, port: str, character: str) -> Visitor:
        """See :class:`pairproof.harness.ports.CanIntrude`. It comes past all proxies."""
        self.node(node)
        number = self.bench.asker(places.NAMES) if node == places.NAMES else self.bench.broker(node)
        if port == "fast" and node != places.NAMES:
            number -= FAST_BELOW
        machine = self.machine(INTRUDER)
        stranger = Intruder(character, f"{HOST}:{number}", machine.io, self._dice(INTRUDER))
        machine.start(lambda: stranger)
        return Visitor(stranger, machine)

    def expel(self, handle: Visitor) -> Effect:
        """Let it go."""
        handle.stranger.on_stop()
        handle.machine.kill()
        return handle.stranger.effect

    def take_place(self, character: str) -> Usurper:
        """See :class:`pairproof.harness.ports.CanImpersonateMaster`."""
        link, machine = self.link(places.HA_LINKS[0]), self.machine(IMPOSTOR)
        stranger = Impostor(character, machine.io, self._dice(IMPOSTOR))
        port = self.bench.asker(f"{IMPOSTOR}-{self.strangers}")
        machine.listen(port, "ha")
        machine.start(lambda: stranger)
        self._lead(link, port)
        return Usurper(stranger, machine, link, port)

    def give_back(self, handle: Usurper) -> Effect:
        """The link leads to the master again, unless another impostor has taken it since."""
        if handle.link.impostor == handle.port:
            self._lead(handle.link, None)
        handle.machine.kill()
        return handle.stranger.effect

    def _lead(self, link: Link, port: int | None) -> None:
        """Connections end in an orderly way, and new ones lead elsewhere."""
        token = object()
        link.cuts.append(token)
        self.refresh()
        link.impostor = port
        link.cuts.remove(token)
        self.refresh()

    def _dice(self, who: str) -> Random:
        self.strangers += 1
        return Random(f"{self.seed}/{who}/{self.strangers}")

    def _master_end(self) -> int:
        return self.evidence.log_ends.get(places.MASTER, 0)
