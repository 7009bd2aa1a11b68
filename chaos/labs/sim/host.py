"""A simulated machine with one process: the effects port of a sans-IO node, and the faults of both."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from random import Random
from typing import Any

from ....harness.history import MS
from ....reference.ports import Node
from ..blame import ENDS, is_the_labs
from .active_fault import ActiveFault, count
from .cable import Cable, Waiting
from .disk import Flush, Loss, SimDisk
from .kernel import Entry, Kernel
from .network import End, Link, Network
from .watchdog import Watchdog

EPOCH_MS = 1_700_000_000_000
CONNECT_TIMEOUT_NS = 5_000 * MS


class Crashed(BaseException):
    """Unwinds a node's code at the point where its host crashed: a dead process executes nothing more."""


class Observer:
    """A lab's observer of a host: accepted and connected ends, and the points of triggers.

    ``armed`` has the triggers by (host, point); while it is empty, no point is reported.
    """

    armed: Mapping[tuple[str, str], object] = {}

    def opened(self, end: End, accepted: bool) -> None:
        """A connection is open at this end."""

    def closed(self, end: End, how: str) -> None:
        """It ended here: local, peer or reset."""

    def point(self, host: str, name: str) -> None:
        """The host passed a point."""

    def failed(self, host: Host, why: BaseException) -> None:
        """The host's code raised this exception, and its process is about to end."""


