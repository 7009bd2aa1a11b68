"""Mutants of the master's side of replication."""

from collections.abc import Callable, Hashable

from ...reference.core.flushing import Flusher
from ...reference.core.group_transfer import GroupTransfer
from ...reference.core.ha_master import MAX_CONNECTIONS, HaConnection, HaMaster, Phase
from ...reference.ports import Conn
from .mutant import Mutant, seeded, with_parts


@seeded("master", "ha-silent-until-asked", "pushes to a connection that has not reported yet")
class EagerPush(HaMaster):
    def on_accepted(self, conn: Conn) -> None:
        super().on_accepted(conn)
        self._on_first_report(self.connections[conn], 0)
        self.connections[conn].phase = Phase.ACCEPTED


@seeded("master", "ha-start-offset", "starts at a file boundary instead of the reported offset")
class RoundsStart(HaMaster):
    def start_offset(self, reported: int) -> int | None:
        start = super().start_offset(reported)
        return start if start is None else start - start % self.log.file_size


@seeded("master", "ha-contiguous", "sends unacknowledged bytes again on the same connection")
class GoesBack(HaMaster):
    def _check_heartbeat(self, peer: HaConnection) -> None:
        if peer.phase is Phase.TRANSFER and 0 < peer.acked < peer.next_offset and not peer.unsent:
            peer.next_offset = peer.acked
            self._pump(peer)
        super()._check_heartbeat(peer)


@seeded("master", "ha-batch-bound", "lets a frame's body cross a file boundary")
class CrossesFiles(HaMaster):
    def frame_body(self, peer: HaConnection) -> bytes:
        body = super().frame_body(peer)
        return body + self.log.read(peer.next_offset + len(body), self.batch - len(body)) if body else body


@seeded("master", "ha-divergence-refused", "serves slaves that are ahead, and counts their reports", seen_in="4.x, 5.x")
class BelievesFirstReport(HaMaster):
    def start_offset(self, reported: int) -> int | None:
        return super().start_offset(reported) if reported == 0 else reported

    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        return reported <= self.log.end or reported == peer.acked


@seeded("master", "ha-ack-identity", "accepts reports above its log", seen_in="5.x")
class BelievesEveryReport(HaMaster):
    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        return True


@seeded("master", "ha-divergence-refused", "sends its own bytes to a slave that is ahead", seen_in="4.x, 5.x")
class ServesDiverged(HaMaster):
    def start_offset(self, reported: int) -> int | None:
        return min(reported, self.log.end) if reported > self.log.end else super().start_offset(reported)

    def believe(self, reported: int) -> None:
        if reported <= self.log.end:
            super().believe(reported)


@seeded("master", "ha-divergence-refused", "reports served slaves as diverged")
class NamesEverybody(HaMaster):
    def _on_first_report(self, peer: HaConnection, reported: int) -> None:
        self.watcher.refused(peer.conn, reported, self.log.end, "who knows")
        super()._on_first_report(peer, reported)


@seeded("master", "ack-unavailable-honest", "accepts any peer as a slave", seen_in="4.x")
class BareConnectionCounts(HaMaster):
    def counts_as_slave(self, peer: HaConnection) -> bool:
        return peer.phase is not Phase.CLOSED


@seeded("master", "ack-replicated", "answers PUT_OK before a slave has reported the message")
class AcksAtOnce(GroupTransfer):
    def add(self, end: int, answer: Callable[[str], None]) -> None:
        answer("PUT_OK")


@seeded("master", "ack-timeout-honest", "times out after five reports, not after slaveTimeout", seen_in="<=4.5.2")
class FiveWakeUps(GroupTransfer):
    def covered(self, offset: int) -> None:
        super().covered(offset)
        if self.waiting:
            self.turn_ends -= self.timeout_ns // 5
            self.on_timer()


class WakesForNothing(GroupTransfer):
    def covered(self, offset: int) -> None:
        self.reached = min(self.reached, offset - 1)
        super().covered(offset)


@seeded("master", "ack-timeout-honest", "times out after a fifth of slaveTimeout")
class ForgetsDeadline(GroupTransfer):
    def add(self, end: int, answer: Callable[[str], None]) -> None:
        patience, self.timeout_ns = self.timeout_ns, self.timeout_ns // 5
        super().add(end, answer)
        self.timeout_ns = patience


@seeded("master", "ack-replicated", "counts a new slave's reports for files that it never received", seen_in="4.x, 5.x")
class CoversOlderFiles(GroupTransfer):
    def abandon(self, below: int, slave: Hashable) -> None:
        """A slave with a sufficient report has it all."""


@seeded("master", "log-flushed-survives", "answers PUT_OK under SYNC_FLUSH after a timed-out flush")
class CallsTimeoutOk(Flusher):
    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        super().wait(end, lambda status: answer("PUT_OK"))


@seeded("master", "ha-admits-slave", "lets plausible rogue slaves take all connections")
class CrowdedOut(HaMaster):
    def makes_room(self, address: str) -> HaConnection | None:
        if len(self.connections) < MAX_CONNECTIONS:
            return None
        return next((each for each in self.connections.values() if each.phase is not Phase.TRANSFER), None)

    def on_accepted(self, conn: Conn) -> None:
        if len(self.connections) >= MAX_CONNECTIONS and self.makes_room("") is None:
            self.io.close(conn)
        else:
            super().on_accepted(conn)


WAKES_FOR_NOTHING = Mutant(
    "wakes_for_nothing", "master", with_parts(transfer_class=WakesForNothing), "ack-timeout-honest",
    "4.4 that counts heartbeats as wake-ups",
)  # fmt: skip
"""Not in the catalogue: few schedules play 4.4 with a slave that reports and receives nothing."""
