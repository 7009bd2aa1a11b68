"""What one trial after another stands on: toxiproxy, addresses, proxies and stores, made once and used again.

A trial borrows the bench and gives it back clean. A bench that failed is not used again. Each lab has its own, which
says where things listen and what nodes and taps run in.
"""

from __future__ import annotations

import asyncio
import shutil
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
    """What is the same in every lab; ``folder`` is the lab's."""

    label = "ha"
    """Of HA connections that taps of this process let through."""
    anywhere = False
    """Whether its addresses are others than loopback's; where not, nodes and clients connect to loopback only."""

    def __init__(self, folder: Path, proxies: Proxies, stores: Stores) -> None:
        self.folder = folder
        self.proxies = proxies
        self.stores = stores
        self.loop = asyncio.new_event_loop()
        self.trials = 0
        self.is_broken = False
        """Whether a trial left it in a state that the next one cannot use."""
        self._ways: dict[str, LinkPorts] = {}
        self._stores: dict[str, Store] = {}
        self._controls: dict[str, Control] = {}
        (folder / CONTROLS).mkdir()

    # What a lab says.

    def way(self, plan: Plan, link: LinkPlan) -> LinkPorts:
        """Where a link's parts listen, the same in every trial."""
        raise NotImplementedError

    def address(self, node: NodePlan) -> Address:
        """A node's main port; the others are free, too."""
        raise NotImplementedError

    def own(self, name: str) -> Address:
        """Where this process can listen, and nodes can reach it."""
        raise NotImplementedError

    def node(self, folder: Path, plan: NodePlan, net: Net) -> RealNode:
        """A node of a trial that has this folder, not started."""
        raise NotImplementedError

    def tap(self, link: LinkPlan, way: LinkPorts, to: Address, evidence: Evidence) -> LinkTap:
        raise NotImplementedError

    def begin(self, plan: Plan, evidence: Evidence) -> None:
        """A trial begins."""

    def drain(self) -> None:
        """Once this returns all taps have heard what was sent before, if this process's own loop has turned."""

    def check(self) -> None:
        """LabError if something of the lab has ended, or stands still."""
        raise NotImplementedError

    def helpers(self) -> list[Watched]:
        """The lab's own processes but this one: who is late there makes others late."""
        raise NotImplementedError

    def end_nodes(self) -> None:
        """Kill all nodes; LabError if one does not end."""
        raise NotImplementedError

    # The same everywhere.

    def link(self, plan: Plan, name: str) -> LinkPorts:
        """A link's way, and its proxy, which does not listen yet."""
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
        """The numbers that a node's disk and clock obey."""
        if node not in self._controls:
            self._controls[node] = Control(self.control_path(node))
        return self._controls[node]

    def control_path(self, node: str) -> Path:
        return self.folder / CONTROLS / node

    def clean(self) -> None:
        """After a trial: empty stores, healthy proxies that lead nowhere."""
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
        """Nothing stays; each lab adds its own."""
        self.proxies.close()
        if not self.loop.is_running():
            self.loop.close()
        for control in self._controls.values():
            control.close()
