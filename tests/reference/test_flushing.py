"""When a broker's log becomes durable: which of the flush service's looks flush, and how much of the log."""

from __future__ import annotations

import pytest
from fake_port import MS, FakePort
from store_play import TreeDisk

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.flush_schedule import FlushSchedule, Look, flush_to
from pairproof.reference.core.flushing import Flusher

KB = 1_024


class Play:
    """A log of one node and its flusher; time passes in steps of an interval."""

    def __init__(self, file_size: int = 1_024 * KB, began: int = 0, **settings: object) -> None:
        self.port = FakePort(TreeDisk())
        self.port.time = began
        config = BrokerConfig.from_properties({"mappedFileSizeCommitLog": file_size, **settings})
        self.log = CommitLog(self.port.disk, file_size)
        self.flusher = Flusher(config, self.log, self.port, self.port)
        self.flusher.start()

    def write(self, size: int) -> Play:
        while size:
            room = self.log.file_size - self.log.end % self.log.file_size
            assert self.log.append(self.log.end, bytes(min(size, room)))
            size -= min(size, room)
        self.flusher.grown()
        return self

    def until(self, ms: int) -> Play:
        """Let the timers ring that are due until then; each flush ends at once."""
        while (at := self.port.timers.get(("flush", None), ms * MS + 1)) <= ms * MS:
            del self.port.timers["flush", None]
            self.port.time = at
            self.flusher.on_timer("flush")
            self.end()
        self.port.time = ms * MS
        return self

    def end(self) -> Play:
        while self.port.flushes:
            self.flusher.on_flushed(self.port.flushes.pop(0))  # type: ignore[arg-type]
        return self


def test_little_waits_for_the_thorough_look() -> None:
    play = Play().until(600).write(4 * 4 * KB - 1)
    assert play.until(10_499).log.flushed == 0
    assert play.until(10_500).log.flushed == 4 * 4 * KB - 1


def test_four_pages_go_with_the_next_look() -> None:
    play = Play().until(600).write(4 * 4 * KB)
    assert play.until(999).log.flushed == 0
    assert play.until(1_000).log.flushed == 4 * 4 * KB


def test_pages_are_counted_by_their_borders() -> None:
    # 4.9.7 divides both positions: 16 KiB are four pages only from a border on.
    assert Play().until(600).write(100).until(10_500).write(4 * 4 * KB - 100).until(11_000).log.flushed == 16 * KB
    assert flush_to(4_095, 16_383, 1_024 * KB, 4) is None
    assert flush_to(4_095, 16_384, 1_024 * KB, 4) == 16_384


def test_the_first_look_takes_whatever_there_is() -> None:
    assert Play().write(1).until(499).log.flushed == 0
    assert Play().write(1).until(500).log.flushed == 1


def test_looks_count_from_the_start_of_the_service() -> None:
    play = Play(began=123 * MS).until(700).write(16 * KB)
    assert play.until(1_122).log.flushed == 0
    assert play.until(1_123).log.flushed == 16 * KB


def test_a_look_flushes_one_file_and_a_full_one_always() -> None:
    play = Play(file_size=4 * KB).until(600).write(9 * KB)
    assert play.until(1_000).log.flushed == 4 * KB
    assert play.until(1_500).log.flushed == 8 * KB
    assert play.until(10_499).log.flushed == 8 * KB
    assert play.until(10_500).log.flushed == 9 * KB


@pytest.mark.parametrize(
    "settings",
    [{"flushCommitLogLeastPages": 0}, {"flushCommitLogThoroughInterval": 0}, {"haPushes": "flushed"}],
)
def test_settings_and_pushing_what_is_flushed_make_every_look_take_all(settings: dict[str, object]) -> None:
    assert Play(**settings).until(600).write(1).until(1_000).log.flushed == 1


def test_where_flushed_bytes_are_pushed_a_look_takes_every_file() -> None:
    play = Play(file_size=4 * KB, haPushes="flushed").until(600).write(9 * KB)
    assert play.until(1_000).log.flushed == 9 * KB


def test_version_whose_puts_wake_the_service_flushes_four_pages_at_once() -> None:
    early = Play(rocketmqVersion="4.4.0").until(600).write(4 * 4 * KB).end()
    assert early.log.flushed == 4 * 4 * KB
    assert Play(rocketmqVersion="4.4.0").until(600).write(4 * 4 * KB - 1).end().log.flushed == 0
    slave = Play(rocketmqVersion="4.4.0", brokerRole="SLAVE", brokerId=1).until(600).write(4 * 4 * KB).end()
    assert slave.log.flushed == 0 and slave.until(1_000).log.flushed == 4 * 4 * KB


def test_sync_flush_waits_for_nothing() -> None:
    assert Play(flushDiskType="SYNC_FLUSH").until(600).write(1).end().log.flushed == 1


@pytest.mark.parametrize(
    ("thorough_ms", "now_ms", "ripe", "at_ms", "least"),
    [
        (10_000, 0, False, 500, 0),
        (10_000, 500, False, 10_500, 0),
        (10_000, 500, True, 1_000, 4),
        (10_000, 10_000, True, 10_500, 0),
        (10_000, 10_499, False, 10_500, 0),
        (700, 500, False, 1_500, 0),
        (0, 500, False, 1_000, 0),
    ],
)
def test_thorough_looks_come_at_their_interval_rounded_up_to_looks(
    thorough_ms: int, now_ms: int, ripe: bool, at_ms: int, least: int
) -> None:
    schedule = FlushSchedule(500 * MS, 4, thorough_ms * MS, 0)
    assert schedule.next_ripe(now_ms * MS, ripe) == Look(at_ms * MS, least)


def test_what_came_behind_a_flush_that_was_urged_is_durable_at_the_next_thorough_look() -> None:
    play = Play(file_size=8 * KB, rocketmqVersion="4.4.0")
    play.write(4 * KB).until(5_000)
    play.write(5 * KB).end()
    assert play.log.flushed == 8 * KB
    assert play.until(11_000).log.flushed == 9 * KB
