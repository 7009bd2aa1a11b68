"""Mutants of the slave's side of replication."""

from ...reference.core.ha_slave import HaSlave
from ...reference.ports import MS, Conn
from ...reference.wire.ha import encode_report
from .mutant import seeded


@seeded("slave", "ha-report-monotone", "reports a frame whose body has not arrived")
class ReportsAnnounced(HaSlave):
    def on_bytes(self, data: bytes) -> bool:
        grown = super().on_bytes(data)
        announced = self.frames.announced
        if self.conn is not None and announced is not None and not self.unsent:
            self._write(encode_report(announced[0] + announced[1]))
        return grown


@seeded(
    "slave", "ha-heartbeat", "takes what it reads for its report, so that an idle slave sends none", seen_in="<=4.5.1"
)
class ReadsForReports(HaSlave):
    def on_bytes(self, data: bytes) -> bool:
        # Java's millisecond clock must exceed the interval.
        self.last_write = self.io.now() + MS
        return super().on_bytes(data)


@seeded("slave", "ha-mismatch-closes", "appends frames that do not continue its log")
class ChecksNoOffset(HaSlave):
    def accepts(self, offset: int) -> bool:
        return True

    def append(self, offset: int, body: bytes) -> bool:
        return super().append(self.log.end, body) if self.log.end else super().append(offset, body)


@seeded("slave", "ha-mismatch-closes", "checks no heartbeat's offset")
class IgnoresHeartbeatOffset(HaSlave):
    def accepts(self, offset: int) -> bool:
        announced = self.frames.announced
        return super().accepts(offset) or announced is None or announced[1] == 0

    def append(self, offset: int, body: bytes) -> bool:
        return not body or (super().accepts(offset) and super().append(offset, body))


@seeded("slave", "ha-appends-frames", "continues after a failed append", seen_in="4.x, 5.x")
class IgnoresFullDisk(HaSlave):
    def append(self, offset: int, body: bytes) -> bool:
        super().append(offset, body)
        return True


@seeded("slave", "log-slave-behind", "appends a frame twice after a reconnect")
class RepeatsFrame(HaSlave):
    last: bytes = b""
    again: bool = False

    def append(self, offset: int, body: bytes) -> bool:
        stored = super().append(offset, body)
        if self.again and self.last and stored:
            self.again = False
            super().append(self.log.end, self.last)
        self.last = body or self.last
        return stored

    def on_connected(self, conn: Conn) -> None:
        self.again = bool(self.last)
        super().on_connected(conn)


@seeded("slave", "ha-file-size", "stores records across its files' boundaries", seen_in="4.x, 5.x")
class IgnoresFileSize(HaSlave):
    def fits(self, offset: int, body: bytes) -> bool:
        return True


@seeded("slave", "live-converges", "does not reconnect after its first connection is lost")
class NeverReconnects(HaSlave):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key[0] != "ha-reconnect":
            super().on_timer(key)
