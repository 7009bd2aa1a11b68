"""The links of a trial: each with its proxy and the taps at both ends.

A link's proxy listens only while its server does, so connections to a stopped server are refused, as without a proxy.
toxiproxy would accept and close them.
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
    """Both taps of one link, in whatever process they run."""

    @property
    def connections(self) -> int:
        """Connections accepted so far."""

    async def start(self) -> None:
        """Listen for the proxy; for clients, from :meth:`open` on."""

    async def open(self) -> None:
        """Accept connections."""

    def shut(self) -> None:
        """Refuse new connections; existing ones stay."""

    def lead(self, to: Address, is_rogue_master: bool) -> None:
        """Redirect future connections."""

    def stop(self) -> None:
        """End everything."""

    def reset(self) -> dict[str, int]:
        """Reset all connections at both ends; returns how many, and the bytes in flight."""

    @property
    def severed(self) -> int:
        """Connections that something between the two sides ended first, so far."""

    def standing(self) -> int:
        """Connections that are open."""

    def moved(self, direction: str) -> tuple[int, int]:
        """Bytes of a direction (``up``, ``down``) received and forwarded so far."""


@dataclass(eq=False)
class Link:
    name: str
    client: str
    server: str
    to: Address
    way: LinkPorts
    tap: LinkTap
    cuts: list[object] = field(default_factory=list)
    is_open: bool = False
    rogue_master: Address | None = None

    @property
    def address(self) -> str:
        return str(self.way.near)

    def lead(self, rogue_master: Address | None) -> None:
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
        ways = {each.name: environment.link(plan, each.name) for each in plan.links}
        for each in plan.links:
            way, to, replaced = ways[each.name], self.address(each.far, each.port), {}
            for name, host in each.leads.items():
                led = plan.link(name)
                far = self.address(led.far, led.port)
                replaced[str(far._replace(host=host or far.host))] = str(ways[name].near)
            self.by_name[each.name] = Link(
                each.name, each.near, each.far, to, way, environment.tap(each, way, to, replaced, evidence)
            )
            evidence.addresses[str(way.near)] = each.far

    def address(self, node: str, port: str = MAIN) -> Address:
        found = self.plan.node(node)
        return self.environment.address(found).beside(found.ports[port])

    def dials(self, link: str) -> Address:
        return self.by_name[link].way.near

    async def start(self) -> None:
        for link in self.by_name.values():
            await link.tap.start()

    async def refresh(self, up: frozenset[str]) -> None:
        for link in self.by_name.values():
            wanted = not link.cuts and (link.server in up or link.rogue_master is not None)
            was, link.is_open = link.is_open, wanted
            if wanted and not was:
                self.environment.proxies.enable(link.name)
                # A concurrent refresh finds it open.
                await link.tap.open()
            elif was and not wanted:
                link.tap.shut()
                self.environment.proxies.disable(link.name)

    def stop(self) -> None:
        for link in self.by_name.values():
            link.tap.stop()
