"""Taps: bytes pass unchanged through both and the proxy between, and what they tell of is what passed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import pytest
from real_brokers import free_port

from pairproof.chaos.labs.real.addresses import Address, LinkPorts
from pairproof.chaos.labs.real.taps import Door, StraightDoor, Tap
from pairproof.chaos.labs.real.wires import CLIENTS, Forwarder
from pairproof.chaos.rocketmq.ha_events import MASTERS, SLAVES

FRAME = (7).to_bytes(8, "big") + (3).to_bytes(4, "big") + b"abc"
REPORT = (10).to_bytes(8, "big")


class Heard:
    """What taps tell."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, bytes | str]] = []

    def of(self, what: str, side: str) -> bytes:
        return b"".join(data for kind, where, data in self.told if (kind, where) == (what, side) and data)  # type: ignore[misc]

    def ends(self) -> dict[str, str]:
        return {side: str(how) for kind, side, how in self.told if kind == "closed"}


class Telling(Forwarder):
    """Tells what it forwards."""

    def __init__(self, heard: Heard) -> None:
        super().__init__()
        self._told = heard.told

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        self._told.append(("reports", SLAVES, data))

    def server_receives(self, data: bytes) -> None:
        super().server_receives(data)
        self._told.append(("reports", MASTERS, data))

    def server_sent(self, data: bytes) -> None:
        super().server_sent(data)
        self._told.append(("frames", MASTERS, data))

    def client_receives(self, data: bytes) -> None:
        super().client_receives(data)
        self._told.append(("frames", SLAVES, data))

    def closed(self, side: str, how: str) -> None:
        if self.open[side]:
            super().closed(side, how)
            self._told.append(("closed", SLAVES if side == CLIENTS else MASTERS, how))


