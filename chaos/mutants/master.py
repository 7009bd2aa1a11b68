"""Mutants of the master's side of replication."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.flushing import Flusher
from pairproof.reference.core.group_transfer import GroupTransfer
from pairproof.reference.core.ha_master import MAX_CONNECTIONS, HaConnection, HaMaster, Phase
from pairproof.reference.ports import Conn


class EagerPush(HaMaster):
    """Takes a new connection for a slave that wants the newest file."""

    def on_accepted(self, conn: Conn) -> None:
        super().on_accepted(conn)
        self._on_first_report(self.connections[conn], 0)
        self.connections[conn].phase = Phase.ACCEPTED


class RoundsStart(HaMaster):
    """Starts every copy at a file border."""

    def start_offset(self, reported: int) -> int | None:
        """Round down what was asked for."""
        start = super().start_offset(reported)
        return start if start is None else start - start % self.log.file_size


class GoesBack(HaMaster):
    """Takes late reports for lost frames and sends them again on the same connection."""

    def _check_heartbeat(self, peer: HaConnection) -> None:
        if peer.phase is Phase.TRANSFER and 0 < peer.acked < peer.next_offset and not peer.unsent:
            peer.next_offset = peer.acked
            self._pump(peer)
        super()._check_heartbeat(peer)


class CrossesFiles(HaMaster):
    """Fills a frame up from the next file."""

    def frame_body(self, peer: HaConnection) -> bytes:
        """Two pieces in one body."""
        body = super().frame_body(peer)
        return body + self.log.read(peer.next_offset + len(body), self.batch - len(body)) if body else body


class BelievesFirstReport(HaMaster):
    """Serves any first report and counts it as an acknowledgement: RocketMQ 4.x and 5.x."""

    def start_offset(self, reported: int) -> int | None:
        """Whatever was asked for."""
        return super().start_offset(reported) if reported == 0 else reported

    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        """4.9.3 and later close only what is above the log on later reports."""
        return reported <= self.log.end or reported == peer.acked


class BelievesEveryReport(HaMaster):
    """Believes whatever a connection reports after its first report: RocketMQ 5.x."""

    def is_believable(self, peer: HaConnection, reported: int) -> bool:
        return True


class ServesDiverged(HaMaster):
    """Sends a slave that is ahead whatever comes next here."""

    def start_offset(self, reported: int) -> int | None:
        return min(reported, self.log.end) if reported > self.log.end else super().start_offset(reported)

    def believe(self, reported: int) -> None:
        """But does not count it."""
        if reported <= self.log.end:
            super().believe(reported)


class NamesEverybody(HaMaster):
    """Calls every slave diverged, also those that it serves."""

    def _on_first_report(self, peer: HaConnection, reported: int) -> None:
        self.watcher.refused(peer.conn, reported, self.log.end, "who knows")
        super()._on_first_report(peer, reported)


class BareConnectionCounts(HaMaster):
    """Any open connection makes a slave available: RocketMQ 4.x."""

    def counts_as_slave(self, peer: HaConnection) -> bool:
        return peer.phase is not Phase.CLOSED


class AcksAtOnce(GroupTransfer):
    """Answers as soon as a slave is there, not when it has the bytes."""

    def add(self, end: int, answer: Callable[[str], None]) -> None:
        answer("PUT_OK")


class FiveWakeUps(GroupTransfer):
    """Gives up after five reports that do not cover a send, whatever the time: RocketMQ up to 4.5.2 waits like this."""

    def covered(self, offset: int) -> None:
        """Each report uses up patience."""
        super().covered(offset)
        if self.waiting:
            self.turn_ends -= self.timeout_ns // 5
            self.on_timer()


class WakesForNothing(GroupTransfer):
    """Takes a report that says nothing new for a wake-up, so that heartbeats end a send of 4.4 early."""

    def covered(self, offset: int) -> None:
        self.reached = min(self.reached, offset - 1)
        super().covered(offset)


class ForgetsDeadline(GroupTransfer):
    """Counts a fifth of slaveTimeout."""

    def add(self, end: int, answer: Callable[[str], None]) -> None:
        patience, self.timeout_ns = self.timeout_ns, self.timeout_ns // 5
        super().add(end, answer)
        self.timeout_ns = patience


class CoversOlderFiles(GroupTransfer):
    """Takes a new slave's report for all that lies before it, although its copy began later: RocketMQ 4.x and 5.x."""

    def abandon(self, below: int, slave: Hashable) -> None:
        """Whoever reports enough has it all."""


