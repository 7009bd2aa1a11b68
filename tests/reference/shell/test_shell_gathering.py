"""What a node sends while it is told one thing leaves together; nothing of it is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from real_brokers import free_port, until

from pairproof.reference.shell import shell as shells
from pairproof.reference.shell import sockets
from pairproof.reference.shell.disk import RealDisk
from pairproof.reference.shell.log import Log
from pairproof.reference.shell.shell import Shell
from pairproof.reference.shell.sockets import Connection

CELL = 100


class Counted:
    """A socket that counts its writes."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.writes: list[int] = []

    def send(self, data: bytes) -> int:
        taken = self.sock.send(data)
        self.writes.append(taken)
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)


class Answers:
    """A node that does ``work`` when it is asked something, and keeps what the shell does not take."""

    def __init__(self) -> None:
        self.conn: Connection
        self.work: Callable[[], None] = lambda: None
        self.asked = 0
        self.unsent = bytearray()
        self.written = bytearray()

    def on_start(self) -> None: ...

    def on_stop(self) -> None: ...

    def on_accepted(self, conn: Connection, port: str) -> None:
        self.conn = conn

    def on_bytes(self, conn: Connection, data: bytes) -> None:
        self.work()
        self.asked += len(data)

    def on_writable(self, conn: Connection) -> None:
        if self.unsent:
            data, self.unsent = bytes(self.unsent), bytearray()
            self.unsent += data[self.shell.send(conn, data) :]

    def on_closed(self, conn: Connection) -> None: ...

    shell: Shell

    def send(self, cells: int) -> None:
        """Cells that differ, as one after the other."""
        for number in range(cells):
            cell = f"{len(self.written) + number:0{CELL}d}".encode()
            self.written += cell
            if self.unsent:
                self.unsent += cell
            else:
                self.unsent += cell[self.shell.send(self.conn, cell) :]


class Scene:
    def __init__(self, node: Answers, peer: socket.socket) -> None:
        self.node = node
        self.peer = peer
        self.counted = Counted(node.conn.sock)
        node.conn.sock = self.counted  # type: ignore[assignment]

    async def ask(self, work: Callable[[], None]) -> None:
        """Have the node do this in answer to a byte."""
        self.node.work = work
        before = self.node.asked
        self.peer.send(b"?")
        await until(lambda: self.node.asked > before)

    async def read(self, size: int) -> bytes:
        found = b""
        async with asyncio.timeout(8):
            while len(found) < size:
                with contextlib.suppress(BlockingIOError):
                    more = self.peer.recv(65_536)
                    if not more:
                        break
                    found += more
                    continue
                await asyncio.sleep(0.005)
        return found


@contextlib.asynccontextmanager
async def scene(port: str, buffers: int | None = None) -> AsyncIterator[Scene]:
    """A node and its peer; ``buffers``: how many bytes the kernel keeps at either end, instead of megabytes."""
    shell, node = Shell(RealDisk(Path("/nonexistent")), Log(fd=-1)), Answers()
    node.shell = shell
    with ExitStack() as stack:
        (listener,) = sockets.listen("127.0.0.1", [free_port()], stack)
        stack.callback(shell.abandon)
        shell.start(node)  # type: ignore[arg-type]
        shell.serve(listener, port)
        peer = stack.enter_context(socket.socket())
        if buffers is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffers)
        peer.connect(listener.getsockname())
        peer.setblocking(False)
        await until(lambda: hasattr(node, "conn"))
        if buffers is not None:
            node.conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffers)
        yield Scene(node, peer)
        if shell.ended.done():
            shell.ended.result()


def test_what_answers_one_read_leaves_in_one_write_and_what_nothing_asked_for_at_once() -> None:
    async def play() -> None:
        async with scene("main") as each:
            await each.ask(lambda: each.node.send(20))
            assert each.counted.writes == [20 * CELL]
            for _ in range(3):
                each.node.send(1)
            assert each.counted.writes == [20 * CELL, CELL, CELL, CELL]
            assert await each.read(23 * CELL) == bytes(each.node.written)

    asyncio.run(play())


def test_nothing_waits_behind_more_than_so_many_bytes() -> None:
    cells = 10 * shells.GATHERED // CELL

    async def play() -> None:
        async with scene("main") as each:
            seen: list[int] = []

            def work() -> None:
                each.node.send(cells)
                seen.append(sum(each.counted.writes))

            await each.ask(work)
            assert seen[0] >= cells * CELL - shells.GATHERED
            assert len(each.counted.writes) < 25
            assert await each.read(cells * CELL) == bytes(each.node.written)

    asyncio.run(play())


@pytest.mark.parametrize("port", ["main", "ha"])
@pytest.mark.parametrize("cells", [50, 500], ids=["the shell holds the rest", "the node holds it, too"])
def test_a_peer_that_reads_late_gets_everything_in_order(port: str, cells: int) -> None:
    async def play() -> None:
        async with scene(port, buffers=65_536) as each:
            while not each.node.conn.blocked:
                await each.ask(lambda: each.node.send(cells))
            assert len(each.node.conn.waiting) <= shells.GATHERED
            assert bool(each.node.unsent) == (cells * CELL > shells.GATHERED)
            assert await each.read(len(each.node.written)) == bytes(each.node.written)
            await each.ask(lambda: each.node.send(3))
            assert await each.read(3 * CELL) == bytes(each.node.written[-3 * CELL :])

    asyncio.run(play())


def test_what_was_sent_right_before_a_close_still_arrives() -> None:
    async def play() -> None:
        async with scene("main") as each:

            def work() -> None:
                each.node.send(5)
                each.node.shell.close(each.node.conn)

            await each.ask(work)
            assert await each.read(6 * CELL) == bytes(each.node.written) != b""

    asyncio.run(play())
