"""The shell keeps the contract of the effects port: a node that writes down what it is told, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Hashable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from real_brokers import free_port, until

from pairproof.reference.errors import StoreError
from pairproof.reference.ports import Conn
from pairproof.reference.shell import sockets
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.shell import Limits, Shell
from pairproof.reference.shell.sockets import Connection

MS = 1_000_000


class Diary:
    """A node that does nothing but remember."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_start(self) -> None: ...

    def on_stop(self) -> None:
        self.told.append(("stop",))

    def on_accepted(self, conn: Conn, port: str) -> None:
        self.told.append(("accepted", conn, port))

    def on_connected(self, address: str, conn: Conn) -> None:
        self.told.append(("connected", address, conn))

    def on_connect_failed(self, address: str) -> None:
        self.told.append(("connect failed", address))

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self.told.append(("bytes", conn, data))

    def on_writable(self, conn: Conn) -> None:
        self.told.append(("writable", conn))

    def on_closed(self, conn: Conn) -> None:
        self.told.append(("closed", conn))

    def on_timer(self, key: Hashable) -> None:
        self.told.append(("timer", key))

    def on_flushed(self, token: Hashable) -> None:
        self.told.append(("flushed", token))

    def heard(self, what: str) -> list[Any]:
        return [each[1:] for each in self.told if each[0] == what]

    async def hears(self, what: str, times: int = 1) -> Any:
        """Wait until this was told so many times; what the last of them said."""
        await until(lambda: len(self.heard(what)) >= times)
        return self.heard(what)[-1]


class Scene:
    """A shell that listens as ``main``, ``fast`` and ``ha``, its diary, and peers that connect to it."""

    def __init__(self, shell: Shell, diary: Diary, ports: dict[str, int], stack: ExitStack) -> None:
        self.shell = shell
        self.diary = diary
        self.ports = ports
        self.stack = stack

    async def joined(self, port: str = "main") -> tuple[socket.socket, Connection]:
        """A peer, and the connection that the node got of it."""
        before = len(self.diary.heard("accepted"))
        peer = self.stack.enter_context(socket.create_connection(("127.0.0.1", self.ports[port])))
        conn, name = await self.diary.hears("accepted", before + 1)
        assert name == port
        peer.setblocking(False)
        return peer, conn


@contextlib.asynccontextmanager
async def scene(folder: Path, limits: Limits | None = None, disk: RealDisk | None = None) -> AsyncIterator[Scene]:
    shell, diary = Shell(disk or RealDisk(folder), Log(fd=-1), limits), Diary()
    with ExitStack() as stack:
        port = free_port()
        ports = {"main": port, "fast": port - 2, "ha": port + 1}
        listeners = sockets.listen("127.0.0.1", list(ports.values()), stack)
        stack.callback(shell.abandon)
        shell.start(diary)
        for listener, name in zip(listeners, ports, strict=True):
            shell.serve(listener, name)
        yield Scene(shell, diary, ports, stack)
        if shell.ended.done():
            shell.ended.result()


def fill(shell: Shell, conn: Connection) -> int:
    """Send until the socket takes no more; how many bytes it took."""
    total = 0
    while taken := shell.send(conn, b"x" * 65_536):
        total += taken
    return total


async def drain(peer: socket.socket, size: int) -> None:
    while size:
        size -= len(await asyncio.get_running_loop().sock_recv(peer, 1 << 20))


def test_a_timer_rings_once_and_the_newest_time_of_a_key_counts(tmp_path: Path) -> None:
    async def play() -> list[Any]:
        async with scene(tmp_path) as on:
            now = on.shell.now()
            on.shell.timer("moved", now)
            on.shell.timer("cancelled", now)
            on.shell.timer("past", now - 5 * MS)
            on.shell.timer("moved", now + 30 * MS)
            on.shell.timer("last", now + 60 * MS)
            on.shell.cancel("cancelled")
            on.shell.cancel("never there")
            await on.diary.hears("timer", 3)
            assert on.shell.now() >= now + 60 * MS
            return on.diary.heard("timer")

    assert asyncio.run(play()) == [("past",), ("moved",), ("last",)]


