"""The process lab's environment: supervisor and toxiproxy as processes, ports of loopback, taps in this process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from ....harness.errors import LabError
from ...plan import Address, LinkPlan, Net, NodePlan, Plan
from ...toxiproxy import server
from ...toxiproxy.install import TOOL
from ...toxiproxy.proxies import Proxies
from ..real.addresses import LinkPorts
from ..real.environment import Environment
from ..real.evidence import Evidence
from ..real.leases import HOST, Leases
from ..real.links import LinkTap
from ..real.nodes import RealNode
from ..real.stalls import Watched, helper
from ..real.stores import Stores
from ..real.supervisor import Supervisor
from ..real.taps import Tap, forwarders
from .nodes import NodeProcess, kill

READY_S = 15.0
STANDS_S = 10.0
"""Longest tolerated pause of toxiproxy; shorter than the timeout of its calls."""


class ProcessEnvironment(Environment):
    """LabError if it cannot be set up; then nothing is left behind."""

    def __init__(self) -> None:
        binary = TOOL.usable()
        self.supervisor = Supervisor()
        try:
            folder = self.supervisor.folder
            self.leases = Leases()
            port = self.leases.take()[0]
            self.toxiproxy = self.supervisor.exec(server.command(binary, port), folder / "toxiproxy.log")
            server.wait_ready(port, READY_S, lambda: not self.supervisor.status(self.toxiproxy).over)
            super().__init__(folder, Proxies(port), Stores(folder))
        except BaseException:
            self.supervisor.close()
            raise
        self._ports: dict[tuple[str, tuple[int, ...]], int] = {}
        self._runs_at = time.monotonic()

    def way(self, plan: Plan, link: LinkPlan) -> LinkPorts:
        proxy, far = self.leases.take(2)
        if link.beside is not None:
            other, distance = link.beside
            near = self.link(plan, other).near.beside(distance)
        else:
            room = tuple(each.beside[1] for each in plan.links if each.beside and each.beside[0] == link.name)
            near = Address(HOST, self.leases.take(1, room)[0])
        return LinkPorts(near, Address(HOST, proxy), Address(HOST, far))

    def address(self, node: NodePlan) -> Address:
        return self._port(node.name, tuple(sorted(set(node.ports.values()) - {0})))

    def own(self, name: str) -> Address:
        return self._port(f"own {name}")

    def _port(self, name: str, neighbours: tuple[int, ...] = ()) -> Address:
        # Nodes of one name may have other ports in another target.
        key = name, neighbours
        if key not in self._ports:
            self._ports[key] = self.leases.take(1, neighbours)[0]
        return Address(HOST, self._ports[key])

    def node(self, folder: Path, plan: NodePlan, net: Net) -> RealNode:
        return NodeProcess(self.supervisor, self, folder, plan, net)

    def tap(
        self, link: LinkPlan, way: LinkPorts, to: Address, replaced: Mapping[str, str], evidence: Evidence
    ) -> LinkTap:
        return Tap(way, to, forwarders(link, evidence.listener, replaced), link.buffer)

    def check(self) -> None:
        """LabError if toxiproxy has ended or is paused for long; a short pause is a stall."""
        found = self.supervisor.status(self.toxiproxy)
        now = time.monotonic()
        if found.state != "stopped":
            self._runs_at = now
        if found.over or now - self._runs_at > STANDS_S:
            raise LabError(f"toxiproxy-server no longer runs ({found.state} {found.number}); play the trial again")

    def helpers(self) -> list[Watched]:
        return [helper("supervisor", self.supervisor.pid), helper("proxy", self.toxiproxy)]

    def end_nodes(self) -> None:
        """Kill all processes but toxiproxy; LabError if one does not end."""
        alive = [pid for pid, found in self.supervisor.statuses().items() if pid != self.toxiproxy and not found.over]
        kill(self.supervisor, {pid: f"process {pid}" for pid in alive})

    def close(self) -> None:
        try:
            super().close()
            self.leases.close()
        finally:
            self.supervisor.close()
