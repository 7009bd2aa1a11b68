"""The docker lab's environment: its own network with toxiproxy, an observer with all taps, and a container per node.

Addresses are fixed: toxiproxy, the observer and each node have one each, and every link has its own ports on the first
two. No port is published; clients, which run in the harness, connect to the observer's taps as slaves do. Stores are
the process lab's, on this machine, and bound into their node's container at each start. The observer sees all of them,
read-only, including later mounts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ....harness.errors import LabError, UsageError
from ...plan import OTHER, OWN, Address, Image, LinkPlan, Net, NodePlan, Plan
from ...toxiproxy import server
from ...toxiproxy.proxies import Proxies
from ..real.addresses import LinkPorts
from ..real.environment import Environment
from ..real.evidence import OBSERVER, Evidence
from ..real.last_words import last_words
from ..real.leases import Leases
from ..real.links import LinkTap
from ..real.nodes import RealNode
from ..real.stalls import Watched, helper
from ..real.stores import Stores
from ..real.supervisor import Supervisor
from ..real.trace import TraceReader
from .containers import Bind, Container
from .engine import POOLS, Engine
from .images import is_here, made_image, node_image, toxiproxy_image
from .nodes import NodeContainer
from .watching import WatchedTap, Watching

READY_S = 30.0
TOXIPROXY = "toxiproxy"
HOSTS = {TOXIPROXY: 2, OBSERVER: 3}
"""The last octet of each address; the first address is this machine's."""
NODES = 10
"""The first node's last octet."""
API_PORT = 8474
OBSERVER_PORT = 8500
NODE_PORT = 10_911
NEAR, PROXY, FAR = 20_000, 21_000, 22_000
APART = 10
"""Distance between the ports of two links."""
OBSERVER_ENTRY = ("python3", "-m", "pairproof.chaos.labs.docker.observer")
MEMORY_MB = 256
LEAVE = (sys.executable, "-m", "pairproof.chaos.labs.docker.lab")