class Host:
    """One machine. ``node`` exists while the process runs; disk and name outlive it.

    ``ways``: the link by which an address is reached from here.
    """

    def __init__(
        self, name: str, kernel: Kernel, network: Network, observer: Observer, flush_ns: int, ways: Mapping[str, Link]
    ) -> None:
        self.name = name
        self.ways = ways
        self.kernel = kernel
        self.network = network
        self.observer = observer
        self.flush_ns = flush_ns
        self.flush_spread: tuple[int, Random] | None = None
        """Variation of flush times, see :func:`uneven`; None: each takes ``flush_ns``."""
        # The lab's triggers: while there are none, points need no check.
        self.armed: Mapping[tuple[str, str], object] = observer.armed
        self.disk = SimDisk(self._passes)
        self.node: Node | None = None
        self.tested = False
        """Whether its node is under test: an exception is then its own crash."""
        self.acts = 0
        """Number of its node's actions: calls and sends. Receiving bytes, or room for some, does not count: a proxy may
        forward them one by one.
        """
        self.incarnation = 0
        self.powered = True
        self.ends: dict[End, None] = {}
        self.timers: dict[Hashable, Entry] = {}
        self.disk_stalls: list[ActiveFault] = []
        self.held_flushes: list[tuple[Flush, Hashable]] = []
        self.disk_slow: list[ActiveFault] = []
        self.dispatch_stalls: list[ActiveFault] = []
        self.held_threads: dict[Hashable, None] = {}
        """Work of its process that waits for a CPU, in order."""
        self.clock_skews: list[ActiveFault] = []
        self.cable = Cable()
        # The process's: these end with it.
        self.pauses: list[ActiveFault] = []
        self.waiting: deque[Waiting] = deque()

    @property
    def io(self) -> Host:
        return self

    @property
    def skew_ms(self) -> int:
        return sum(skew.amount for skew in self.clock_skews)

    # Effects: calls of the node.

    def now(self) -> int:
        return self.kernel.now

    def wall_ms(self) -> int:
        """A wall clock that starts at a fixed epoch, plus the set skew."""
        true = EPOCH_MS + self.kernel.now // MS
        if not self.clock_skews:
            return true
        count(self.clock_skews, "readings_skewed")
        return true + self.skew_ms

    def send(self, conn: End, data: bytes) -> int:
        if self.armed:
            self.observer.point(self.name, "send")
        self.acts += 1
        taken = self.network.send(conn, data)
        if not self.tested:
            self.network.sent_by_clients += taken
        return taken

    def peer(self, conn: End) -> str:
        return conn.peer.host.name

    def address(self, conn: End) -> tuple[str, int]:
        """The same for all machines, since no law uses it."""
        return "127.0.0.1", 0

    def close(self, conn: End) -> None:
        # Also if the network has closed it and this node has not been notified yet.
        if conn in self.ends:
            del self.ends[conn]
            self.observer.closed(conn, "local")
        self.network.close(conn)

    def timer(self, key: Hashable, at: int) -> None:
        old = self.timers.get(key)
        if old is not None:
            old[2] = None
        self.timers[key] = self.kernel.at(at, self._ring, key, self.incarnation)

    def cancel(self, key: Hashable) -> None:
        old = self.timers.pop(key, None)
        if old is not None:
            old[2] = None

    def runs(self, thread: Hashable) -> bool:
        """Whether the dispatch thread gets to run; a node asks for no other."""
        if not self.dispatch_stalls:
            return True
        count(self.dispatch_stalls, "dispatches_held")
        self.held_threads[thread] = None
        return False

    def flush(self, names: list[str], token: Hashable) -> None:
        takes = self.flush_ns
        if self.flush_spread is not None:
            spread, dice = self.flush_spread
            takes = uneven(dice, takes, spread)
        ends = self.kernel.now + takes
        if self.disk_slow:
            count(self.disk_slow, "flushes_slowed")
            ends += sum(slow.amount for slow in self.disk_slow) * MS
        if self.armed:
            for folder in dict.fromkeys(name.partition("/")[0] for name in names):
                self._passes("flush", folder)
        self.kernel.at(ends, self._flushed, self.disk.begin_flush(names), token, self.incarnation)

    def connect(self, address: str) -> None:
        """Connect; a suffix behind ``#`` distinguishes a client's connections. An unknown address has no answer."""
        link = self._way(address)
        if link is None:
            self.kernel.at(self.kernel.now, self._fail, address, self.incarnation)
            return
        server = link.host
        until = self.kernel.now + CONNECT_TIMEOUT_NS
        answered = self.kernel.now + link.up.latency + link.down.latency
        if not server.powered and not link.cuts:
            answered = until
        self.kernel.at(answered, self._connect, address, self.incarnation, until)

    # Faults of the node.

    def start(self, build: Callable[[], Node]) -> None:
        """Start the process on its disk's contents; raises the reason if it cannot."""
        self.powered = True
        self.incarnation += 1
        self.disk.check_writable("lock")
        self.node = build()
        try:
            self.node.on_start()
        except Crashed:
            pass

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call the node; a crash on the way unwinds it."""
        self.acts += 1
        try:
            function(*arguments)
        except Crashed:  # suppress() costs more than most of these calls
            pass
        except (Exception, *ENDS) as why:
            self.fail(why)

    def fail(self, why: BaseException) -> None:
        """The process ends by itself, not in an orderly way. Raises exceptions that prove nothing about a tested
        node.
        """
        if not self.tested or is_the_labs(why):
            raise why
        self.observer.failed(self, why)
        self.kill()

    def hold(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.waiting.append((function, arguments))
        count(self.pauses, "events_held")

    def notify(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call the node as soon as it can run."""
        if self.pauses:
            self.hold(self.call, function, *arguments)
        else:
            self.call(function, *arguments)

    def receive(self, end: End, data: bytes) -> None:
        """Bytes arrived. The network holds those for a paused process: they fill a socket's buffer."""
        if self.node is not None:
            node = self.node
            try:
                if self.armed:
                    self.observer.point(self.name, "recv")
                node.on_bytes(end, data)
            except Crashed:  # suppress() costs more than most of these calls
                pass
            except (Exception, *ENDS) as why:
                self.fail(why)

    def receive_closed(self, end: End, how: str) -> None:
        """The other side closed (``peer``), or a ``reset`` arrived."""
        if self.pauses:
            self.hold(self.receive_closed, end, how)
        elif self.ends.pop(end, self) is None and self.node is not None:
            self.observer.closed(end, how)
            self.call(self.node.on_closed, end)

    def receive_writable(self, end: End) -> None:
        if self.node is not None:
            self.notify(self._goes_on, self.node.on_writable, end)

    def _goes_on(self, on_writable: Callable[[End], None], end: End) -> None:
        acts = self.acts - 1
        on_writable(end)
        self.acts = acts

    def kill(self) -> None:
        """kill -9: the kernel closes the sockets, the page cache stays."""
        self._end_process()
        for end in list(self.ends):
            self.network.close(end)
        self.ends.clear()

    def stop(self) -> None:
        if self.node is not None:
            self.call(self.node.on_stop)
        self.kill()

    def lose_power(self, keep: str) -> Loss:
        """The machine loses power and all unflushed bytes. Its peers are not notified."""
        self._end_process()
        self.powered = False
        for end in list(self.ends):
            self.network.vanish(end)
        self.ends.clear()
        return self.disk.lose_power(keep)

    def resume_disk(self) -> None:
        if not self.disk_stalls:
            held, self.held_flushes = self.held_flushes, []
            for flush, token in held:
                self.kernel.at(self.kernel.now, self._flushed, flush, token, self.incarnation)

    def resume_dispatch(self) -> None:
        if not self.dispatch_stalls:
            held, self.held_threads = self.held_threads, {}
            for thread in held:
                self.timer(thread, self.kernel.now)

    def resume(self) -> None:
        while self.waiting and not self.pauses:
            function, arguments = self.waiting.popleft()
            function(*arguments)

    def _end_process(self) -> None:
        self.node = None
        for entry in self.timers.values():
            entry[2] = None
        self.timers.clear()
        # Its pending flushes end with it: the bytes stay dirty.
        self.held_flushes.clear()
        self.held_threads.clear()
        self.pauses.clear()
        self.waiting.clear()

    def _ring(self, key: Hashable, incarnation: int) -> None:
        if self.node is not None and incarnation == self.incarnation:
            if self.pauses:
                self.hold(self._ring_late, key, self.timers[key])
                return
            self.timers.pop(key, None)
            self.call(self.node.on_timer, key)

    def _ring_late(self, key: Hashable, entry: Entry) -> None:
        # Earlier pending work may have disarmed or rearmed it.
        if self.timers.get(key) is entry:
            self._ring(key, self.incarnation)

    def _flushed(self, flush: Flush, token: Hashable, incarnation: int) -> None:
        if self.node is None or incarnation != self.incarnation:
            return
        if self.disk_stalls:
            self.held_flushes.append((flush, token))
            count(self.disk_stalls, "flushes_held")
            return
        if self.disk.read_only:
            self.notify(self.disk.check_writable, "flush")
            return
        # The disk continues while the process is paused; the process is not notified.
        self.disk.finish_flush(flush)
        self.notify(self._notify_flushed, token)

    def _notify_flushed(self, token: Hashable) -> None:
        node = self.node
        if node is not None:
            if self.armed:
                self.observer.point(self.name, "flush")
            node.on_flushed(token)

    def _passes(self, call: str, name: str) -> None:
        """Its node is about to make this call on a file."""
        if self.armed and self.node is not None:
            self.observer.point(self.name, f"{call}:{name.partition('/')[0]}")

    def _way(self, address: str) -> Link | None:
        return self.ways.get(address.partition("#")[0])

    def _fail(self, address: str, incarnation: int) -> None:
        if self.node is not None and incarnation == self.incarnation:
            self.notify(self.node.on_connect_failed, address)

    def _reconnect(self, address: str, incarnation: int, until: int, failure: Entry) -> None:
        link = self._way(address)
        if link is not None and self.kernel.now < until:
            failure[2] = None
            answered = self.kernel.now + link.up.latency + link.down.latency
            self.kernel.at(answered, self._connect, address, incarnation, until)

    def _connect(self, address: str, incarnation: int, until: int) -> None:
        if self.node is None or incarnation != self.incarnation:
            return
        link = self._way(address)
        assert link is not None
        server = link.host
        # A proxy also refuses for a server without its cable.
        cable = self.cable if self.cable.pulled or link.cuts else server.cable
        if cable.pulled:
            failure = self.kernel.at(until, self._fail, address, incarnation)
            cable.keep_connect(self._reconnect, address, incarnation, until, failure)
            return
        if link.cuts or server.node is None:
            count(link.cuts, "connections_refused")
            self.notify(self.node.on_connect_failed, address)
            return
        near, far = self.network.join(link, self)
        self.ends[near] = None
        server.ends[far] = None
        self.observer.opened(far, True)
        # A paused process's kernel accepts for it.
        server.notify(server.node.on_accepted, far, link.port)
        if near.open and self.node is not None:
            self.observer.opened(near, False)
            self.notify(self.node.on_connected, address, near)


def uneven(dice: Random, ns: int, spread: int) -> int:
    """A time from 1/spread to spread times as long, log-uniform."""
    factor: float = spread ** dice.uniform(-1, 1)
    return max(1, round(ns * factor))


WATCHDOG = Watchdog(each.__code__ for each in (Host.start, Host.call, Host.receive))
"""One for all simulated trials of this process."""
