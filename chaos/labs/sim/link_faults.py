"""Faults of a simulated trial's links: toxics, cuts and resets, also of all links of a node at once."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ....harness.errors import LabError
from ....harness.ports import Effect
from .active_fault import ActiveFault
from .cable import Cable
from .network import Link, standing
from .toxics import KINDS, Toxic
from .world import World


class LinkFaults:
    """Abilities CanShapeLink, CanCutLink, CanSeverLink and CanDisconnect of :mod:`pairproof.harness.ports`."""

    def __init__(self, world: World) -> None:
        self.world = world

    def add_toxic(self, link: str, direction: str, toxic: str, attributes: Mapping[str, int]) -> tuple[Link, Toxic]:
        where = self.world.link(link)
        if direction not in ("up", "down"):
            raise LabError(f"a link's directions are up and down, not {direction!r}")
        if toxic not in KINDS:
            raise LabError(f"unknown toxic {toxic!r}; valid: {', '.join(KINDS)}")
        dice = Random(f"{self.world.seed}/toxic/{link}/{direction}/{toxic}/{self.world.kernel.now}")
        return where, self.world.network.add_toxic(where, direction, toxic, attributes, dice)

    def remove_toxic(self, handle: tuple[Link, Toxic]) -> Effect:
        link, toxic = handle
        self.world.network.remove_toxic(link, toxic)
        return toxic.effect

    def cut_link(self, link: str) -> tuple[Link, ActiveFault]:
        where = self.world.link(link)
        return where, self.world.network.cut(where)

    def mend_link(self, handle: tuple[Link, ActiveFault]) -> Effect:
        link, fault = handle
        link.cuts.remove(fault)
        return fault.effect

    def reset_link(self, link: str) -> Effect:
        closed = lost = 0
        where = self.world.link(link)
        for end in standing(where):
            if end in where.ends:
                closed += 1
                lost += self.world.network.reset(end)
        return {"connections_closed": closed, "bytes_lost": lost}

    def sever_link(self, link: str, keeps: str) -> tuple[Link, ActiveFault]:
        where = self.world.link(link)
        return where, self.world.network.sever(where, keeps)

    def end_severed(self, handle: tuple[Link, ActiveFault]) -> Effect:
        link, fault = handle
        self.world.network.end_severed(link, fault)
        return fault.effect

    def disconnect(self, node: str) -> tuple[Cable, ActiveFault]:
        cable, fault = self.world.node_host(node).cable, ActiveFault()
        cable.pulled.append(fault)
        return cable, fault

    def reconnect(self, handle: tuple[Cable, ActiveFault]) -> Effect:
        cable, fault = handle
        cable.plug_in(fault)
        return fault.effect