class DockerEnvironment(Environment):
    """LabError if it cannot be set up; then nothing is left behind."""

    label = "guest"
    anywhere = True

    def __init__(self) -> None:
        self.engine = Engine()
        self._built: dict[tuple[str, tuple[str, ...]], str] = {(OWN, ()): node_image(self.engine)}
        image = toxiproxy_image(self.engine)
        self.supervisor = Supervisor(LEAVE)
        self._helpers: dict[str, Container] = {}
        self._nodes: list[NodeContainer] = []
        self._hosts = dict(HOSTS)
        self._own: dict[str, int] = {}
        try:
            folder = self.supervisor.folder
            self.leases = Leases()
            self.network = self.engine.network(folder)
            stores = Stores(folder)
            seen = folder / OBSERVER
            seen.mkdir()
            self._start_toxiproxy(image)
            self._start_observer(seen, stores)
            super().__init__(folder, self._proxies(), stores)
            address = Address(self.host(OBSERVER), OBSERVER_PORT)
            self.watching = Watching(address, READY_S, lambda: self._helpers[OBSERVER].state().running)
            self._check_network()
        except BaseException:
            self._end()
            raise

    def _start_toxiproxy(self, image: str) -> None:
        host = self.host(TOXIPROXY)
        command = ["-host", host, "-port", str(API_PORT), "-proxy-metrics"]
        self._help(TOXIPROXY, self.container(TOXIPROXY, image, command, host, [], MEMORY_MB))

    def _start_observer(self, seen: Path, stores: Stores) -> None:
        host = self.host(OBSERVER)
        view = Bind(stores.folder, read_only=True, propagation="rslave" if stores.share() else "rprivate")
        command = [host, str(OBSERVER_PORT)]
        binds = [Bind(seen), view]
        self._help(
            OBSERVER, self.container(OBSERVER, self._built[OWN, ()], command, host, binds, MEMORY_MB, OBSERVER_ENTRY)
        )

    def _help(self, name: str, container: Container) -> None:
        self._helpers[name] = container
        container.start()

    def _proxies(self) -> Proxies:
        host = self.host(TOXIPROXY)
        try:
            server.wait_ready(API_PORT, READY_S, lambda: self._helpers[TOXIPROXY].state().running, host)
        except LabError as why:
            raise LabError(f"{why}; {_last(self._helpers[TOXIPROXY])}") from None
        return Proxies(API_PORT, host=host)

    def _check_network(self) -> None:
        """LabError if containers cannot reach each other, though this process reaches them."""
        try:
            self.watching.ask("reach", host=self.host(TOXIPROXY), port=API_PORT)
        except LabError as why:
            if not self._helpers[OBSERVER].state().running:
                raise LabError(f"{why}; {_last(self._helpers[OBSERVER])}") from None
            raise LabError(
                f"containers on a network of the lab do not reach each other: a firewall drops what they send, as with "
                f"dockerd --iptables=false; accept what is forwarded within {' and '.join(POOLS)} ({why})"
            ) from None

    def container(
        self, name: str, image: str, command: Sequence[str], address: str, binds: Sequence[Bind], memory_mb: int,
        entrypoint: Sequence[str] | None = None,
    ) -> Container:  # fmt: skip
        return self.engine.container(
            self.supervisor.folder, name, image, command, network=self.network, address=address, binds=binds,
            user=f"{os.getuid()}:{os.getgid()}", memory_mb=memory_mb, entrypoint=entrypoint,
        )  # fmt: skip

    # Addresses.

    def host(self, name: str) -> str:
        if name not in self._hosts:
            self._hosts[name] = NODES + len(self._hosts) - len(HOSTS)
        return self.network.address(self._hosts[name])

    def way(self, plan: Plan, link: LinkPlan) -> LinkPorts:
        at = len(self._ways) * APART
        near = Address(self.host(OBSERVER), NEAR + at)
        if link.beside is not None:
            other, distance = link.beside
            near = self.link(plan, other).near.beside(distance)
        return LinkPorts(near, Address(self.host(TOXIPROXY), PROXY + at), Address(self.host(OBSERVER), FAR + at))

    def address(self, node: NodePlan) -> Address:
        return Address(self.host(node.name), NODE_PORT)

    def own(self, name: str) -> Address:
        if name not in self._own:
            self._own[name] = self.leases.take()[0]
        return Address(self.network.gateway, self._own[name])

    # A trial.

    def image(self, form: Image, name: str = OWN) -> str:
        """The full name of one of a node's images, which its target names or the lab makes.

        UsageError if it does not exist.
        """
        if name in form.named:
            name = form.named[name]
        elif name in (OWN, OTHER):
            key = name, form.packages
            if key not in self._built:
                self._built[key] = made_image(self.engine, form.packages, name)
            return self._built[key]
        if not is_here(self.engine, name):
            raise UsageError(f"there is no image {name!r} here, and the target has none of that name: pull or build it")
        return name

    def node(self, folder: Path, plan: NodePlan, net: Net) -> RealNode:
        node = NodeContainer(self, folder, plan, net)
        self._nodes.append(node)
        return node

    def tap(
        self, link: LinkPlan, way: LinkPorts, to: Address, replaced: Mapping[str, str], evidence: Evidence
    ) -> LinkTap:
        return WatchedTap(self.watching, link._replace(leads={}), way, to, replaced)

    def begin(self, plan: Plan, evidence: Evidence) -> None:
        """The observer writes a trace of this trial."""
        trace = self.folder / OBSERVER / f"{self.trials}.jsonl"
        self.watching.begin(trace, evidence.stores, plan)
        evidence.process_started(OBSERVER, 0, TraceReader(trace))

    def drain(self) -> None:
        self.watching.drain()

    def check(self) -> None:
        """LabError if toxiproxy or the observer has ended or is paused, or the supervisor has ended."""
        # Without a supervisor other labs consider this lab dead, and remove it.
        self.supervisor.statuses()
        for name, container in self._helpers.items():
            found = container.state()
            if not found.running or found.paused:
                how = "is paused" if found.paused else f"has ended, exit code {found.exit_code}, {_last(container)}"
                raise LabError(f"the lab's {name} {how}; play the trial again")
        self.watching.check()

    def pid(self, helper: str) -> int:
        return self._helpers[helper].pid

    def helpers(self) -> list[Watched]:
        pids = {"supervisor": self.supervisor.pid, "proxy": self.pid(TOXIPROXY), "tap": self.pid(OBSERVER)}
        return [helper(f, pid) for f, pid in pids.items()]

    def end_nodes(self) -> None:
        for node in self._nodes:
            node.remove()
        self._nodes.clear()

    def clean(self) -> None:
        super().clean()
        for trace in (self.folder / OBSERVER).iterdir():
            trace.unlink()

    def close(self) -> None:
        try:
            with suppress(LabError):
                self.watching.close()
            super().close()
            self.leases.close()
        finally:
            self._end()

    def _end(self) -> None:
        try:
            self.engine.remove_lab(self.supervisor.folder)
            self.supervisor.dismiss()
            self.engine.close()
        finally:
            # The supervisor tries to remove the rest.
            self.supervisor.close()


def _last(container: Container) -> str:
    output = last_words(container.logs())
    return f"last output: {output}" if output else "without output"
