"""Mutants of the replication stream: timing, framing, and incomplete pieces."""

from typing import Any, ClassVar

from ...reference.core.commit_log import CommitLog
from ...reference.core.config import BrokerConfig
from ...reference.core.ha_master import HaConnection, HaMaster, Phase
from ...reference.core.ha_slave import HaSlave
from ...reference.ports import Conn, Effects, Watcher
from ...reference.wire.ha import HEADER_SIZE, encode_header
from .mutant import seeded


@seeded("slave", "ha-report-framing", "begins a new report after a partial one")
class ForgetsCellRest(HaSlave):
    def _write(self, cell: bytes) -> bool:
        super()._write(cell)
        self.unsent = b""
        return True


@seeded("slave", "ha-report-prompt", "does not report what it has appended")
class ReportsByTheClock(HaSlave):
    def _on_frame(self, offset: int, body: bytes) -> bool:
        return self.accepts(offset) and self.append(offset, body)


@seeded("slave", "ha-housekeeping", "never notices a silent master", seen_in="4.9")
class DeafToSilence(HaSlave):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key[0] == "ha-silence":
            self.last_read = max(self.last_read, self.last_write)
        super().on_timer(key)


@seeded("slave", "ha-appends-frames", "appends an incomplete frame")
class AppendsPieces(HaSlave):
    def on_bytes(self, data: bytes) -> bool:
        before = self.log.end
        super().on_bytes(data)
        announced = self.frames.announced
        if self.conn is not None and announced is not None and self.accepts(announced[0]):
            piece = bytes(self.frames._buffer[HEADER_SIZE:])
            if piece:
                self.append(announced[0], piece)
        return self.log.end > before


@seeded("master", "ha-frame-finished", "begins a new frame after a partial one")
class ForgetsFrameRest(HaMaster):
    def _write(self, peer: HaConnection, frame: bytes) -> None:
        super()._write(peer, frame)
        peer.unsent = b""


@seeded("master", "ha-frame-finished", "leaves a frame unfinished for good")
class NeverWritesAgain(HaMaster):
    def on_writable(self, conn: Conn) -> None:
        """Ignored."""


@seeded("master", "ha-frame-finished", "inserts heartbeats into unfinished frames")
class BeatsInsideFrames(HaMaster):
    def _check_heartbeat(self, peer: HaConnection) -> None:
        if peer.unsent and self.io.now() - peer.last_write >= self.heartbeat_ns:
            peer.unsent = encode_header(peer.next_offset, 0) + peer.unsent
        super()._check_heartbeat(peer)


@seeded("master", "ha-heartbeat", "sends no heartbeats on an idle link")
class NeverBeats(HaMaster):
    def _check_heartbeat(self, peer: HaConnection) -> None:
        pass


@seeded("master", "ha-heartbeat", "sends five heartbeats where one is due")
class BeatsTooOften(HaMaster):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.heartbeat_ns //= 5


@seeded("master", "ha-heartbeat", "sends the acknowledged offset in heartbeats")
class BeatsAcknowledged(HaMaster):
    def _check_heartbeat(self, peer: HaConnection) -> None:
        following, peer.next_offset = peer.next_offset, max(peer.acked, 0) or peer.next_offset
        super()._check_heartbeat(peer)
        peer.next_offset = following


@seeded("master", "ha-housekeeping", "drops peers after a quarter of haHousekeepingInterval")
class Impatient(HaMaster):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.housekeeping_ns //= 4


@seeded("master", "ha-housekeeping", "keeps a silent slave")
class KeepsTheSilent(HaMaster):
    def _check_silence(self, peer: HaConnection) -> None:
        if peer.phase is Phase.ACCEPTED:
            super()._check_silence(peer)


@seeded("master", "ha-wakeup", "lets new data wait for a poll")
class SleepsOn(HaMaster):
    nap_ns: ClassVar[int] = 1_000_000_000

    def wake(self) -> None:
        for conn, peer in self.connections.items():
            if peer.phase is Phase.TRANSFER:
                self.io.timer(("ha-nap", conn), self.io.now() + self.nap_ns)

    def on_timer(self, key: tuple[str, object]) -> None:
        peer = self.connections.get(key[1]) if key[0] == "ha-nap" else None
        if peer is not None:
            self._pump(peer)
        elif key[0] != "ha-nap":
            super().on_timer(key)


@seeded("master", "ha-wakeup", "delays data of a waiting send by 50 ms")
class Naps(SleepsOn):
    nap_ns = 50_000_000


@seeded("master", "ha-role-independent", "pushes whole batches as ASYNC_MASTER")
class AsyncPushesBatches(HaMaster):
    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        super().__init__(config, log, io, watcher)
        self.asynchronous = config.brokerRole == "ASYNC_MASTER"

    def frame_body(self, peer: HaConnection) -> bytes:
        body = super().frame_body(peer)
        return b"" if self.asynchronous and len(body) < self.batch else body


@seeded("master", "ha-role-independent", "ignores haPushes=flushed")
class PushesUnflushed(HaMaster):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.flushed_only = False
