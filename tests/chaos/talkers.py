"""Two machines and one link between them, each with a node that remembers what it heard and how connections ended."""

from __future__ import annotations

from random import Random
from typing import Any

from pairproof.chaos.labs.sim.host import Host, Observer
from pairproof.chaos.labs.sim.kernel import Kernel
from pairproof.chaos.labs.sim.network import End, Link, Network
from pairproof.chaos.labs.sim.toxics import Toxic
from pairproof.harness.history import MS
from pairproof.reference.ports import Node


class Endings(Observer):
    """Remembers how each end heard that its connection ended."""

    def __init__(self) -> None:
        self.how: dict[str, list[str]] = {"server": [], "client": []}

    def closed(self, end: End, how: str) -> None:
        self.how[end.host.name].append(how)


class Talker(Node):
    """A node that remembers what it heard."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.heard = b""
        self.pieces: list[bytes] = []
        self.times: list[int] = []
        self.conns: list[End] = []
        self.closed = 0
        self.failed = 0
        self.writable = 0

    def on_start(self) -> None: ...
    def on_stop(self) -> None: ...
    def on_timer(self, key: Any) -> None: ...
    def on_flushed(self, token: Any) -> None: ...

    def on_accepted(self, conn: End, port: str) -> None:
        self.conns.append(conn)

    def on_connected(self, address: str, conn: End) -> None:
        self.conns.append(conn)

    def on_connect_failed(self, address: str) -> None:
        self.failed += 1

    def on_bytes(self, conn: End, data: bytes) -> None:
        self.heard += data
        self.pieces.append(data)
        self.times.append(self.host.kernel.now)

    def on_writable(self, conn: End) -> None:
        self.writable += 1

    def on_closed(self, conn: End) -> None:
        self.closed += 1


class World:
    def __init__(self, buffer: int = 1_000, gather: int | None = None) -> None:
        self.kernel = Kernel()
        self.network = Network(self.kernel, buffer, gather)
        names = ("server", "client")
        self.endings = Endings()
        ways = self.network.links
        self.hosts = {name: Host(name, self.kernel, self.network, self.endings, MS, ways) for name in names}
        self.link = self.network.links["way"] = Link("way", self.hosts["server"], "main", MS)
        self.nodes = {name: Talker(host) for name, host in self.hosts.items()}
        for name, host in self.hosts.items():
            host.start(lambda name=name: self.nodes[name])  # type: ignore[misc]
        self.connect()

    def connect(self) -> None:
        self.hosts["client"].connect("way")
        self.run(5)

    def run(self, ms: int) -> None:
        self.kernel.run_until(self.kernel.now + ms * MS)

    def say(self, data: bytes) -> int:
        return self.hosts["client"].send(self.nodes["client"].conns[-1], data)

    def add(self, direction: str, toxic: str, **attributes: int) -> Toxic:
        return self.network.add_toxic(self.link, direction, toxic, attributes, Random("dice"))

    def remove(self, toxic: Toxic) -> None:
        self.network.remove_toxic(self.link, toxic)

    def answer(self, data: bytes) -> int:
        return self.hosts["server"].send(self.server.conns[-1], data)

    def hang_up(self, name: str = "client") -> None:
        self.hosts[name].close(self.nodes[name].conns[-1])

    def arrivals(self, since: int) -> list[float]:
        """When the server heard something, ms after ``since``; the wire itself takes 1 ms."""
        return [(at - since) / MS for at in self.server.times]

    @property
    def server(self) -> Talker:
        return self.nodes["server"]

    @property
    def client(self) -> Talker:
        return self.nodes["client"]
