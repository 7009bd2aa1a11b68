"""The process lab's bench: keeper and toxiproxy as processes, ports of loopback, taps in this process."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pairproof.chaos.labs.process.java import JavaProcess
from pairproof.chaos.labs.process.nodes import NodeProcess, kill
from pairproof.chaos.labs.real.addresses import FAST_BELOW, HA_ABOVE, Address, Way
from pairproof.chaos.labs.real.bench import Bench
from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.keeper import Keeper
from pairproof.chaos.labs.real.leases import HOST, Leases
from pairproof.chaos.labs.real.links import LinkTap
from pairproof.chaos.labs.real.nodes import RealNode
from pairproof.chaos.labs.real.stalls import Watched, helper
from pairproof.chaos.labs.real.stores import Stores
from pairproof.chaos.labs.real.taps import Tap
from pairproof.chaos.labs.real.wires import Passage
from pairproof.chaos.rocketmq.ha_passage import HaPassage
from pairproof.chaos.rocketmq.install import JARS
from pairproof.chaos.targets.rocketmq import AnyTarget
from pairproof.chaos.toxiproxy import server
from pairproof.chaos.toxiproxy.install import TOOL
from pairproof.chaos.toxiproxy.proxies import Proxies
from pairproof.harness.errors import LabError
from pairproof.harness.rocketmq import places
from pairproof.reference.core.config import BrokerConfig

READY_S = 15.0
STANDS_S = 10.0
"""How long toxiproxy may stand still; shorter than its calls may take."""


class ProcessBench(Bench):
    """LabError if it cannot be set up; nothing stays then."""

    def __init__(self) -> None:
        binary = TOOL.find()
        self.keeper = Keeper()
        try:
            folder = self.keeper.folder
            self.leases = Leases()
            port = self.leases.take()[0]
            self.toxiproxy = self.keeper.exec(server.command(binary, port), folder / "toxiproxy.log")
            server.wait_ready(port, READY_S, lambda: not self.keeper.status(self.toxiproxy).over)
            super().__init__(folder, Proxies(port), Stores(folder))
        except BaseException:
            self.keeper.close()
            raise
        self._ports: dict[str, int] = {}
        self._runs_at = time.monotonic()
        """When toxiproxy was last seen not to stand still."""

    def way(self, name: str) -> Way:
        """Where a link's parts listen."""
        proxy, far = self.leases.take(2)
        return Way(*(Address(HOST, port) for port in (self._near(name), proxy, far)))

    def _near(self, name: str) -> int:
        """A slave looks for its master's fast port below the main one: so the two links' ports belong together."""
        if name in places.FAST_LINKS:
            return self.link(places.META_LINKS[places.FAST_LINKS.index(name)]).near.fast.port
        neighbours = (-FAST_BELOW,) if name in places.META_LINKS else ()
        return self.leases.take(1, neighbours)[0]

    def broker(self, node: str) -> Address:
        """A broker's main port."""
        return self._port(f"broker {node}", (-FAST_BELOW, HA_ABOVE))

    def asker(self, name: str) -> Address:
        """The name server's port for one asker."""
        return self._port(f"asker {name}")

    def own(self, name: str) -> Address:
        return self._port(f"own {name}")

    def _port(self, name: str, neighbours: tuple[int, ...] = ()) -> Address:
        if name not in self._ports:
            self._ports[name] = self.leases.take(1, neighbours)[0]
        return Address(HOST, self._ports[name])

    def node(self, folder: Path, name: str, target: AnyTarget, config: BrokerConfig | None) -> RealNode:
        """A node that the keeper will fork, or a JVM that it will start."""
        program = target.runs(name)
        if program in JARS:
            return JavaProcess(self.keeper, self, folder, name, target.name, config, program)
        return NodeProcess(self.keeper, self, folder, name, program, config)

    def tap(self, name: str, client: str, to: Address, buffer: int | None, evidence: Evidence) -> LinkTap:
        make: Callable[[], Passage] = Passage
        if buffer is not None:
            make = lambda: HaPassage(client, evidence.ears)  # noqa: E731 - it has a type
        return Tap(self.link(name), to, make, buffer or 0)

    def check(self) -> None:
        """LabError if toxiproxy has ended, or stands still for good; if somebody has it pause, that is a stall."""
        found = self.keeper.status(self.toxiproxy)
        now = time.monotonic()
        if found.state != "stopped":
            self._runs_at = now
        if found.over or now - self._runs_at > STANDS_S:
            raise LabError(f"toxiproxy-server no longer runs ({found.state} {found.number}); play the trial again")

    def helpers(self) -> list[Watched]:
        """Keeper and toxiproxy; the taps are in this process."""
        return [helper("keeper", self.keeper.pid), helper("proxy", self.toxiproxy)]

    def end_nodes(self) -> None:
        """Kill all processes but toxiproxy; LabError if one does not end."""
        alive = [pid for pid, found in self.keeper.statuses().items() if pid != self.toxiproxy and not found.over]
        kill(self.keeper, {pid: f"process {pid}" for pid in alive})

    def close(self) -> None:
        try:
            super().close()
            self.leases.close()
        finally:
            self.keeper.close()
