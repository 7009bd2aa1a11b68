"""A simulated machine with one process: the effects port of a sans-IO node, and what can happen to both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from typing import Any

from pairproof.chaos.labs.sim.disk import SimDisk, SimFile
from pairproof.chaos.labs.sim.kernel import MS, Entry, Kernel
from pairproof.chaos.labs.sim.network import End, Network, Toxic
from pairproof.reference.ports import Node

EPOCH_MS = 1_700_000_000_000
CONNECT_TIMEOUT_NS = 5_000 * MS

Flush = tuple[list[tuple[SimFile, list[tuple[int, int]]]], Hashable]


class Crashed(BaseException):
    """Unwinds a node's code at the point where its host crashed: a dead process executes nothing more."""


class Observer:
    """What a lab wants to hear of a host: the accepted and connected ends, and the points that triggers wait for.

    ``armed`` holds the triggers by (host, point); empty, and no point is reported.
    """

    armed: Mapping[tuple[str, str], object] = {}

    def opened(self, end: End, accepted: bool) -> None:
        """A connection stands at this end."""

    def closed(self, end: End, how: str) -> None:
        """It ended here: local or peer."""

    def point(self, host: str, name: str) -> None:
        """The host passed append, flush, send or recv."""


class Host:
    """One machine. ``node`` lives while the process runs; disk and name outlive it."""

    def __init__(self, name: str, kernel: Kernel, network: Network, observer: Observer, flush_ns: int) -> None:
        self.name = name
        self.kernel = kernel
        self.network = network
        self.observer = observer
        self.flush_ns = flush_ns
        # The lab's triggers: while there are none, nobody asks at every point.
        self.armed: Mapping[tuple[str, str], object] = observer.armed
        self.disk = SimDisk()
        self.log_file_size = 0
        self.node: Node | None = None
        self.incarnation = 0
        self.powered = True
        self.ends: dict[End, None] = {}
        self.timers: dict[Hashable, Entry] = {}
        self.disk_stalls: list[Toxic] = []
        self.held_flushes: list[Flush] = []

    # Effects: what the node may do.

    def now(self) -> int:
        """Virtual time, ns."""
        return self.kernel.now

    def wall_ms(self) -> int:
        """A wall clock that starts at a fixed epoch."""
        return EPOCH_MS + self.kernel.now // MS

    def send(self, conn: End, data: bytes) -> int:
        """Hand bytes to the socket."""
        if self.armed:
            self.observer.point(self.name, "send")
        return self.network.send(conn, data)

    def close(self, conn: End) -> None:
        """Close one's own end."""
        # Also where the network has closed it already, and this node has just not been told.
        if conn in self.ends:
            del self.ends[conn]
            self.observer.closed(conn, "local")
        self.network.close(conn)

    def timer(self, key: Hashable, at: int) -> None:
        """Arm, or re-arm, a timer."""
        old = self.timers.get(key)
        if old is not None:
            old[2] = None
        self.timers[key] = self.kernel.at(at, self._ring, key, self.incarnation)

    def cancel(self, key: Hashable) -> None:
        """Disarm a timer."""
        old = self.timers.pop(key, None)
        if old is not None:
            old[2] = None

    def flush(self, names: list[str], token: Hashable) -> None:
        """Begin a flush of what is dirty now."""
        flush: Flush = (self.disk.take_dirty(names), token)
        self.kernel.at(self.kernel.now + self.flush_ns, self._flushed, flush, self.incarnation)

    def connect(self, address: str) -> None:
        """Connect to a link's port; the name before ``#`` is the link."""
        link = self.network.links[address.partition("#")[0]]
        server = link.host
        wait = link.up.latency + link.down.latency
        if not server.powered and not link.cuts:
            wait = CONNECT_TIMEOUT_NS
        self.kernel.at(self.kernel.now + wait, self._connect, address, self.incarnation)

    # What happens to the node.

    def start(self, build: Callable[[], Node]) -> None:
        """Start the process on whatever the disk holds."""
        self.incarnation += 1
        self.powered = True
        self.node = build()
        self.call(self.node.on_start)

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Let the node act; a crash on the way ends what it was doing."""
        try:
            function(*arguments)
        except Crashed:  # suppress() costs more than most of these calls
            pass

    def hear(self, end: End, data: bytes) -> None:
        """Bytes arrived."""
        if self.node is not None:
            node = self.node
            try:
                if self.armed:
                    self.observer.point(self.name, "recv")
                node.on_bytes(end, data)
            except Crashed:  # suppress() costs more than most of these calls
                pass

    def hear_closed(self, end: End) -> None:
        """The other side closed, or a reset came."""
        if self.ends.pop(end, self) is None and self.node is not None:
            self.observer.closed(end, "peer")
            self.call(self.node.on_closed, end)

    def hear_writable(self, end: End) -> None:
        """The socket takes bytes again."""
        if self.node is not None:
            self.call(self.node.on_writable, end)

    def kill(self) -> None:
        """kill -9: the kernel closes the sockets, the page cache stays."""
        self._end_process()
        for end in list(self.ends):
            self.network.close(end)
        self.ends.clear()

    def stop(self) -> None:
        """SIGTERM: the node ends in an orderly way, then its process is gone."""
        if self.node is not None:
            self.call(self.node.on_stop)
        self.kill()

    def lose_power(self, keep: str) -> int:
        """The machine is gone, and with it what had not been flushed; bytes lost. Peers hear nothing."""
        self._end_process()
        self.powered = False
        for end in list(self.ends):
            self.network.vanish(end)
        self.ends.clear()
        return self.disk.lose_power(keep)

    def resume_disk(self, toxic: Toxic) -> None:
        """Held flushes end now."""
        self.disk_stalls.remove(toxic)
        if not self.disk_stalls:
            held, self.held_flushes = self.held_flushes, []
            for flush in held:
                self.kernel.at(self.kernel.now, self._flushed, flush, self.incarnation)

    def _end_process(self) -> None:
        self.node = None
        for entry in self.timers.values():
            entry[2] = None
        self.timers.clear()
        # What it asked the disk for dies with it: the bytes stay dirty.
        self.held_flushes.clear()

    def _ring(self, key: Hashable, incarnation: int) -> None:
        if self.node is not None and incarnation == self.incarnation:
            self.timers.pop(key, None)
            self.call(self.node.on_timer, key)

    def _flushed(self, flush: Flush, incarnation: int) -> None:
        if self.node is None or incarnation != self.incarnation:
            return
        if self.disk_stalls:
            self.held_flushes.append(flush)
            for toxic in self.disk_stalls:
                toxic.count("flushes_held", 1)
            return
        taken, token = flush
        self.disk.finish_flush(taken)
        node = self.node
        with suppress(Crashed):
            if self.armed:
                self.observer.point(self.name, "flush")
            node.on_flushed(token)

    def _connect(self, address: str, incarnation: int) -> None:
        if self.node is None or incarnation != self.incarnation:
            return
        link = self.network.links[address.partition("#")[0]]
        server = link.host
        if link.cuts or server.node is None:
            for toxic in link.cuts:
                toxic.count("connections_refused", 1)
            self.call(self.node.on_connect_failed, address)
            return
        near, far = End(link, self, link.up), End(link, server, link.down)
        near.peer, far.peer = far, near
        link.ends += (near, far)
        self.ends[near] = None
        server.ends[far] = None
        self.observer.opened(far, True)
        server.call(server.node.on_accepted, far, link.port)
        if near.open and self.node is not None:
            self.observer.opened(near, False)
            self.call(self.node.on_connected, address, near)
