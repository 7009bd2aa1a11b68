"""The two stages for :mod:`toxic_plays`: the simulated network, and sockets through a real toxiproxy-server."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from random import Random
from typing import Any

from talkers import Talker
from toxic_plays import FIN, REFUSED, RST, Heard
from toxiproxies import destroy

from pairproof.chaos.labs.sim.host import Host, Observer
from pairproof.chaos.labs.sim.kernel import Kernel
from pairproof.chaos.labs.sim.network import End, Link, Network
from pairproof.chaos.labs.sim.toxics import Toxic
from pairproof.chaos.toxiproxy.proxies import HOST, Proxies
from pairproof.harness.history import MS

RESET = struct.pack("ii", 1, 0)
BUFFER = 1 << 20
SETTLE_MS = 5
PATIENCE_S = 20


class SimContext(Observer):
    """Two simulated machines and one link."""

    def __init__(self) -> None:
        self.heard: dict[tuple[int, str], Heard] = {}
        self.kernel = Kernel()
        self.network = Network(self.kernel, BUFFER)
        self.hosts = {n: Host(n, self.kernel, self.network, self, MS, self.network.links) for n in ("server", "client")}
        self.link = self.network.links["way"] = Link("way", self.hosts["server"], "main", MS)
        for host in self.hosts.values():
            host.start(lambda host=host: Listening(host, self))  # type: ignore[misc]
        self.ends: dict[tuple[int, str], End] = {}
        self.heard_by: dict[End, Heard] = {}
        self.toxics: dict[str, Toxic] = {}
        self.cuts: list[Any] = []
        self.began: int | None = None
        self.connections = 0

    def ms(self) -> float:
        return 0 if self.began is None else (self.kernel.now - self.began) / MS

    async def connect(self) -> None:
        self.connections += 1
        self.hosts["client"].connect("way")
        self.kernel.run_until(self.kernel.now + SETTLE_MS * MS)

    def joined(self, client: End) -> None:
        """The newest connection stands."""
        number = self.connections - 1
        for end in (client, client.peer):
            self.ends[number, end.host.name] = end
            self.heard_by[end] = self.heard[number, end.host.name] = Heard()

    def refused(self) -> None:
        """It does not."""
        self.heard[self.connections - 1, "client"] = Heard()
        self.heard[self.connections - 1, "client"].end = (self.ms(), REFUSED)

    async def send(self, number: int, end: str, data: bytes) -> None:
        assert self.hosts[end].send(self.ends[number, end], data) == len(data)

    async def close(self, number: int, end: str) -> None:
        self.hosts[end].close(self.ends[number, end])

    async def add(self, key: str, direction: str, kind: str, attributes: Mapping[str, int]) -> None:
        self.toxics[key] = self.network.add_toxic(self.link, direction, kind, attributes, Random("dice"))

    async def remove(self, key: str) -> None:
        self.network.remove_toxic(self.link, self.toxics.pop(key))

    async def disable(self) -> None:
        self.cuts.append(self.network.cut(self.link))

    async def enable(self) -> None:
        self.link.cuts.remove(self.cuts.pop())

    async def die(self) -> None:
        self.hosts["server"].kill()

    async def until(self, ms: float) -> None:
        if self.began is None:
            self.began = self.kernel.now
        self.kernel.run_until(self.began + int(ms * MS))

    def closed(self, end: End, how: str) -> None:
        if how != "local":
            self.heard_by[end].end = (self.ms(), RST if how == "reset" else FIN)


class Listening(Talker):
    """A node that tells the stage what it hears."""

    def __init__(self, host: Host, stage: SimContext) -> None:
        super().__init__(host)
        self.stage = stage

    def on_connected(self, address: str, conn: End) -> None:
        self.stage.joined(conn)

    def on_connect_failed(self, address: str) -> None:
        self.stage.refused()

    def on_bytes(self, conn: End, data: bytes) -> None:
        self.stage.heard_by[conn].pieces.append((self.stage.ms(), data))


class RealContext:
    """A proxy of a running server, a server behind it and clients before it, all in this event loop."""

    def __init__(self, proxies: Proxies, name: str) -> None:
        self.heard: dict[tuple[int, str], Heard] = {}
        self.proxies = proxies
        self.name = name
        self.ends: dict[tuple[int, str], Socket] = {}
        self.toxics: dict[str, str] = {}
        self.accepted: asyncio.Queue[Socket] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()
        self.alive = True
        self.began: float | None = None
        self.connections = 0

    async def __aenter__(self) -> RealContext:
        self.server = await self.loop.create_server(lambda: Socket(self, self.accepted), HOST, 0)
        behind = self.server.sockets[0].getsockname()[1]
        made = await asyncio.to_thread(self.proxies.create, self.name, f"{HOST}:0", f"{HOST}:{behind}")
        self.port = int(made.listen.rpartition(":")[2])
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self.ends.values():
            each.closing = True
            each.transport.abort()
        self.server.close()
        await asyncio.to_thread(destroy, self.proxies, self.name)

    def ms(self) -> float:
        return 0 if self.began is None else (self.loop.time() - self.began) * 1_000

    async def connect(self) -> None:
        number = self.connections
        self.connections += 1
        client = self.heard[number, "client"] = Heard()
        try:
            _, near = await self.loop.create_connection(lambda: Socket(self, None, client), HOST, self.port)
        except ConnectionRefusedError:
            client.end = (self.ms(), REFUSED)
            return
        self.ends[number, "client"] = near
        if not self.alive:
            return
        far = await asyncio.wait_for(self.accepted.get(), PATIENCE_S)
        self.heard[number, "server"] = far.heard
        self.ends[number, "server"] = far

    async def send(self, number: int, end: str, data: bytes) -> None:
        self.ends[number, end].transport.write(data)

    async def close(self, number: int, end: str) -> None:
        self.ends[number, end].closing = True
        self.ends[number, end].transport.close()

    async def add(self, key: str, direction: str, kind: str, attributes: Mapping[str, int]) -> None:
        self.toxics[key] = await asyncio.to_thread(self.proxies.add_toxic, self.name, direction, kind, attributes)

    async def remove(self, key: str) -> None:
        await asyncio.to_thread(self.proxies.remove_toxic, self.name, self.toxics.pop(key))

    async def disable(self) -> None:
        await asyncio.to_thread(self.proxies.disable, self.name)

    async def enable(self) -> None:
        await asyncio.to_thread(self.proxies.enable, self.name)

    async def die(self) -> None:
        self.server.close()
        self.alive = False
        for (_, name), each in self.ends.items():
            if name == "server":
                each.closing = True
                # The kernel ends what a dead process left unread with RST.
                each.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                each.transport.abort()

    async def until(self, ms: float) -> None:
        if self.began is None:
            self.began = self.loop.time()
        await asyncio.sleep(ms / 1_000 - (self.loop.time() - self.began))


class Socket(asyncio.Protocol):
    """One end, which remembers what it hears."""

    transport: asyncio.Transport

    def __init__(self, stage: RealContext, accepted: asyncio.Queue[Socket] | None, heard: Heard | None = None) -> None:
        self.stage = stage
        self.accepted = accepted
        self.heard = heard or Heard()
        self.closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self.accepted is not None:
            self.accepted.put_nowait(self)

    def data_received(self, data: bytes) -> None:
        self.heard.pieces.append((self.stage.ms(), data))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.closing:
            self.heard.end = (self.stage.ms(), RST if isinstance(error, ConnectionResetError) else FIN)
