"""The checkpoint file, and the file that RocketMQ would begin with after a crash."""

from __future__ import annotations

import struct

import pytest
from fake_port import MS, FakePort
from store_play import NOW_MS, Store, TreeDisk, first_file_to_replay, min_ms

from pairproof.reference.core.checkpoint import Checkpoint, store_ms_at
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.store import DERIVED, MessageStore
from pairproof.reference.errors import StoreError
from pairproof.reference.wire.record import Message


def test_new_checkpoint_is_4096_zero_bytes() -> None:
    disk = TreeDisk()
    checkpoint = Checkpoint(disk)
    assert (checkpoint.physic_ms, checkpoint.logics_ms, checkpoint.index_ms, min_ms(checkpoint)) == (0, 0, 0, 0)
    assert "checkpoint" not in disk.files
    checkpoint.save()
    assert bytes(disk.files["checkpoint"].cache) == bytes(4096)


def test_what_is_saved_is_read_again_and_the_rest_stays_as_it_is() -> None:
    disk = TreeDisk()
    checkpoint = Checkpoint(disk)
    disk.open("checkpoint", 4096).write(24, b"5.x")
    checkpoint.physic_ms, checkpoint.logics_ms, checkpoint.index_ms = 1, 2, 3
    assert Checkpoint(disk).index_ms == 0
    checkpoint.save()
    assert disk.files["checkpoint"].read(0, 30) == struct.pack(">qqq", 1, 2, 3) + b"5.x" + bytes(3)
    again = Checkpoint(disk)
    assert (again.physic_ms, again.logics_ms, again.index_ms) == (1, 2, 3)


@pytest.mark.parametrize(
    ("physic", "logics", "least"), [(0, 0, 0), (2_999, 9_000, 0), (9_000, 5_000, 2_000), (5_000, 9_000, 2_000)]
)
def test_least_time_is_three_seconds_before_the_earlier_one(physic: int, logics: int, least: int) -> None:
    checkpoint = Checkpoint(TreeDisk())
    checkpoint.physic_ms, checkpoint.logics_ms, checkpoint.index_ms = physic, logics, 1
    assert min_ms(checkpoint) == least


def test_file_of_another_size_is_an_error_and_a_full_disk_leaves_it_unsaved() -> None:
    disk = TreeDisk()
    disk.open("checkpoint", 10)
    with pytest.raises(StoreError):
        Checkpoint(disk)
    disk = TreeDisk()
    disk.room = 0
    checkpoint = Checkpoint(disk)
    checkpoint.save()
    assert not disk.files
    disk.room = 1
    checkpoint.save()
    assert "checkpoint" in disk.files


def test_replay_begins_with_the_newest_file_whose_first_record_is_old_enough() -> None:
    store = Store(TreeDisk())
    for number in range(40):
        store.put(number)
    starts = store.log.files.starts
    firsts = [store_ms_at(store.log, start) for start in starts]
    assert len(starts) > 3 and firsts[0] == NOW_MS
    assert first_file_to_replay(store.log, 0) == first_file_to_replay(store.log, NOW_MS - 1) == 0
    for start, first in zip(starts, firsts, strict=True):
        assert first_file_to_replay(store.log, first) == start
        assert first_file_to_replay(store.log, first - 1) == max(0, start - 1024)
    store.log.expire(2)
    assert first_file_to_replay(store.log, 0) == starts[-2]


def test_where_no_record_begins_there_is_no_store_time() -> None:
    store = Store(TreeDisk())
    lo = store.put(1)
    assert store_ms_at(store.log, lo) == NOW_MS + 1
    for at in (lo + 1, store.log.end, 1 << 40):
        assert store_ms_at(store.log, at) == -1
    puts = [store.log.put(Message("t", 0, b"b" * 50), number, 1) for number in range(20)]
    filler = next(put.filler for put in puts if put.filler)
    assert store_ms_at(store.log, filler[0]) == -1


def play(store: MessageStore, port: FakePort) -> dict[int, int]:
    """Let the looks at the queues' files come, and each flush end: by time, ms, what the checkpoint says of queues."""
    noted = {}
    while (at := port.timers.pop(DERIVED, None)) is not None:
        port.time = at
        store.on_timer(DERIVED)
        while port.flushes:
            store.on_flushed(port.flushes.pop())
        noted[at // MS] = store.checkpoint.logics_ms
    return noted


def test_the_next_thorough_look_notes_what_a_look_before_it_has_flushed() -> None:
    port = FakePort(TreeDisk())
    config = BrokerConfig.from_properties({"mappedFileSizeConsumeQueue": 20, "flushConsumeQueueThoroughInterval": 9000})
    store = MessageStore(config, port, port)
    store.start()
    # A service's first look takes whatever there is.
    store.put(Message("t", 0, b"b"))
    play(store, port)
    port.time = 1_500 * MS
    store.put(Message("t", 0, b"b"))
    noted = play(store, port)
    # The file is full, so the first look flushes it. Nothing is dirty then, and yet one look more is to come.
    assert list(noted) == [2_000, 10_000]
    assert noted[10_000] - noted[2_000] == 1_500