class CallsTimeoutOk(Flusher):
    """Answers PUT_OK when a flush takes too long."""

    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        super().wait(end, lambda status: answer("PUT_OK"))


class CrowdedOut(HaMaster):
    """Only peers that have said nothing valid make room."""

    def makes_room(self, address: str) -> HaConnection | None:
        """The oldest of those."""
        if len(self.connections) < MAX_CONNECTIONS:
            return None
        return next((each for each in self.connections.values() if each.phase is not Phase.TRANSFER), None)

    def on_accepted(self, conn: Conn) -> None:
        """With none of them the door is shut."""
        if len(self.connections) >= MAX_CONNECTIONS and self.makes_room("") is None:
            self.io.close(conn)
        else:
            super().on_accepted(conn)


def _transferring(transfer: type[GroupTransfer]) -> type[HaMaster]:
    class Master(HaMaster):
        transfer_class = transfer

    return Master


def _mutant(name: str, part: type[HaMaster] | type[GroupTransfer], law: str, breaks: str) -> Mutant:
    master = part if issubclass(part, HaMaster) else _transferring(part)
    return Mutant(name, "master", with_parts(master_class=master), law, breaks)


MASTER = (
    _mutant("eager_push", EagerPush, "ha-silent-until-asked", "pushes to a connection that has not reported yet"),
    _mutant("rounds_start", RoundsStart, "ha-start-offset", "starts at a file border instead of the reported offset"),
    _mutant("goes_back", GoesBack, "ha-contiguous", "sends unacknowledged bytes again on the same connection"),
    _mutant("crosses_files", CrossesFiles, "ha-batch-bound", "lets a frame's body cross a file border"),
    _mutant("believes_every_report", BelievesEveryReport, "ha-ack-identity", "believes reports above its log (5.x)"),
    _mutant("believes_first_report", BelievesFirstReport, "ha-divergence-refused", "serves slaves that are ahead"),
    _mutant("serves_diverged", ServesDiverged, "ha-divergence-refused", "sends its own bytes to a slave that is ahead"),
    _mutant("names_everybody", NamesEverybody, "ha-divergence-refused", "calls slaves diverged that it serves"),
    _mutant("bare_connection_counts", BareConnectionCounts, "ack-unavailable-honest", "any peer is a slave to it"),
    _mutant("crowded_out", CrowdedOut, "ha-admits-slave", "lets plausible strangers have all places"),
    _mutant("acks_at_once", AcksAtOnce, "ack-replicated", "answers PUT_OK before a slave has reported the message"),
    _mutant("covers_older_files", CoversOlderFiles, "ack-replicated", "lets a new slave vouch for files it never got"),
    _mutant("five_wake_ups", FiveWakeUps, "ack-timeout-honest", "gives up after five reports, not after slaveTimeout"),
    _mutant("forgets_deadline", ForgetsDeadline, "ack-timeout-honest", "gives up after a fifth of slaveTimeout"),
    Mutant("calls_timeout_ok", "master", with_parts(flusher_class=CallsTimeoutOk), "log-flushed-survives",
           "answers PUT_OK under SYNC_FLUSH when the flush took too long"),
)  # fmt: skip

WAKES_FOR_NOTHING = _mutant(
    "wakes_for_nothing", WakesForNothing, "ack-timeout-honest", "4.4 that counts heartbeats as wake-ups"
)
"""No part of the catalogue: few schedules play 4.4 with a slave that reports and gets nothing."""
