"""The links of a trial: each with its proxy and the taps at both ends of that.

A link's proxy listens only while its server does, so that whoever connects to a dead one is refused, as without a
proxy; toxiproxy would accept, and hang up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from ...plan import MAIN, Address, Plan
from .addresses import LinkPorts
from .evidence import Evidence

if TYPE_CHECKING:
    from .environment import Environment


class LinkTap(Protocol):
    """Both taps of one link, wherever they run."""

    @property
    def connections(self) -> int:
        """Those that were let in so far."""

    async def start(self) -> None:
        """Listen for the proxy; for clients, from :meth:`open` on."""

    async def open(self) -> None:
        """Take connections."""

    def shut(self) -> None:
        """Refuse new connections; those that stand are not concerned."""

    def lead(self, to: Address, is_rogue_master: bool) -> None:
        """Lead connections that come from now on elsewhere."""

    def stop(self) -> None:
        """End everything."""

    def reset(self) -> dict[str, int]:
        """End all connections by a RST, both ends at once; how many, and the bytes that were on their way."""

    @property
    def severed(self) -> int:
        """Connections that neither side ended first, but something between them, so far."""

    def standing(self) -> int:
        """Connections that stand."""

    def moved(self, direction: str) -> tuple[int, int]:
        """Bytes of a direction (``up``, ``down``) that were taken, and given, so far."""


@dataclass(eq=False)
class Link:
    """One link of one trial. ``client``, ``server``: whose it is; ``to``: where the server listens."""

    name: str
    client: str
    server: str
    to: Address
    way: LinkPorts
    tap: LinkTap
    cuts: list[object] = field(default_factory=list)
    is_open: bool = False
    rogue_master: Address | None = None
    """Where something else listens in the server's place."""

    @property
    def address(self) -> str:
        return str(self.way.near)

    def lead(self, rogue_master: Address | None) -> None:
        """Lead to an impostor, or to the server again."""
        self.rogue_master = rogue_master
        self.tap.lead(rogue_master or self.to, rogue_master is not None)


class Links:
    """All links of a trial, and its addresses: a :class:`pairproof.chaos.plan.Net`."""

    def __init__(self, environment: Environment, plan: Plan, evidence: Evidence) -> None:
        self.environment = environment
        self.plan = plan
        self.by_name: dict[str, Link] = {}
        for node in plan.nodes:
            for port in node.ports:
                evidence.addresses[str(self.address(node.name, port))] = node.name
        for each in plan.links:
            way, to = environment.link(plan, each.name), self.address(each.far, each.port)
            self.by_name[each.name] = Link(
                each.name, each.near, each.far, to, way, environment.tap(each, way, to, evidence)
            )
            evidence.addresses[str(way.near)] = each.far

    def address(self, node: str, port: str = MAIN) -> Address:
        found = self.plan.node(node)
        return self.environment.address(found).beside(found.ports[port])

    def dials(self, link: str) -> Address:
        return self.by_name[link].way.near

    async def start(self) -> None:
        """The taps listen for their proxies."""
        for link in self.by_name.values():
            await link.tap.start()

    async def refresh(self, up: frozenset[str]) -> None:
        """Open the links whose server is up and that nothing cuts; shut the others."""
        for link in self.by_name.values():
            wanted = not link.cuts and (link.server in up or link.rogue_master is not None)
            was, link.is_open = link.is_open, wanted
            if wanted and not was:
                self.environment.proxies.enable(link.name)
                # Another refresh may come in between, and finds it open.
                await link.tap.open()
            elif was and not wanted:
                link.tap.shut()
                self.environment.proxies.disable(link.name)

    def stop(self) -> None:
        for link in self.by_name.values():
            link.tap.stop()
