"""Mutants of the slave's side of replication."""

from __future__ import annotations

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.ha_slave import HaSlave
from pairproof.reference.ports import Conn
from pairproof.reference.wire.ha import encode_report


class ReportsAnnounced(HaSlave):
    """Reports a frame as soon as its header is there."""

    def on_bytes(self, data: bytes) -> bool:
        """Promise what has not come yet."""
        grown = super().on_bytes(data)
        announced = self.frames.announced
        if self.conn is not None and announced is not None and not self.unsent:
            self._write(encode_report(announced[0] + announced[1]))
        return grown


class ChecksNoOffset(HaSlave):
    """Appends whatever comes, wherever it belongs."""

    def accepts(self, offset: int) -> bool:
        return True

    def append(self, offset: int, body: bytes) -> bool:
        """At the own end, if the file has room."""
        return super().append(self.log.end, body) if self.log.end else super().append(offset, body)


class IgnoresHeartbeatOffset(HaSlave):
    """Looks at the offset of data only."""

    def accepts(self, offset: int) -> bool:
        """Any, while no body follows."""
        announced = self.frames.announced
        return super().accepts(offset) or announced is None or announced[1] == 0

    def append(self, offset: int, body: bytes) -> bool:
        """Nothing to append, nothing to check."""
        return not body or (super().accepts(offset) and super().append(offset, body))


class IgnoresFullDisk(HaSlave):
    """Goes on as if a frame that did not fit on its disk were stored: RocketMQ 4.x and 5.x."""

    def append(self, offset: int, body: bytes) -> bool:
        """Whatever came of it."""
        super().append(offset, body)
        return True


class RepeatsFrame(HaSlave):
    """Takes the last frame of the old connection again after a reconnect."""

    last: bytes = b""
    again: bool = False

    def append(self, offset: int, body: bytes) -> bool:
        """Append, and once after a reconnect what was last appended before."""
        stored = super().append(offset, body)
        if self.again and self.last and stored:
            self.again = False
            super().append(self.log.end, self.last)
        self.last = body or self.last
        return stored

    def on_connected(self, conn: Conn) -> None:
        """Remember that this is another connection."""
        self.again = bool(self.last)
        super().on_connected(conn)


class IgnoresFileSize(HaSlave):
    """Stores what it cannot read back, since its files have another size than the master's: RocketMQ 4.x and 5.x."""

    def fits(self, offset: int, body: bytes) -> bool:
        return True


class NeverReconnects(HaSlave):
    """Once is enough."""

    def on_timer(self, key: tuple[str, None]) -> None:
        if key[0] != "ha-reconnect":
            super().on_timer(key)


def _mutant(name: str, part: type[HaSlave], law: str, breaks: str) -> Mutant:
    return Mutant(name, "slave", with_parts(slave_class=part), law, breaks)


SLAVE = (
    _mutant("reports_announced", ReportsAnnounced, "ha-report-monotone", "reports a frame whose body has not arrived"),
    _mutant("checks_no_offset", ChecksNoOffset, "ha-mismatch-closes", "appends frames that do not continue its log"),
    _mutant("ignores_heartbeat_offset", IgnoresHeartbeatOffset, "ha-mismatch-closes", "checks no heartbeat's offset"),
    _mutant("ignores_full_disk", IgnoresFullDisk, "ha-appends-frames", "goes on after a failed append"),
    _mutant("ignores_file_size", IgnoresFileSize, "ha-file-size", "stores records across its files' borders"),
    _mutant("repeats_frame", RepeatsFrame, "log-slave-behind", "appends a frame twice after a reconnect"),
    _mutant("never_reconnects", NeverReconnects, "live-converges", "stays away after its first connection is lost"),
)
