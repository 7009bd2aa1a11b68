"""A slave whose files have another size than its master's: it stops, says so, and claims only what it can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from master_play import MasterPlay, Port

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.ha_slave import HaSlave, Phase
from pairproof.reference.wire.ha import encode_header
from pairproof.reference.wire.record import encode_blank

MASTERS = 2_048
BATCH = 512
MS = 1_000_000


class Pair:
    """A master's frames, handed to a slave in pieces of any size; each report goes back."""

    def __init__(self, make_disk: Callable[..., Any], size: int, batch: int = BATCH, messages: int = 0) -> None:
        self.master = MasterPlay(make_disk(), messages, haTransferBatchSize=batch)
        self.port = Port(make_disk())
        self.log = CommitLog(self.port.disk, size)
        self.log.recover(True)
        config = BrokerConfig(brokerRole="SLAVE", brokerId=1, haMasterAddress="ha", mappedFileSizeCommitLog=size)
        self.slave = HaSlave(config, self.log, self.port, self.port)
        self.slave.start()
        self.given = self.heard = 0
        self.slave.on_connected("c")
        self.master.accept("c", self.log.end)

    def run(self, piece: int = 1 << 20) -> None:
        """Until nobody has anything to say."""
        frames = self.master.port.sent
        while self.slave.phase is Phase.CONNECTED and self.given < len(frames.get("c", b"")):
            data = frames["c"][self.given : self.given + piece]
            self.given += len(data)
            self.slave.on_bytes(data)
            said = self.port.sent.get("c", b"")
            self.master.ha.on_bytes("c", said[self.heard :])
            self.heard = len(said)

    def put(self, number: int, size: int = 300) -> None:
        for _ in range(number):
            self.master.put(size)
            self.master.ha.wake()
            self.run()


def whole_records(log: CommitLog) -> int:
    """Where the log stops being readable by its own file size."""
    at = 0
    while size := log.record_size(at):
        at += size
    return at


@pytest.mark.parametrize("size", [512, 1_024, 1_536, 3_000, 4_096, 65_536])
@pytest.mark.parametrize("batch", [100, 512, 32_768])
def test_a_slave_with_other_files_stores_and_claims_only_what_it_can_read(
    make_disk: Callable[..., Any], size: int, batch: int
) -> None:
    pair = Pair(make_disk, size, batch)
    pair.put(12)
    assert pair.slave.phase is Phase.STOPPED and pair.slave.boundaries.misfit is not None
    assert pair.log.end - whole_records(pair.log) < 8 + batch, "at most the beginning of a record"
    assert pair.master.ha.push_offset <= pair.log.end < pair.master.log.end
    assert pair.port.closed == ["c"] and pair.port.connects == ["ha"]
    assert pair.port.misfit is not None and f"mappedFileSizeCommitLog is {size} here" in pair.port.misfit


@pytest.mark.parametrize("piece", [1, 7, 13, 1 << 20])
@pytest.mark.parametrize("batch", [100, 512, 32_768])
def test_a_slave_with_the_master_s_file_size_copies_across_every_border(
    make_disk: Callable[..., Any], piece: int, batch: int
) -> None:
    pair = Pair(make_disk, MASTERS, batch)
    for _ in range(20):
        pair.master.put()
        pair.master.ha.wake()
    pair.run(piece)
    assert pair.port.misfit is None and pair.log.end == pair.master.log.end > 3 * MASTERS


def test_a_misfit_slave_stays_away_whoever_is_said_to_be_its_master(make_disk: Callable[..., Any]) -> None:
    pair = Pair(make_disk, 1_024)
    pair.put(6)
    pair.slave.follow("another")
    pair.slave.on_timer(("ha-reconnect", None))
    assert pair.slave.phase is Phase.STOPPED and pair.port.connects == ["ha"]


def test_after_a_restart_a_misfit_slave_notices_again_and_adds_nothing(make_disk: Callable[..., Any]) -> None:
    pair = Pair(make_disk, 4_096)
    pair.put(12)
    held, first = pair.log.end, pair.port.misfit
    again = HaSlave(
        BrokerConfig(brokerRole="SLAVE", brokerId=1, haMasterAddress="ha", mappedFileSizeCommitLog=4_096),
        pair.log, pair.port, pair.port,
    )  # fmt: skip
    again.start()
    again.on_connected("c2")
    body = pair.master.log.read(held, 512)
    again.on_bytes(encode_header(held, len(body)) + body)
    assert (pair.log.end, pair.port.misfit) == (held, first) and again.phase is Phase.STOPPED


def test_a_copy_that_does_not_begin_at_a_border_of_the_slave_s_files_is_no_copy(make_disk: Callable[..., Any]) -> None:
    pair = Pair(make_disk, 4_096, messages=8)
    pair.run()
    assert pair.log.end == 0 and pair.port.misfit is not None and "begins at 2048" in pair.port.misfit


def test_bytes_that_are_no_record_prove_nothing(make_disk: Callable[..., Any]) -> None:
    pair = Pair(make_disk, MASTERS)
    junk = b"\0\0\0\1 another history's middle " * 3
    pair.slave.on_bytes(encode_header(0, len(junk)) + junk)
    # From here on nobody knows the borders, so even a filler in the middle of nowhere is stored.
    pair.slave.on_bytes(encode_header(len(junk), 8) + encode_blank(8))
    assert pair.port.misfit is None and pair.log.end == len(junk) + 8
