"""The asyncio shell: runs a sans-IO node on real sockets, files and clocks. Implements the effects port.

The node runs on the loop's thread; one thread flushes, another resolves host names. Bytes that a node sends to a
connection during one event leave in one write, up to ``GATHERED`` bytes; beyond them only the kernel's socket buffers
hold bytes: ``send`` takes what the socket takes. Bounded are connections, idle time of clients, accepts at a time, and
the time for one connection's requests before others get their turn; a client that does not read its answers is not read
from. An exception of the node ends the broker like a crash: its state is unknown.
"""

import asyncio
import errno
import socket
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, ParamSpec

from ..ports import Node
from . import sockets
from .disk import RealDisk
from .log import Log
from .sockets import OF_CLIENTS, Connection

READ_LEAST, READ_MOST = 1024, 16 * 1024
"""Bytes read at a time: first few, since they may hold slow requests, then more."""
TURN_S = 0.01
"""Time after which other connections get their turn."""
GATHERED = 8 * 1024
"""Bytes of one connection that wait to leave together: larger values delay the first ones."""
ACCEPTS_AT_ONCE = 64
REST_S = 1
MAX_UNREACHABLE = 1_000
"""Unreachable addresses to remember; further ones are not logged."""
MAX_ADDRESS = 300
NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

P = ParamSpec("P")


class Limits(NamedTuple):
    """Bounds of one process. Idle: neither read from nor written to; clients only, replicas check each other."""

    connections: int = 2_000
    idle_s: float = 120
    anywhere: bool = False
    """Whether it may connect to other machines; see :mod:`pairproof.reference.shell.reach`."""


