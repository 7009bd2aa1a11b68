"""The master's half of HA replication: HAService and HAConnection of RocketMQ, sans-IO.

Every accepted connection follows the phases of :data:`NEXT`. A peer's first report decides where its copy starts, or
refuses it. From then on the log is pushed in frames without a window, idle links carry heartbeats, and silent peers are
disconnected. A report counts as an ack only if an honest slave could have made it. ``haPushes`` limits what is pushed:
the log, or its durable part.

Where this differs from RocketMQ on purpose (see docs/decisions): a connection counts as a slave only after its first
valid report; a first report outside the log is refused; two connections of one slave count as one replica; a slave
whose next bytes have expired is disconnected; and connections are bounded, in all and per address: the one without
progress for the longest time makes room.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar

from ..ports import MS, Conn, Effects, Watcher
from ..wire.ha import ReportReader, encode_header
from .commit_log import CommitLog
from .config import BrokerConfig
from .group_transfer import GroupTransfer, Waiting

MAX_CONNECTIONS = 64
MAX_PER_ADDRESS = 8
"""Behind a proxy all slaves have one address, and each may leave a few half-open connections."""


class Phase(Enum):
    ACCEPTED = auto()
    TRANSFER = auto()
    REFUSED = auto()
    CLOSED = auto()


class Received(Enum):
    VALID_REPORT = auto()
    INVALID_REPORT = auto()
    SILENCE = auto()
    EXPIRED = auto()
    CROWDED = auto()
    END = auto()


NEXT: dict[tuple[Phase, Received], Phase] = {
    (Phase.ACCEPTED, Received.VALID_REPORT): Phase.TRANSFER,
    (Phase.ACCEPTED, Received.INVALID_REPORT): Phase.REFUSED,
    (Phase.ACCEPTED, Received.SILENCE): Phase.CLOSED,
    (Phase.ACCEPTED, Received.CROWDED): Phase.CLOSED,
    (Phase.ACCEPTED, Received.END): Phase.CLOSED,
    (Phase.TRANSFER, Received.VALID_REPORT): Phase.TRANSFER,
    (Phase.TRANSFER, Received.INVALID_REPORT): Phase.CLOSED,
    (Phase.TRANSFER, Received.SILENCE): Phase.CLOSED,
    (Phase.TRANSFER, Received.EXPIRED): Phase.CLOSED,
    (Phase.TRANSFER, Received.CROWDED): Phase.CLOSED,
    (Phase.TRANSFER, Received.END): Phase.CLOSED,
    # A refused peer stays refused whatever it reports later: its log has diverged.
    (Phase.REFUSED, Received.VALID_REPORT): Phase.REFUSED,
    (Phase.REFUSED, Received.INVALID_REPORT): Phase.REFUSED,
    (Phase.REFUSED, Received.SILENCE): Phase.CLOSED,
    (Phase.REFUSED, Received.CROWDED): Phase.CLOSED,
    (Phase.REFUSED, Received.END): Phase.CLOSED,
}


@dataclass(slots=True, eq=False)
class HaConnection:
    conn: Conn
    address: str
    got_on: tuple[bool, int]
    """Whether it has reported progress since its first report, and when it last did."""
    last_read: int
    last_write: int
    phase: Phase = Phase.ACCEPTED
    reports: ReportReader = field(default_factory=ReportReader)
    next_offset: int = -1
    acked: int = -1
    unsent: bytes = b""
    """The unsent rest of a frame."""


class HaMaster:
    """All HA connections of a master, and the sends that wait for a slave's report."""

    transfer_class: ClassVar[type[GroupTransfer]] = GroupTransfer

    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.io = io
        self.watcher = watcher
        self.connections: dict[Conn, HaConnection] = {}
        self.needed = config.slaves_to_wait_for
        self.checks_availability = not config.version.counts_replicas
        self.group_transfer = self.transfer_class(config.version.ack_wait, config.ack_timeout_ms * MS, io, self.enough)
        self.flushed_only = config.haPushes == "flushed"
        # Monotone over all connections of an incarnation (push2SlaveMaxOffset).
        self.push_offset = 0
        self.batch = config.haTransferBatchSize
        self.heartbeat_ns = config.haSendHeartbeatInterval * MS
        self.housekeeping_ns = config.haHousekeepingInterval * MS
        self.fall_behind_max = config.haSlaveFallbehindMax

    # Decisions: one small method per question.

    def push_limit(self) -> int:
        return self.log.flushed if self.flushed_only else self.log.end

    def start_offset(self, reported: int) -> int | None:
        """Where the copy of a peer with this first report starts; None refuses it.

        Inherited: 3661, 9580 (4.x, 5.x): an empty slave receives the master's last file only, not what is before it.
        Law: ``ha-start-offset``.
        """
        if reported == 0:
            limit = self.push_limit()
            return limit - limit % self.log.file_size
        if self.log.start <= reported <= self.log.end:
            return reported
        return None

    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        """Whether an honest slave on this connection could hold ``reported`` bytes: at most what it was sent."""
        return 0 <= reported <= min(self.log.end, peer.next_offset)

    def may_push(self, peer: HaConnection) -> bool:
        if self.flushed_only and peer.next_offset > self.log.flushed:
            return False
        return peer.phase is Phase.TRANSFER

    def frame_body(self, peer: HaConnection) -> bytes:
        return self.log.read(peer.next_offset, min(self.batch, self.push_limit() - peer.next_offset))

    def counts_as_slave(self, peer: HaConnection) -> bool:
        return peer.phase is Phase.TRANSFER

    def slave_available(self, end: int) -> bool:
        """Whether a slave is available to a send that ends at ``end`` (isSlaveOK); True where versions do not check."""
        if not self.checks_availability:
            return True
        if end - self.push_offset >= self.fall_behind_max:
            return False
        return any(self.counts_as_slave(each) for each in self.connections.values())

    def makes_room(self, address: str) -> HaConnection | None:
        """The connection to close before a peer of this address is accepted; None while there is room.

        It belongs to an address with the most connections, so that one address cannot crowd out another.
        """
        counts = Counter(each.address for each in self.connections.values())
        crowded = {address}
        if counts[address] < MAX_PER_ADDRESS:
            if len(self.connections) < MAX_CONNECTIONS:
                return None
            most = max(counts.values())
            crowded = {each for each, count in counts.items() if count == most}
        return min(
            (each for each in self.connections.values() if each.address in crowded), key=lambda each: each.got_on
        )

    def replica_of(self, peer: HaConnection) -> Hashable:
        """The slave of this connection: its reports count once, however many connections it has left behind."""
        return self.io.peer(peer.conn)

    def believe(self, reported: int) -> None:
        """Accept a report: raise the push offset and answer the sends that enough slaves now hold."""
        self.push_offset = max(self.push_offset, reported)
        self.group_transfer.covered(self.reached())

    def reached(self) -> int:
        if self.needed <= 1:
            return self.push_offset
        acked = sorted(self._replicas().values(), reverse=True)
        return min(self.push_offset, acked[self.needed - 1]) if len(acked) >= self.needed else 0

    def enough(self, send: Waiting) -> bool:
        holders = (acked >= send.end and slave not in send.without for slave, acked in self._replicas().items())
        return sum(holders) >= self.needed

    def await_slave(self, end: int, answer: Callable[[str], None]) -> None:
        if self.reached() >= end:
            answer("PUT_OK")
        else:
            self.group_transfer.add(end, answer)

    def on_accepted(self, conn: Conn) -> None:
        """A peer connected to the HA port. Peers without progress must not keep a slave out."""
        address = self.io.address(conn)[0]
        crowded = self.makes_room(address)
        if crowded is not None:
            self._move(crowded, Received.CROWDED)
        now = self.io.now()
        self.connections[conn] = HaConnection(conn, address, (False, now), now, now)
        self.io.timer(("ha-silence", conn), now + self.housekeeping_ns)

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        peer = self.connections.get(conn)
        if peer is None:
            return
        peer.last_read = self.io.now()
        for reported in peer.reports.feed(data):
            self._on_report(peer, reported)
            if peer.phase is Phase.CLOSED:
                return

    def on_writable(self, conn: Conn) -> None:
        peer = self.connections.get(conn)
        if peer is not None:
            if peer.unsent:
                self._write(peer, peer.unsent)
            self._pump(peer)

    def on_closed(self, conn: Conn) -> None:
        peer = self.connections.get(conn)
        if peer is not None:
            self._move(peer, Received.END)

    def on_timer(self, key: tuple[str, Hashable]) -> None:
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
        for peer in self.connections.values():
            if peer.phase is not Phase.ACCEPTED and not peer.unsent:
                self._pump(peer)

    def expired(self) -> None:
        for peer in list(self.connections.values()):
            if peer.phase is Phase.TRANSFER and peer.next_offset < self.log.start:
                self.watcher.refused(peer.conn, peer.acked, self.log.end, "its next bytes have expired on the master")
                self._move(peer, Received.EXPIRED)

    def _replicas(self) -> dict[Hashable, int]:
        """The last report of every slave: its newest connection overrules those that it has left."""
        peers = self.connections.values()
        return {self.replica_of(each): each.acked for each in peers if each.phase is Phase.TRANSFER}

    def _on_report(self, peer: HaConnection, reported: int) -> None:
        if peer.phase is Phase.ACCEPTED:
            self._on_first_report(peer, reported)
        elif peer.phase is Phase.TRANSFER:
            if self.is_believable(peer, reported):
                if reported > peer.acked:
                    peer.got_on = (True, self.io.now())
                peer.acked = reported
                self.believe(reported)
            else:
                self._move(peer, Received.INVALID_REPORT)

    def _on_first_report(self, peer: HaConnection, reported: int) -> None:
        start = self.start_offset(reported)
        if start is None:
            why = "ahead of the master's log end" if reported > self.log.end else "before the master's log start"
            self.watcher.refused(peer.conn, reported, self.log.end, why)
            self._move(peer, Received.INVALID_REPORT)
            return
        if reported == 0:
            # A slave without a log: its later reports do not cover what precedes its start.
            self.group_transfer.abandon(start, self.replica_of(peer))
        peer.next_offset = start
        peer.acked = reported
        self._move(peer, Received.VALID_REPORT)
        self.believe(reported)
        self._check_heartbeat(peer)
        self._pump(peer)

    def _move(self, peer: HaConnection, received: Received) -> None:
        peer.phase = NEXT[peer.phase, received]
        if peer.phase is Phase.CLOSED:
            del self.connections[peer.conn]
            self.io.cancel(("ha-silence", peer.conn))
            self.io.cancel(("ha-heartbeat", peer.conn))
            if received is not Received.END:
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

    def _check_heartbeat(self, peer: HaConnection) -> None:
        if peer.phase is not Phase.TRANSFER:
            return
        now = self.io.now()
        if now - peer.last_write >= self.heartbeat_ns and not peer.unsent and self.may_push(peer):
            self._write(peer, encode_header(peer.next_offset, 0))
        # Lazy: one timer per link, moved only when it fires.
        due = peer.last_write + self.heartbeat_ns
        self.io.timer(("ha-heartbeat", peer.conn), due if due > now else now + self.heartbeat_ns)

    def _check_silence(self, peer: HaConnection) -> None:
        due = peer.last_read + self.housekeeping_ns
        if self.io.now() >= due:
            self._move(peer, Received.SILENCE)
        else:
            self.io.timer(("ha-silence", peer.conn), due)
