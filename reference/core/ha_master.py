"""The master's half of HA replication: HAService, HAConnection and GroupTransferService of RocketMQ 4.9, sans-IO.

Every accepted connection goes through the phases of :data:`NEXT`. The first report of a peer decides where its copy
starts, or that it is refused; from then on the log is pushed in frames without a window, idle links carry heartbeats
and silent peers are dropped. A report counts as an acknowledgement only when an honest slave could have made it.

Where this differs from 4.9 on purpose (see docs/decisions): a connection counts as a slave only from its first valid
report on, and a first report outside the log is refused instead of believed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from enum import Enum, auto
from typing import ClassVar, NamedTuple

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.ports import Conn, Effects, Watcher
from pairproof.reference.wire.ha import ReportReader, encode_header

MS = 1_000_000
MAX_CONNECTIONS = 64
MAX_WAITING_SENDS = 10_000


class Phase(Enum):
    """Where a connection stands."""

    ACCEPTED = auto()
    TRANSFER = auto()
    REFUSED = auto()
    CLOSED = auto()


class Heard(Enum):
    """What can happen to a connection."""

    VALID_REPORT = auto()
    INVALID_REPORT = auto()
    SILENCE = auto()
    END = auto()


NEXT: dict[tuple[Phase, Heard], Phase] = {
    (Phase.ACCEPTED, Heard.VALID_REPORT): Phase.TRANSFER,
    (Phase.ACCEPTED, Heard.INVALID_REPORT): Phase.REFUSED,
    (Phase.ACCEPTED, Heard.SILENCE): Phase.CLOSED,
    (Phase.ACCEPTED, Heard.END): Phase.CLOSED,
    (Phase.TRANSFER, Heard.VALID_REPORT): Phase.TRANSFER,
    (Phase.TRANSFER, Heard.INVALID_REPORT): Phase.CLOSED,
    (Phase.TRANSFER, Heard.SILENCE): Phase.CLOSED,
    (Phase.TRANSFER, Heard.END): Phase.CLOSED,
    # A refused peer stays refused whatever it says later: its log is not ours.
    (Phase.REFUSED, Heard.VALID_REPORT): Phase.REFUSED,
    (Phase.REFUSED, Heard.INVALID_REPORT): Phase.REFUSED,
    (Phase.REFUSED, Heard.SILENCE): Phase.CLOSED,
    (Phase.REFUSED, Heard.END): Phase.CLOSED,
}


class HaConnection:
    """One accepted peer: HAConnection with its read and write service."""

    __slots__ = ("acked", "conn", "last_read", "last_write", "next_offset", "phase", "reports", "unsent")

    def __init__(self, conn: Conn, now: int) -> None:
        self.conn = conn
        self.phase = Phase.ACCEPTED
        self.reports = ReportReader()
        self.next_offset = -1
        self.acked = -1
        self.last_read = now
        self.last_write = now
        # What the socket did not take of a frame: it goes out before anything else.
        self.unsent = b""


class Waiting(NamedTuple):
    """A send that waits for a slave: GroupCommitRequest."""

    end: int
    deadline: int
    answer: Callable[[str], None]


class GroupTransfer:
    """Sends that wait until a slave has reported their last byte, each until its own absolute deadline.

    Ends and deadlines both grow along the queue, since sends are appended in order.
    """

    def __init__(self, timeout_ns: int, io: Effects) -> None:
        self.timeout_ns = timeout_ns
        self.io = io
        self.waiting: deque[Waiting] = deque()
        # Sends whose bytes no slave will be sent any more: they only wait for their deadline.
        self.hopeless: deque[Waiting] = deque()

    def add(self, end: int, answer: Callable[[str], None]) -> None:
        """Wait for ``end``; ``answer`` is called once, with PUT_OK or FLUSH_SLAVE_TIMEOUT."""
        if len(self.waiting) >= MAX_WAITING_SENDS:
            answer("FLUSH_SLAVE_TIMEOUT")
            return
        deadline = self.io.now() + self.timeout_ns
        if not self.waiting and not self.hopeless:
            self.io.timer(("ha-transfer", None), deadline)
        self.waiting.append(Waiting(end, deadline, answer))

    def covered(self, offset: int) -> None:
        """A slave holds everything below ``offset``."""
        waiting = self.waiting
        while waiting and waiting[0].end <= offset:
            waiting.popleft().answer("PUT_OK")

    def abandon(self, below: int) -> None:
        """A copy starts at ``below``: what ends before it is in older files, which that slave never gets."""
        while self.waiting and self.waiting[0].end <= below:
            self.hopeless.append(self.waiting.popleft())

    def on_timer(self) -> None:
        """Give up on sends whose deadline has passed."""
        now = self.io.now()
        for waiting in (self.hopeless, self.waiting):
            while waiting and waiting[0].deadline <= now:
                waiting.popleft().answer("FLUSH_SLAVE_TIMEOUT")
        deadlines = [each[0].deadline for each in (self.hopeless, self.waiting) if each]
        if deadlines:
            self.io.timer(("ha-transfer", None), min(deadlines))


class HaMaster:
    """All HA connections of a master, and the sends that wait for a slave's word."""

    transfer_class: ClassVar[type[GroupTransfer]] = GroupTransfer

    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.io = io
        self.watcher = watcher
        self.connections: dict[Conn, HaConnection] = {}
        self.group_transfer = self.transfer_class(config.slaveTimeout * MS, io)
        # Monotone over all connections while the process lives (push2SlaveMaxOffset).
        self.push_offset = 0
        self.batch = config.haTransferBatchSize
        self.heartbeat_ns = config.haSendHeartbeatInterval * MS
        self.housekeeping_ns = config.haHousekeepingInterval * MS
        self.fall_behind_max = config.haSlaveFallbehindMax

    # Decisions: small methods, each the one place where its question is answered.

    def start_offset(self, reported: int) -> int | None:
        """Where the copy of a peer with this first report starts; None refuses it."""
        if reported == 0:
            return self.log.end - self.log.end % self.log.file_size
        if self.log.start <= reported <= self.log.end:
            return reported
        return None

    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        """Whether an honest slave on this connection could hold ``reported`` bytes: no more than it was sent."""
        return 0 <= reported <= min(self.log.end, peer.next_offset)

    def may_push(self, peer: HaConnection) -> bool:
        """Whether log bytes and heartbeats may go out to this peer."""
        return peer.phase is Phase.TRANSFER

    def frame_body(self, peer: HaConnection) -> bytes:
        """The next frame's body: at most a batch, never beyond one mapped file; empty when caught up."""
        return self.log.read(peer.next_offset, self.batch)

    def counts_as_slave(self, peer: HaConnection) -> bool:
        """Whether this connection makes a slave available."""
        return peer.phase is Phase.TRANSFER

    def slave_available(self, end: int) -> bool:
        """Whether a send that ends at ``end`` may hope for a slave (isSlaveOK)."""
        if end - self.push_offset >= self.fall_behind_max:
            return False
        return any(self.counts_as_slave(each) for each in self.connections.values())

    def believe(self, reported: int) -> None:
        """A believable report: raise the push offset and answer the sends that it covers."""
        if reported > self.push_offset:
            self.push_offset = reported
            self.group_transfer.covered(reported)

    def await_slave(self, end: int, answer: Callable[[str], None]) -> None:
        """``answer`` is called once: PUT_OK when a slave has reported ``end``, FLUSH_SLAVE_TIMEOUT at the deadline."""
        if self.push_offset >= end:
            answer("PUT_OK")
        else:
            self.group_transfer.add(end, answer)

    # What the shell tells us.

    def on_accepted(self, conn: Conn) -> None:
        """A peer connected to the HA port."""
        if len(self.connections) >= MAX_CONNECTIONS:
            self.io.close(conn)
            return
        now = self.io.now()
        self.connections[conn] = HaConnection(conn, now)
        self.io.timer(("ha-silence", conn), now + self.housekeeping_ns)

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """Bytes of a peer: whole reports are acted on in order."""
        peer = self.connections.get(conn)
        if peer is None:
            return
        peer.last_read = self.io.now()
        for reported in peer.reports.feed(data):
            self._on_report(peer, reported)
            if peer.phase is Phase.CLOSED:
                return

    def on_writable(self, conn: Conn) -> None:
        """The socket takes bytes again."""
        peer = self.connections.get(conn)
        if peer is not None and self._finish_frame(peer):
            self._pump(peer)

    def on_closed(self, conn: Conn) -> None:
        """The peer went away."""
        peer = self.connections.get(conn)
        if peer is not None:
            self._move(peer, Heard.END)

    def on_timer(self, key: tuple[str, Hashable]) -> None:
        """A deadline passed: silence, heartbeat or a waiting send."""
        what, conn = key
        if what == "ha-transfer":
            self.group_transfer.on_timer()
            return
        peer = self.connections.get(conn)
        if peer is None:
            return
        if what == "ha-silence":
            self._check_silence(peer)
        else:
            self._check_heartbeat(peer)

    def wake(self) -> None:
        """There is new data: idle writers go on at once."""
        for peer in self.connections.values():
            if peer.phase is not Phase.ACCEPTED and not peer.unsent:
                self._pump(peer)

    # How it is done.

    def _on_report(self, peer: HaConnection, reported: int) -> None:
        if peer.phase is Phase.ACCEPTED:
            self._on_first_report(peer, reported)
        elif peer.phase is Phase.TRANSFER:
            if self.is_believable(peer, reported):
                peer.acked = reported
                self.believe(reported)
            else:
                self._move(peer, Heard.INVALID_REPORT)

    def _on_first_report(self, peer: HaConnection, reported: int) -> None:
        start = self.start_offset(reported)
        if start is None:
            why = "ahead of the master's log end" if reported > self.log.end else "before the master's log start"
            self.watcher.refused(peer.conn, reported, self.log.end, why)
            self._move(peer, Heard.INVALID_REPORT)
            return
        if reported == 0:
            # A slave without a log: what it will report later says nothing about what lies before its start.
            self.group_transfer.abandon(start)
        peer.next_offset = start
        peer.acked = reported
        self._move(peer, Heard.VALID_REPORT)
        self.believe(reported)
        self._check_heartbeat(peer)
        self._pump(peer)

    def _move(self, peer: HaConnection, heard: Heard) -> None:
        peer.phase = NEXT[peer.phase, heard]
        if peer.phase is Phase.CLOSED:
            del self.connections[peer.conn]
            self.io.cancel(("ha-silence", peer.conn))
            self.io.cancel(("ha-heartbeat", peer.conn))
            if heard is not Heard.END:
                self.io.close(peer.conn)

    def _pump(self, peer: HaConnection) -> None:
        while self.may_push(peer) and not peer.unsent:
            body = self.frame_body(peer)
            if not body:
                return
            offset = peer.next_offset
            peer.next_offset = offset + len(body)
            self._write(peer, encode_header(offset, len(body)) + body)

    def _write(self, peer: HaConnection, frame: bytes) -> None:
        taken = self.io.send(peer.conn, frame)
        peer.unsent = frame[taken:]
        if taken:
            peer.last_write = self.io.now()

    def _finish_frame(self, peer: HaConnection) -> bool:
        if peer.unsent:
            self._write(peer, peer.unsent)
        return not peer.unsent

    def _check_heartbeat(self, peer: HaConnection) -> None:
        if not self.may_push(peer):
            return
        now = self.io.now()
        if now - peer.last_write >= self.heartbeat_ns and not peer.unsent:
            self._write(peer, encode_header(peer.next_offset, 0))
        # Lazy: one timer a link, moved on only when it fires.
        due = peer.last_write + self.heartbeat_ns
        self.io.timer(("ha-heartbeat", peer.conn), due if due > now else now + self.heartbeat_ns)

    def _check_silence(self, peer: HaConnection) -> None:
        due = peer.last_read + self.housekeeping_ns
        if self.io.now() >= due:
            self._move(peer, Heard.SILENCE)
        else:
            self.io.timer(("ha-silence", peer.conn), due)