class Peer(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Play:
    """A tapped link: a proxy of the test's own, which may hold bytes back, and a server."""

    def __init__(self) -> None:
        self.heard = Heard()
        self.held = False
        self.servers: list[asyncio.AbstractServer] = []
        self.masters: asyncio.Queue[Peer] = asyncio.Queue()
        self.server, *way = (Address("127.0.0.1", free_port()) for _ in range(4))
        self.tap = Tap(LinkPorts(*way), self.server, self.forwarder)
        self.writers: list[asyncio.StreamWriter] = []

    def forwarder(self) -> Forwarder:
        return Telling(self.heard)

    async def start(self) -> None:
        self.servers.append(await asyncio.start_server(self._serve, *self.server))
        self.servers.append(await asyncio.start_server(self._proxy, *self.tap.way.proxy))
        await self.tap.start()
        await self.tap.open()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        await self.masters.put(Peer(reader, writer))

    async def _proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        onward_reader, onward = await asyncio.open_connection(*self.tap.way.far)
        self.writers.append(onward)
        await asyncio.gather(self._pump(reader, onward), self._pump(onward_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(4096):
                while self.held:
                    await asyncio.sleep(0.005)
                writer.write(data)
                await writer.drain()
            writer.close()

    async def pair(self) -> tuple[Peer, Peer]:
        """A slave's connection, and the master's end of it."""
        stood = self.tap.connections
        slave = Peer(*await asyncio.open_connection(*self.tap.address))
        self.writers.append(slave.writer)
        async with asyncio.timeout(5):
            master = await self.masters.get()
            await until(lambda: self.tap.connections > stood)
            return slave, master

    async def stop(self) -> None:
        self.tap.stop()
        for writer in self.writers:
            writer.close()
        for server in self.servers:
            server.close()
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def play() -> AsyncIterator[Play]:
    found = Play()
    await found.start()
    try:
        yield found
    finally:
        await found.stop()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.005)


def test_bytes_pass_unchanged_and_are_told_at_both_ends() -> None:
    async def scene() -> None:
        async with play() as link:
            slave, master = await link.pair()
            slave.writer.write(REPORT)
            assert await master.reader.readexactly(8) == REPORT
            for piece in (FRAME[:5], FRAME[5:]):
                master.writer.write(piece)
                await asyncio.sleep(0.01)
            assert await slave.reader.readexactly(len(FRAME)) == FRAME
            heard = link.heard
            assert heard.of("reports", SLAVES) == heard.of("reports", MASTERS) == REPORT
            assert heard.of("frames", MASTERS) == heard.of("frames", SLAVES) == FRAME
            assert link.tap.moved("down") == (len(FRAME), len(FRAME))

    asyncio.run(scene())


def test_what_the_proxy_holds_is_the_difference() -> None:
    async def scene() -> None:
        async with play() as link:
            slave, master = await link.pair()
            link.held = True
            master.writer.write(FRAME)
            await until(lambda: link.tap.moved("down")[0] == len(FRAME))
            assert link.tap.moved("down") == (len(FRAME), 0)
            assert not link.heard.of("frames", SLAVES)
            link.held = False
            assert await slave.reader.readexactly(len(FRAME)) == FRAME
            assert link.tap.moved("down") == (len(FRAME), len(FRAME))

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("who", "ends"), [("slave", {"s": "local", "m": "peer"}), ("master", {"m": "local", "s": "peer"})]
)
def test_who_closes_is_told(who: str, ends: dict[str, str]) -> None:
    async def scene() -> None:
        async with play() as link:
            slave, master = await link.pair()
            (slave if who == "slave" else master).writer.close()
            await until(lambda: len(link.heard.ends()) == 2)
            assert link.heard.ends() == ends
            assert await (master if who == "slave" else slave).reader.read() == b""

    asyncio.run(scene())


def test_a_reset_reaches_both_ends_at_once() -> None:
    async def scene() -> None:
        async with play() as link:
            slave, master = await link.pair()
            assert link.tap.reset() == {"connections_closed": 1, "bytes_lost": 0}
            for peer in (slave, master):
                with pytest.raises(ConnectionResetError):
                    await peer.reader.readexactly(1)
            assert link.heard.ends() == {"s": "reset", "m": "reset"}
            assert link.tap.reset() == {"connections_closed": 0, "bytes_lost": 0}

    asyncio.run(scene())


def test_connections_at_one_time_do_not_mix() -> None:
    async def scene() -> None:
        async with play() as link:
            pairs = await asyncio.gather(*(link.pair() for _ in range(8)))
            slaves = [slave for slave, _ in pairs]
            for number, slave in enumerate(slaves):
                slave.writer.write(number.to_bytes(8, "big"))
            said = {await master.reader.readexactly(8): master for _, master in pairs}
            for number, slave in enumerate(slaves):
                word = number.to_bytes(8, "big")
                said[word].writer.write(word)
                assert await slave.reader.readexactly(8) == word

    asyncio.run(scene())


def test_a_shut_link_refuses_and_a_dead_server_hangs_up() -> None:
    async def scene() -> None:
        async with play() as link:
            link.tap.shut()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(*link.tap.address)
            await link.tap.open()
            link.servers[0].close()
            reader, writer = await asyncio.open_connection(*link.tap.address)
            link.writers.append(writer)
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            assert not link.heard.ends()

    asyncio.run(scene())


def test_a_side_that_takes_nothing_holds_the_other_back() -> None:
    async def scene() -> None:
        async with play() as link:
            slave, master = await link.pair()
            # The link's buffers are full before this much has left the master.
            total = 128 * 1024 * 1024
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < total:
                    master.writer.write(bytes(65_536))
                    sent += 65_536
                    async with asyncio.timeout(0.5):
                        await master.writer.drain()
            assert sent < total
            slave.writer.close()

    asyncio.run(scene())


def test_a_stranger_is_seen_at_both_ends() -> None:
    async def scene() -> None:
        async with play() as link:
            door: Door = StraightDoor(Address("127.0.0.1", free_port()), link.server, lambda: Telling(link.heard))
            await door.open()
            reader, writer = await asyncio.open_connection(*door.address)
            writer.write(REPORT)
            master = await link.masters.get()
            assert await master.reader.readexactly(8) == REPORT
            assert link.heard.of("reports", SLAVES) == link.heard.of("reports", MASTERS) == REPORT
            writer.close()
            await until(lambda: len(link.heard.ends()) == 2)
            door.stop()
            assert await reader.read() == b""

    asyncio.run(scene())