class Shell:
    """Runs one node. Create it inside a running loop."""

    def __init__(self, disk: RealDisk, log: Log, limits: Limits | None = None) -> None:
        self.disk = disk
        self.log = log
        self.limits = limits or Limits()
        self.loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self.loop.create_future()
        self.connections: set[Connection] = set()
        self._node: Node
        self._listeners: set[socket.socket] = set()
        self._timers: dict[Hashable, asyncio.TimerHandle] = {}
        self._connecting: set[asyncio.Task[tuple[socket.socket, tuple[str, int]]]] = set()
        self._unreachable: set[str] = set()
        self._full: set[str] = set()
        self._gathers = False
        self._gathered: list[Connection] = []
        self._flusher = ThreadPoolExecutor(1, "flush")
        self._over = False

    def start(self, node: Node) -> None:
        self._node = node
        self.loop.set_exception_handler(self._failed)
        node.on_start()
        self._watch_idle()

    def serve(self, listener: socket.socket, port: str) -> None:
        """Accept connections, under the node's name for the port."""
        self._listeners.add(listener)
        self.loop.add_reader(listener, self._accept, listener, port)

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def stop(self) -> None:
        self._node.on_stop()
        self.abandon()

    def abandon(self) -> None:
        """Close everything; the node receives no more events."""
        self._over = True
        for listener in self._listeners:
            self.loop.remove_reader(listener)
        for task in self._connecting:
            task.cancel()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for conn in list(self.connections):
            self.close(conn)
        self._flusher.shutdown(cancel_futures=True)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        why = context.get("exception") or RuntimeError(context["message"])
        if not self.ended.done():
            self.ended.set_exception(why)

    # Effects of the node.

    def now(self) -> int:
        return time.monotonic_ns()

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def connect(self, address: str) -> None:
        task = self.loop.create_task(sockets.connect(address, self.limits.anywhere))
        self._connecting.add(task)
        task.add_done_callback(partial(self._connected, address))

    def send(self, conn: Connection, data: bytes) -> int:
        """Send bytes to the socket; returns the number taken. Bytes for a closed one are lost, as on any network."""
        if not conn.open:
            return len(data)
        if self._gathers and not conn.blocked and len(conn.waiting) + len(data) <= GATHERED:
            if not conn.waiting:
                self._gathered.append(conn)
            conn.waiting += data
            return len(data)
        return self._write(conn, data) if self._empty(conn) else 0

    def _empty(self, conn: Connection) -> bool:
        if conn.waiting:
            data = bytes(conn.waiting)
            del conn.waiting[: self._write(conn, data)]
        return not conn.waiting

    def _write(self, conn: Connection, data: bytes) -> int:
        try:
            taken = conn.sock.send(data) if data else 0
        except BlockingIOError:
            taken = 0
        except OSError:
            # The node must not be called from within its own call.
            self.loop.call_soon(self._lost, conn)
            return len(data)
        if taken:
            conn.last_used = self.loop.time()
        if taken < len(data):
            self._block(conn)
        return taken

    def peer(self, conn: Connection) -> Hashable:
        return conn.peer

    def address(self, conn: Connection) -> tuple[str, int]:
        return conn.address

    def close(self, conn: Connection) -> None:
        if conn.open:
            self._empty(conn)
            conn.open = False
            self.connections.discard(conn)
            self.loop.remove_reader(conn.fd)
            self.loop.remove_writer(conn.fd)
            conn.sock.close()

    def timer(self, key: Hashable, at: int) -> None:
        self.cancel(key)
        self._timers[key] = self.loop.call_at(at / 1e9, self._ring, key)

    def cancel(self, key: Hashable) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()

    def runs(self, thread: Hashable) -> bool:
        """Always: the whole node runs on the loop's thread."""
        return True

    def flush(self, names: list[str], token: Hashable) -> None:
        done = self.loop.run_in_executor(self._flusher, self._sync, tuple(names))
        done.add_done_callback(partial(self._flushed, token))

    # Events.

    def _call(self, what: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        self._gathers = True
        what(*args, **kwargs)
        self._gathers = False
        gathered, self._gathered = self._gathered, []
        for conn in gathered:
            if conn.open:
                self._empty(conn)

    def _sync(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.disk.sync(name)

    def _flushed(self, token: Hashable, done: asyncio.Future[None]) -> None:
        if not self._over and not done.cancelled():
            # A failed flush ends the broker: the kernel has dropped the pages, so a retry would prove nothing.
            done.result()
            self._call(self.flush_ended, token)

    def flush_ended(self, token: Hashable) -> None:
        self._node.on_flushed(token)

    def _ring(self, key: Hashable) -> None:
        del self._timers[key]
        self._call(self._node.on_timer, key)

    def connect_failed(self, address: str) -> None:
        self._node.on_connect_failed(address)

    def _connected(self, address: str, done: asyncio.Task[tuple[socket.socket, tuple[str, int]]]) -> None:
        self._connecting.discard(done)
        if done.cancelled():
            return
        why = done.exception()
        short = address[:MAX_ADDRESS]
        if self._over:
            if why is None:
                done.result()[0].close()
        elif isinstance(why, sockets.NOT_CONNECTED):
            if short not in self._unreachable and len(self._unreachable) < MAX_UNREACHABLE:
                self._unreachable.add(short)
                self.log.say(f"cannot connect to {address}(logged once): {why or type(why).__name__}")
            self.connect_failed(address)
        else:
            self._unreachable.discard(short)
            conn = self._adopt(*done.result(), "")
            self._read(conn)
            self.log.say(f"connected to {address}")
            self._node.on_connected(address, conn)

    def _accept(self, listener: socket.socket, port: str) -> None:
        for _ in range(ACCEPTS_AT_ONCE):
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                return
            except OSError as why:
                if why.errno in NO_ROOM:
                    self._rest(listener, port, why)
                    return
                # The peer was gone before the accept.
                continue
            if len(self.connections) >= self.limits.connections:
                sock.close()
                self._refused(address, port)
                continue
            before = len(self.connections)
            conn = self._adopt(sock, address, port)
            self._read(conn)
            self._node.on_accepted(conn, port)
            if not conn.open:
                self._refused(address, port)
            elif len(self.connections) <= before:
                self._crowded(port, f"accepted {address[0]} in place of a connection without progress")
            else:
                self._full.discard(port)

    def _refused(self, address: tuple[str, int], port: str) -> None:
        self._crowded(port, f"refused {address[0]}: no connection can make room")

    def _crowded(self, port: str, what: str) -> None:
        if port not in self._full:
            self._full.add(port)
            self.log.say(f"the {port} port is full (logged once): {what}; {len(self.connections)} are open")

    def _rest(self, listener: socket.socket, port: str, why: OSError) -> None:
        # The connection stays in the backlog, so the loop would call this again at once.
        self.loop.remove_reader(listener)
        self.log.say(f"cannot accept connections for {REST_S} s: {why.strerror}")
        self._timers["accept", listener] = self.loop.call_later(REST_S, self._accept_again, listener, port)

    def _accept_again(self, listener: socket.socket, port: str) -> None:
        del self._timers["accept", listener]
        self.serve(listener, port)

    def _adopt(self, sock: socket.socket, address: tuple[str, int], port: str) -> Connection:
        conn = Connection(sock, address, port, self.loop.time())
        self.connections.add(conn)
        return conn

    def _read(self, conn: Connection) -> None:
        if conn.open:
            self.loop.add_reader(conn.fd, self._call, self._take, conn)

    def _take(self, conn: Connection) -> None:
        began, size = self.loop.time(), READ_LEAST
        while conn.open and not (conn.blocked and conn.yields):
            try:
                data = conn.sock.recv(size)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._lost(conn)
                return
            conn.last_used = began
            self.receive(conn, data)
            if len(data) < size or self.loop.time() - began > TURN_S:
                return
            size = min(2 * size, READ_MOST)

    def receive(self, conn: Connection, data: bytes) -> None:
        self._node.on_bytes(conn, data)

    def _block(self, conn: Connection) -> None:
        conn.blocked = True
        if conn.yields:
            self.loop.remove_reader(conn.fd)
        self.loop.add_writer(conn.fd, self._writable, conn)

    def _writable(self, conn: Connection) -> None:
        self.loop.remove_writer(conn.fd)
        conn.blocked = False
        if not self._empty(conn) or not conn.open:
            return
        if conn.yields:
            self._read(conn)
        self._call(self._node.on_writable, conn)

    def _lost(self, conn: Connection) -> None:
        if conn.open:
            self.close(conn)
            self._node.on_closed(conn)

    def _watch_idle(self) -> None:
        oldest = self.loop.time() - self.limits.idle_s
        for conn in [each for each in self.connections if each.port in OF_CLIENTS and each.last_used <= oldest]:
            self._lost(conn)
        # No node has this key.
        self._timers["idle", self] = self.loop.call_later(self.limits.idle_s / 8, self._watch_idle)
