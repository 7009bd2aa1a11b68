"""The slave's half of HA replication: HAClient of RocketMQ 4.9, sans-IO.

Connects to the master, says how far its log reaches, appends what comes and reports each step. A report that the socket
does not take in the version's number of writes closes the connection, unless ``haCutReports=waits``: then the rest of
it leaves when the socket has room, and only the newest log end after it. A frame that does not start where the log ends
is never appended: the slave closes and asks again from its own end. Only a slave without any log takes whatever offset
comes first. What does not fit the slave's files (:mod:`pairproof.reference.core.boundaries`) is not stored either, and
ends the copy until the slave is started again.

Where this differs from 4.9 on purpose: a silent master is noticed (4.9 looks at its own writes), an append that fails
ends the connection (4.9 ignores it), reconnects are at least five seconds apart (4.9 does not wait), and files of
another size than the master's are noticed (4.9 writes a log that it cannot read).
"""

from enum import Enum, auto

from ..errors import CodecError
from ..ports import MS, Conn, Effects, Watcher
from ..wire.ha import FrameReader, encode_report
from .boundaries import Boundaries
from .commit_log import CommitLog
from .config import BrokerConfig

RECONNECT_NS = 5_000 * MS
MAX_FRAME_BODY = 4 * 1024 * 1024 - 12


class Phase(Enum):
    """Where the slave stands."""

    STOPPED = auto()
    WAITING = auto()
    CONNECTING = auto()
    CONNECTED = auto()


class Heard(Enum):
    """What can happen to the slave's connection."""

    GO = auto()
    CONNECTED = auto()
    LOST = auto()
    STOP = auto()


NEXT: dict[tuple[Phase, Heard], Phase] = {
    (Phase.STOPPED, Heard.GO): Phase.CONNECTING,
    (Phase.WAITING, Heard.GO): Phase.CONNECTING,
    (Phase.WAITING, Heard.STOP): Phase.STOPPED,
    (Phase.CONNECTING, Heard.CONNECTED): Phase.CONNECTED,
    (Phase.CONNECTING, Heard.LOST): Phase.WAITING,
    (Phase.CONNECTING, Heard.STOP): Phase.STOPPED,
    (Phase.CONNECTED, Heard.LOST): Phase.WAITING,
    (Phase.CONNECTED, Heard.STOP): Phase.STOPPED,
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
        self.writes = 1 if self.waits else config.version.report_writes
        self.unsent = b""
        self.last_write = 0
        self.last_read = 0
        self.last_attempt = 0

    # Decisions.

    def accepts(self, offset: int) -> bool:
        """Whether a frame that starts at ``offset`` continues this log."""
        return self.log.end == 0 or offset == self.log.end

    def append(self, offset: int, body: bytes) -> bool:
        """Store a whole frame's body; False if the store would not, or the body does not fit its files."""
        if not self.fits(offset, body) or not self.log.append(offset, body):
            return False
        self.boundaries.stored()
        if body:
            self.watcher.appended(offset, offset + len(body), body, "replicate")
        return True

    def fits(self, offset: int, body: bytes) -> bool:
        """Whether the log can be read back with this in it."""
        return self.boundaries.fits(offset, body)

    def report_value(self) -> int:
        """What the slave may claim: the bytes that are in its log."""
        return self.log.end

    # What the shell tells us.

    def start(self) -> None:
        """Begin to copy; without an address, or with files of another size, the slave just serves what it has."""
        if self.address and self.boundaries.misfit is None:
            self._move(Heard.GO)

    def follow(self, address: str) -> None:
        """The master is there now; acted on at the next connect."""
        self.address = address
        if self.phase is Phase.STOPPED:
            self.start()

    def stop(self) -> None:
        if self.phase is not Phase.STOPPED:
            conn = self.conn
            self._move(Heard.STOP)
            if conn is not None:
                self.io.close(conn)

    def on_connected(self, conn: Conn) -> None:
        """The connection stands. Nothing is sent yet: the first report waits one heartbeat interval, as in 4.9."""
        if self.phase is not Phase.CONNECTING:
            self.io.close(conn)
            return
        self._move(Heard.CONNECTED)
        self.conn = conn
        self.frames = FrameReader(MAX_FRAME_BODY)
        self.unsent = b""
        self.reported = self.report_value()
        now = self.last_write = self.last_read = self.io.now()
        self.io.timer(("ha-report", None), now + self.heartbeat_ns)
        self.io.timer(("ha-silence", None), now + self.housekeeping_ns)

    def on_lost(self) -> None:
        """The connection could not be made, or was closed by the other side."""
        if self.phase in (Phase.CONNECTING, Phase.CONNECTED):
            self._move(Heard.LOST)

    def on_bytes(self, data: bytes) -> bool:
        """Bytes of the master; True if the log grew."""
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
        """The socket takes bytes again: finish the report that it cut, if that waits."""
        if self.unsent:
            self._write(self.unsent)
            if not self.unsent and self.report_value() > self.reported:
                self._report()

    def on_timer(self, key: tuple[str, None]) -> None:
        """Time to reconnect, to report, or to notice that the master is silent."""
        now = self.io.now()
        if key[0] == "ha-reconnect":
            if self.phase is Phase.WAITING:
                self._move(Heard.GO)
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

    # How it is done.

    def _on_frame(self, offset: int, body: bytes) -> bool:
        if not self.accepts(offset) or not self.append(offset, body):
            return False
        return self.unsent != b"" or self.report_value() <= self.reported or self._report()

    def _report(self) -> bool:
        self.reported = self.report_value()
        return self._write(encode_report(self.reported))

    def _write(self, cell: bytes) -> bool:
        """Whether the connection goes on: the whole cell has left, or the rest may follow when the socket has room."""
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
        self._move(Heard.LOST)

    def _move(self, heard: Heard) -> None:
        self.phase = NEXT[self.phase, heard]
        now = self.io.now()
        if self.phase is Phase.CONNECTING:
            self.last_attempt = now
            self.io.connect(self.address)
        elif self.phase is Phase.WAITING:
            self.conn = None
            self.io.timer(("ha-reconnect", None), max(now, self.last_attempt + RECONNECT_NS))
        elif self.phase is Phase.STOPPED:
            self.conn = None
