"""The slave's half of HA replication: HAClient of RocketMQ 4.9, sans-IO.

Connects to the master, reports its log end, appends what it receives and reports each step. If the socket does not take
a report within three writes, the slave closes the connection; with ``haCutReports=waits`` it sends
the rest when the socket has room, followed only by the newest log end. A frame that does not start at the log's end is
never appended: the slave reconnects and reports its own end. Only an empty log accepts any first offset. Bytes that do
not fit the slave's files (:mod:`pairproof.reference.core.boundaries`) are not stored, and end the copy until a restart.

Where this differs from 4.9 on purpose: it detects a silent master (4.9 checks its own writes), a failed append ends the
connection (4.9 ignores it), reconnects are at least five seconds apart (4.9 does not wait), and it detects files of
another size than the master's (4.9 writes an unreadable log).
"""

from enum import Enum, auto

from ..errors import CodecError
from ..ports import MS, Conn, Effects, Watcher
from ..wire.ha import FrameReader, encode_report
from .boundaries import Boundaries
from .commit_log import CommitLog
from .config import BrokerConfig

RECONNECT_NS = 5_000 * MS
REPORT_WRITES = 3
MAX_FRAME_BODY = 4 * 1024 * 1024 - 12


class Phase(Enum):
    STOPPED = auto()
    WAITING = auto()
    CONNECTING = auto()
    CONNECTED = auto()


class Received(Enum):
    GO = auto()
    CONNECTED = auto()
    LOST = auto()
    STOP = auto()


NEXT: dict[tuple[Phase, Received], Phase] = {
    (Phase.STOPPED, Received.GO): Phase.CONNECTING,
    (Phase.WAITING, Received.GO): Phase.CONNECTING,
    (Phase.WAITING, Received.STOP): Phase.STOPPED,
    (Phase.CONNECTING, Received.CONNECTED): Phase.CONNECTED,
    (Phase.CONNECTING, Received.LOST): Phase.WAITING,
    (Phase.CONNECTING, Received.STOP): Phase.STOPPED,
    (Phase.CONNECTED, Received.LOST): Phase.WAITING,
    (Phase.CONNECTED, Received.STOP): Phase.STOPPED,
}


class HaSlave:
    """One slave's copy of its master's log. ``appended`` is called with each new piece: (lo, hi)."""

    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.boundaries = Boundaries(log)
        self.io = io
        self.watcher = watcher
        self.address = config.haMasterAddress
        self.heartbeat_ns = config.haSendHeartbeatInterval * MS
        self.housekeeping_ns = config.haHousekeepingInterval * MS
        self.phase = Phase.STOPPED
        self.conn: Conn = None
        self.frames = FrameReader(MAX_FRAME_BODY)
        self.reported = 0
        self.waits = config.haCutReports == "waits"
        self.writes = 1 if self.waits else REPORT_WRITES
        self.unsent = b""
        self.last_write = 0
        self.last_read = 0
        self.last_attempt = 0

    def accepts(self, offset: int) -> bool:
        return self.log.end == 0 or offset == self.log.end

    def append(self, offset: int, body: bytes) -> bool:
        if not self.fits(offset, body) or not self.log.append(offset, body):
            return False
        self.boundaries.stored()
        if body:
            self.watcher.appended(offset, offset + len(body), body, "replicate")
        return True

    def fits(self, offset: int, body: bytes) -> bool:
        """Whether the log stays readable with these bytes."""
        return self.boundaries.fits(offset, body)

    def report_value(self) -> int:
        return self.log.end

    def start(self) -> None:
        """Begin to copy. Without an address, or with files of another size, the slave only serves its log."""
        if self.address and self.boundaries.misfit is None:
            self._move(Received.GO)

    def follow(self, address: str) -> None:
        self.address = address
        if self.phase is Phase.STOPPED:
            self.start()

    def stop(self) -> None:
        if self.phase is not Phase.STOPPED:
            conn = self.conn
            self._move(Received.STOP)
            if conn is not None:
                self.io.close(conn)

    def on_connected(self, conn: Conn) -> None:
        """The connection is open. The first report waits one heartbeat interval, as in 4.9."""
        if self.phase is not Phase.CONNECTING:
            self.io.close(conn)
            return
        self._move(Received.CONNECTED)
        self.conn = conn
        self.frames = FrameReader(MAX_FRAME_BODY)
        self.unsent = b""
        self.reported = self.report_value()
        now = self.last_write = self.last_read = self.io.now()
        self.io.timer(("ha-report", None), now + self.heartbeat_ns)
        self.io.timer(("ha-silence", None), now + self.housekeeping_ns)

    def on_lost(self) -> None:
        if self.phase in (Phase.CONNECTING, Phase.CONNECTED):
            self._move(Received.LOST)

    def on_bytes(self, data: bytes) -> bool:
        if self.phase is not Phase.CONNECTED:
            return False
        self.last_read = self.io.now()
        before = self.log.end
        try:
            for offset, body in self.frames.feed(data):
                if not self._on_frame(offset, body):
                    self._drop()
                    break
            else:
                announced = self.frames.announced
                if announced is not None and not self.accepts(announced[0]):
                    self._drop()
        except CodecError:
            self._drop()
        return self.log.end > before

    def on_writable(self) -> None:
        if self.unsent:
            self._write(self.unsent)
            if not self.unsent and self.report_value() > self.reported:
                self._report()

    def on_timer(self, key: tuple[str, None]) -> None:
        now = self.io.now()
        if key[0] == "ha-reconnect":
            if self.phase is Phase.WAITING:
                self._move(Received.GO)
        elif self.phase is not Phase.CONNECTED:
            return
        elif key[0] == "ha-report":
            if now - self.last_write >= self.heartbeat_ns and not self.unsent and not self._report():
                self._drop()
                return
            due = self.last_write + self.heartbeat_ns
            self.io.timer(key, due if due > now else now + self.heartbeat_ns)
        elif now - self.last_read >= self.housekeeping_ns:
            self._drop()
        else:
            self.io.timer(key, self.last_read + self.housekeeping_ns)

    def _on_frame(self, offset: int, body: bytes) -> bool:
        if not self.accepts(offset) or not self.append(offset, body):
            return False
        return self.unsent != b"" or self.report_value() <= self.reported or self._report()

    def _report(self) -> bool:
        self.reported = self.report_value()
        return self._write(encode_report(self.reported))

    def _write(self, cell: bytes) -> bool:
        """Whether the connection continues: the cell has left, or its rest may follow."""
        for _ in range(self.writes):
            taken = self.io.send(self.conn, cell)
            cell = cell[taken:]
            if taken:
                self.last_write = self.io.now()
            if not cell:
                break
        self.unsent = cell
        return self.waits or not cell

    def _drop(self) -> None:
        if self.boundaries.misfit is not None:
            self.watcher.misfits(self.boundaries.misfit)
            self.stop()
            return
        self.io.close(self.conn)
        self._move(Received.LOST)

    def _move(self, received: Received) -> None:
        self.phase = NEXT[self.phase, received]
        now = self.io.now()
        if self.phase is Phase.CONNECTING:
            self.last_attempt = now
            self.io.connect(self.address)
        elif self.phase is Phase.WAITING:
            self.conn = None
            self.io.timer(("ha-reconnect", None), max(now, self.last_attempt + RECONNECT_NS))
        elif self.phase is Phase.STOPPED:
            self.conn = None
