"""What one process lab after another stands on: keeper, toxiproxy, ports, proxies and stores, made once and used again.

A trial borrows the bench and gives it back clean. A bench that failed is not used again.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pairproof.chaos.labs.process.control import Control
from pairproof.chaos.labs.process.keeper import Keeper
from pairproof.chaos.labs.process.leases import Leases
from pairproof.chaos.labs.process.stores import Store, Stores
from pairproof.chaos.toxiproxy import server
from pairproof.chaos.toxiproxy.install import TOOL
from pairproof.chaos.toxiproxy.proxies import Proxies
from pairproof.harness import places
from pairproof.harness.errors import LabError

HOST = "127.0.0.1"
READY_S = 15.0
KILLED_S = 10.0
FAST_BELOW = 2
"""How far a broker's fast port is below its main one."""
HA_ABOVE = 1


class LinkPorts(NamedTuple):
    """Where a link's client connects (a tap), where its proxy listens, and where that leads (the other tap)."""

    near: int
    proxy: int
    far: int


class Bench:
    """LabError if it cannot be set up; nothing stays then."""

    def __init__(self) -> None:
        binary = TOOL.find()
        self.keeper = Keeper()
        try:
            self.folder = self.keeper.folder
            self.leases = Leases()
            port = self.leases.take()[0]
            self.toxiproxy = self.keeper.exec(server.command(binary, port), self.folder / "toxiproxy.log")
            server.wait_ready(port, READY_S, lambda: not self.keeper.status(self.toxiproxy).over)
            self.proxies = Proxies(port)
            self.stores = Stores(self.folder)
            self.loop = asyncio.new_event_loop()
        except BaseException:
            self.keeper.close()
            raise
        self.trials = 0
        self.is_broken = False
        """Whether a trial left it in a state that the next one cannot use."""
        self._links: dict[str, LinkPorts] = {}
        self._brokers: dict[str, int] = {}
        self._askers: dict[str, int] = {}
        self._stores: dict[str, Store] = {}
        self._controls: dict[str, Control] = {}

    def link(self, name: str) -> LinkPorts:
        """A link's ports, the same in every trial, and its proxy."""
        found = self._links.get(name)
        if found is None:
            proxy, far = self.leases.take(2)
            found = self._links[name] = LinkPorts(self._near(name), proxy, far)
            self.proxies.create(name, f"{HOST}:{proxy}", f"{HOST}:{far}")
            self.proxies.disable(name)
        return found

    def _near(self, name: str) -> int:
        """A slave looks for its master's fast port below the main one: so the two links' ports belong together."""
        if name in places.FAST_LINKS:
            return self.link(places.META_LINKS[places.FAST_LINKS.index(name)]).near - FAST_BELOW
        neighbours = (-FAST_BELOW,) if name in places.META_LINKS else ()
        return self.leases.take(1, neighbours)[0]

    def broker(self, node: str) -> int:
        """A broker's main port; the fast port is below it, the HA port above."""
        if node not in self._brokers:
            self._brokers[node] = self.leases.take(1, (-FAST_BELOW, HA_ABOVE))[0]
        return self._brokers[node]

    def asker(self, name: str) -> int:
        """The name server's port for one asker."""
        if name not in self._askers:
            self._askers[name] = self.leases.take()[0]
        return self._askers[name]

    def store(self, node: str) -> Store:
        """A broker's store, or its machine's disk."""
        if node not in self._stores:
            self._stores[node] = self.stores.create(node)
        return self._stores[node]

    def control(self, node: str) -> Control:
        """The numbers that a node's disk and clock obey."""
        if node not in self._controls:
            self._controls[node] = Control(self.control_path(node))
        return self._controls[node]

    def control_path(self, node: str) -> Path:
        """Where they are."""
        return self.folder / f"{node}.control"

    def check(self) -> None:
        """LabError if toxiproxy has ended, or stands still."""
        found = self.keeper.status(self.toxiproxy)
        if found.state != "running":
            raise LabError(f"toxiproxy-server runs no more ({found.state} {found.number}); play the trial again")

    def end_nodes(self) -> None:
        """Kill all processes but toxiproxy; LabError if one does not end."""
        alive = [pid for pid, found in self.keeper.statuses().items() if pid != self.toxiproxy and not found.over]
        self.kill({pid: f"process {pid}" for pid in alive})

    def kill(self, pids: Mapping[int, str]) -> None:
        """kill -9 processes, given with their names, until they are gone; LabError if one does not end."""
        for pid in pids:
            self.keeper.signal(pid, signal.SIGKILL)
        for pid, name in pids.items():
            if not self.keeper.wait(pid, KILLED_S).over:
                raise LabError(f"{name} outlived kill -9 for {KILLED_S:g} s: its disk does not answer")

    def clean(self) -> None:
        """After a trial: empty stores, healthy proxies that lead nowhere."""
        for store in self._stores.values():
            store.empty()
        for control in self._controls.values():
            control.clear()
        for name in self._links:
            self.proxies.clear(name)
            self.proxies.disable(name)
        for old in self.folder.glob("trial-*"):
            shutil.rmtree(old)

    def close(self) -> None:
        """Nothing stays."""
        try:
            self.proxies.close()
            if not self.loop.is_running():
                self.loop.close()
            for control in self._controls.values():
                control.close()
            self.leases.close()
        finally:
            self.keeper.close()
