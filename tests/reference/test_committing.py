"""When bytes of the transient store pool reach the page cache: wake-ups, pages, files, stops and kills."""

from __future__ import annotations

import pytest
from fake_port import MS, FakePort
from store_play import TreeDisk

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.committing import COMMIT, Committer
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.wire.record import BLANK_SIZE, Message

KB = 1_024


class Play:
    """A log with a pool and its committer; each put wakes it."""

    def __init__(self, file_size: int = 64 * KB, disk: TreeDisk | None = None, **settings: object) -> None:
        self.port = FakePort(disk or TreeDisk())
        self.port.time = 1_000 * MS
        config = BrokerConfig.from_properties({"transientStorePoolEnable": True, **settings})
        self.log = CommitLog(self.port.disk, file_size)
        self.log.has_pool = config.has_pool
        self.log.recover(True)
        self.committer = Committer(config, self.log, self.port, self.port)  # type: ignore[arg-type]
        self.committer.start()

    def put(self, size: int = 100) -> Play:
        self.log.put(Message("t", 0, bytes(size)), 0, 0)
        self.committer.wake()
        return self

    def until(self, ms: int) -> Play:
        end = (1_000 + ms) * MS
        while self.port.timers.get(COMMIT, end + 1) <= end:
            self.port.time = self.port.timers.pop(COMMIT)
            self.committer.wake()
        self.port.time = end
        return self

    @property
    def waits(self) -> int:
        return self.log.written - self.log.end


def test_little_waits_for_the_thorough_wake_up() -> None:
    play = Play().until(50).put()
    assert play.waits and play.log.end == 0 and not play.port.commits
    assert play.until(249).waits
    assert not play.until(250).waits and play.port.commits == [play.log.end]


def test_idle_wake_ups_are_thorough_too() -> None:
    play = Play().until(700).put()
    assert play.waits, "the one at 600 ms was"
    assert not play.until(900).waits


def test_a_put_after_the_thorough_interval_is_committed_at_once() -> None:
    assert not Play(commitIntervalCommitLog=1_000, commitCommitLogThoroughInterval=100).until(100).put().waits


def test_enough_pages_are_committed_at_once() -> None:
    play = Play().until(50).put(8 * KB)
    assert play.waits
    assert not play.put(8 * KB).waits
    assert not Play(commitCommitLogLeastPages=0).until(50).put().waits


def test_a_wake_up_commits_one_file() -> None:
    play = Play(file_size=KB).until(50).put(500).put(500)
    assert play.log.end == KB and play.waits, "the filler completed the first file"
    assert not play.until(250).waits
    assert len(play.log.read(KB - BLANK_SIZE, BLANK_SIZE)) == BLANK_SIZE


def test_uncommitted_bytes_are_neither_readable_nor_flushed_and_a_kill_takes_them() -> None:
    play = Play().until(50).put()
    assert play.log.read(0, 100) == b"" and play.log.flush_due() == [] and play.log.record_size(0) == 0
    again = Play(disk=play.port.disk)
    assert again.log.end == 0
    assert Play(disk=play.until(250).port.disk).log.end == play.log.end > 0


def test_a_file_that_recovery_opened_has_no_buffer() -> None:
    disk = Play().until(50).put().until(250).port.disk
    play = Play(disk=disk).until(50).put()
    assert not play.waits and len(play.port.commits) == 1


def test_a_batch_waits_as_a_whole() -> None:
    play = Play(file_size=KB).until(50).put(400)
    assert play.log.make_room([Message("t", 0, bytes(200))] * 2) is not None
    assert play.log.end == 0 and play.log.written == KB


def test_an_orderly_stop_commits_everything() -> None:
    play = Play(file_size=KB).until(50).put(500).put(500)
    play.committer.finish()
    assert not play.waits and play.port.commits == [KB, play.log.end]


@pytest.mark.parametrize(
    ("settings", "has_pool"),
    [
        ({}, True),
        ({"flushDiskType": "SYNC_FLUSH"}, False),
        ({"flushDiskType": "SYNC_FLUSH", "rocketmqVersion": "5.5.0"}, True),
        ({"brokerRole": "SLAVE", "brokerId": 1}, False),
    ],
)
def test_a_pool_needs_a_master_and_before_5_0_asynchronous_flushes(settings: dict[str, object], has_pool: bool) -> None:
    assert BrokerConfig.from_properties({"transientStorePoolEnable": "true", **settings}).has_pool == has_pool
