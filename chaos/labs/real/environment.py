"""The environment of consecutive trials: toxiproxy, addresses, proxies and stores, made once and reused.

A trial borrows it and returns it clean. After a failure it is not reused. Each lab defines its listening addresses, and
how its nodes and taps run.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from ...plan import Address, LinkPlan, Net, NodePlan, Plan
from ...toxiproxy.proxies import Proxies
from .addresses import LinkPorts
from .control import Control
from .evidence import Evidence
from .links import LinkTap
from .nodes import RealNode
from .stalls import Watched
from .stores import Store, Stores

CONTROLS = "controls"


class Environment:
    """The common part of every lab's environment; ``folder`` is the lab's."""

    label = "ha"
    anywhere = False
    """Whether it uses addresses other than loopback's; if not, nodes and clients connect to loopback only."""

    def __init__(self, folder: Path, proxies: Proxies, stores: Stores) -> None:
        self.folder = folder
        self.proxies = proxies
        self.stores = stores
        self.loop = asyncio.new_event_loop()
        self.trials = 0
        self.is_broken = False
        """Whether the environment must be rebuilt before reuse."""
        self._ways: dict[str, LinkPorts] = {}
        self._stores: dict[str, Store] = {}
        self._controls: dict[str, Control] = {}
        (folder / CONTROLS).mkdir()

    # Defined by each lab.

    def way(self, plan: Plan, link: LinkPlan) -> LinkPorts:
        """A link's addresses, the same in every trial."""
        raise NotImplementedError

    def address(self, node: NodePlan) -> Address:
        """A node's main port; its other ports are free as well."""
        raise NotImplementedError

    def own(self, name: str) -> Address:
        """An address where this process can listen and nodes can connect."""
        raise NotImplementedError

    def node(self, folder: Path, plan: NodePlan, net: Net) -> RealNode:
        raise NotImplementedError

    def tap(
        self, link: LinkPlan, way: LinkPorts, to: Address, replaced: Mapping[str, str], evidence: Evidence
    ) -> LinkTap:
        """``replaced``: addresses in the server's answers, and what its clients receive instead."""
        raise NotImplementedError

    def begin(self, plan: Plan, evidence: Evidence) -> None:
        """Start a trial."""

    def drain(self) -> None:
        """After it returns, all taps have received the bytes sent before, if this process's own loop has turned."""

    def check(self) -> None:
        """LabError if a part of the lab has ended or hangs."""
        raise NotImplementedError

    def helpers(self) -> list[Watched]:
        """The lab's own processes besides this one: their delays delay others."""
        raise NotImplementedError

    def end_nodes(self) -> None:
        """Kill all nodes; LabError if one does not end."""
        raise NotImplementedError

    # Common to all labs.

    def link(self, plan: Plan, name: str) -> LinkPorts:
        found = self._ways.get(name)
        if found is None:
            found = self._ways[name] = self.way(plan, plan.link(name))
            self.proxies.create(name, str(found.proxy), str(found.far))
            self.proxies.disable(name)
        return found

    def store(self, node: str) -> Store:
        """A node's store, or its machine's disk."""
        if node not in self._stores:
            self._stores[node] = self.stores.create(node)
        return self._stores[node]

    def control(self, node: str) -> Control:
        if node not in self._controls:
            self._controls[node] = Control(self.control_path(node))
        return self._controls[node]

    def control_path(self, node: str) -> Path:
        return self.folder / CONTROLS / node

    def clean(self) -> None:
        """After a trial: empty the stores; reset the proxies and disconnect them."""
        for store in self._stores.values():
            store.empty()
        for control in self._controls.values():
            control.clear()
        for name in self._ways:
            self.proxies.clear(name)
            self.proxies.disable(name)
        for old in self.folder.glob("trial-*"):
            shutil.rmtree(old)

    def close(self) -> None:
        """Release everything; each lab adds its own resources."""
        self.proxies.close()
        if not self.loop.is_running():
            self.loop.close()
        for control in self._controls.values():
            control.close()