@pytest.mark.parametrize("port", ["main", "fast", "ha"])
def test_a_socket_that_is_full_takes_nothing_until_the_node_is_told(tmp_path: Path, port: str) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            peer, conn = await on.joined(port)
            total = fill(on.shell, conn)
            assert on.shell.send(conn, b"more") == 0
            assert on.diary.heard("writable") == []
            await drain(peer, total)
            assert await on.diary.hears("writable") == (conn,)
            assert on.shell.send(conn, b"more") == 4

    asyncio.run(play())


def test_a_client_that_takes_nothing_is_not_heard_but_a_replica_is(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            client, client_conn = await on.joined("main")
            replica, replica_conn = await on.joined("ha")
            unread = fill(on.shell, client_conn)
            fill(on.shell, replica_conn)
            client.send(b"request")
            replica.send(b"report")
            assert await on.diary.hears("bytes") == (replica_conn, b"report")
            await drain(client, unread)
            assert await on.diary.hears("bytes", 2) == (client_conn, b"request")

    asyncio.run(play())


def test_a_peer_s_close_is_told_once_and_one_s_own_is_not(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            peer, conn = await on.joined()
            other, other_conn = await on.joined()
            on.shell.close(other_conn)
            on.shell.close(other_conn)
            peer.close()
            assert await on.diary.hears("closed") == (conn,)
            assert on.shell.send(conn, b"too late") == 8
            assert await asyncio.get_running_loop().sock_recv(other, 1) == b""
            assert on.diary.heard("closed") == [(conn,)]
            assert not on.shell.connections

    asyncio.run(play())


def test_a_send_to_a_peer_that_reset_is_lost_and_the_close_is_told_later(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            peer, conn = await on.joined()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            peer.close()
            assert on.shell.send(conn, b"lost") == 4
            assert on.diary.heard("closed") == [], "not from within the node's own call"
            assert await on.diary.hears("closed") == (conn,)

    asyncio.run(play())


def test_a_connect_is_told_of_later_whether_it_stands_or_not(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            there, nowhere = f"127.0.0.1:{on.ports['main']}#1", f"127.0.0.1:{free_port()}"
            for address in (there, nowhere, "..:1"):
                on.shell.connect(address)
            assert on.diary.told == []
            await on.diary.hears("connect failed", 2)
            assert sorted(on.diary.heard("connect failed")) == [("..:1",), (nowhere,)]
            address, conn = await on.diary.hears("connected")
            assert address == there
            _, accepted = await on.diary.hears("accepted"), on.diary.heard("accepted")[0][0]
            on.shell.send(conn, b"hello")
            assert await on.diary.hears("bytes") == (accepted, b"hello")

    asyncio.run(play())


@pytest.mark.parametrize("address", ["", "host", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:65536", "127.0.0.1:-1"])
def test_an_address_that_is_none_is_one_that_nobody_takes(tmp_path: Path, address: str) -> None:
    async def play() -> None:
        async with scene(tmp_path) as on:
            on.shell.connect(address)
            assert await on.diary.hears("connect failed") == (address,)

    asyncio.run(play())


def test_that_an_address_cannot_be_reached_is_said_once_until_it_can(tmp_path: Path) -> None:
    class Said(Log):
        def say(self, text: str) -> None:
            lines.append(text.partition(":")[0].partition(",")[0])

    async def play() -> None:
        async with scene(tmp_path) as on:
            on.shell.log = Said(fd=-1)
            for times in range(1, 4):
                on.shell.connect("127.0.0.1:1")
                await on.diary.hears("connect failed", times)
            on.shell.connect(f"127.0.0.1:{on.ports['main']}")
            await on.diary.hears("connected")

    lines: list[str] = []
    asyncio.run(play())
    assert lines == ["cannot connect to 127.0.0.1", "connected to 127.0.0.1"]


def test_a_socket_that_met_itself_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()

    class Bound(socket.socket):
        def __init__(self, *arguments: int) -> None:
            super().__init__(*arguments)
            self.bind(("127.0.0.1", port))

    async def play() -> None:
        monkeypatch.setattr(socket, "socket", Bound)
        with pytest.raises(ConnectionRefusedError, match="this socket itself"):
            await sockets.connect(f"127.0.0.1:{port}")
        monkeypatch.undo()

    asyncio.run(play())


def test_listening_sockets_may_be_bound_again_and_do_not_block() -> None:
    with ExitStack() as stack:
        (listener,) = sockets.listen("127.0.0.1", [free_port()], stack)
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_idle_clients_are_closed_and_idle_replicas_are_not(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path, Limits(idle_s=0.1)) as on:
            _, replica = await on.joined("ha")
            _, client = await on.joined("main")
            _, other = await on.joined("fast")
            await on.diary.hears("closed", 2)
            assert {each[0] for each in on.diary.heard("closed")} == {client, other}
            assert on.shell.connections == {replica}

    asyncio.run(play())


def test_more_connections_than_the_limit_are_closed_unheard(tmp_path: Path) -> None:
    async def play() -> None:
        async with scene(tmp_path, Limits(connections=1)) as on:
            _, first = await on.joined()
            late = on.stack.enter_context(socket.create_connection(("127.0.0.1", on.ports["main"])))
            late.setblocking(False)
            assert await asyncio.get_running_loop().sock_recv(late, 1) == b""
            assert on.diary.heard("accepted") == [(first, "main")]

    asyncio.run(play())


class Exhausted:
    """A listener whose process has no descriptors left; counts how often it is asked."""

    def __init__(self, real: socket.socket) -> None:
        self.real = real
        self.asked = 0

    def fileno(self) -> int:
        return self.real.fileno()

    def accept(self) -> tuple[socket.socket, Any]:
        self.asked += 1
        raise OSError(errno.EMFILE, "Too many open files")


def test_without_descriptors_accepting_rests_instead_of_spinning(tmp_path: Path) -> None:
    async def play(stack: ExitStack) -> int:
        port = free_port()
        listener = Exhausted(sockets.listen("127.0.0.1", [port], stack)[0])
        async with scene(tmp_path) as on:
            on.shell.serve(listener, "main")  # type: ignore[arg-type]
            on.stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            await until(lambda: listener.asked > 0)
            on.shell.timer("a while later", on.shell.now() + 100 * MS)
            await on.diary.hears("timer")
            return listener.asked

    with ExitStack() as stack:
        assert asyncio.run(play(stack)) == 1


def test_a_flush_is_told_when_it_is_through_and_one_that_fails_ends_the_broker(tmp_path: Path) -> None:
    class Broken(RealDisk):
        def sync(self, name: str) -> None:
            raise StoreError("the disk is broken")

    async def play(disk: RealDisk) -> list[Any]:
        async with scene(tmp_path, disk=disk) as on:
            disk.open("a", 10).write(0, b"x")
            on.shell.flush(["a"], 7)
            assert on.diary.told == []
            await until(lambda: bool(on.diary.told) or on.shell.ended.done())
            assert on.diary.told == [] or not isinstance(disk, Broken)
            return on.diary.told

    assert asyncio.run(play(RealDisk(tmp_path))) == [("flushed", 7)]
    with pytest.raises(StoreError, match="the disk is broken"):
        asyncio.run(play(Broken(tmp_path)))


def test_what_a_node_raises_ends_it(tmp_path: Path) -> None:
    class Raising(Diary):
        def on_timer(self, key: Hashable) -> None:
            raise RuntimeError("a bug")

    async def play() -> None:
        shell = Shell(RealDisk(tmp_path), Log(fd=-1))
        shell.start(Raising())
        shell.timer("now", 0)
        try:
            await shell.ended
        finally:
            shell.abandon()

    with pytest.raises(RuntimeError, match="a bug"):
        asyncio.run(play())


def test_peers_are_told_apart_by_address_and_on_loopback_by_connection() -> None:
    def peers(hosts: Iterable[str]) -> set[Hashable]:
        with ExitStack() as stack:
            socks = [stack.enter_context(socket.socket()) for _ in range(2)]
            return {Connection(s, (host, 5), "ha", 0).peer for s, host in zip(socks, hosts, strict=True)}

    assert peers(("10.0.0.7", "10.0.0.7")) == {"10.0.0.7"}
    assert len(peers(("10.0.0.7", "10.0.0.8"))) == 2
    assert len(peers(("127.0.0.1", "127.0.0.1"))) == 2
