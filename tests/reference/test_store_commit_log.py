"""The commit log while it lives: puts, replicated bytes, reads, flush bookkeeping."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.reference.core.commit_log import CommitLog, Put
from pairproof.reference.errors import CodecError, StoreError, StoreFull
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Blank, Message

SIZE = 512


def message(body: int = 20, **changes: Any) -> Message:
    return Message("topic", 0, b"b" * body, b"KEYS\x01k")._replace(**changes)


def opened(disk: Any, size: int = SIZE, **limits: int) -> CommitLog:
    log = CommitLog(disk, size, **limits)
    log.recover(True)
    return log


def test_fresh_log_is_empty(disk: Any) -> None:
    log = opened(disk)
    assert (log.start, log.end, log.flushed, log.read(0, 10), log.flush_due()) == (0, 0, 0, b"", [])
    assert disk.files == {}


def test_put_writes_the_record_that_it_returns(disk: Any) -> None:
    log = opened(disk)
    first, second = log.put(message(), 0, 1), log.put(message(21), 1, 2)
    assert first == Put(0, len(first.data), None, first.data)
    assert (second.lo, second.hi) == (first.hi, log.end)
    assert log.read(0, 10_000) == first.data + second.data
    assert record.decode(second.data).physical_offset == second.lo  # type: ignore[union-attr]
    assert list(disk.files) == ["commitlog/00000000000000000000"]


def test_record_that_leaves_exactly_a_filler_header_still_fits(disk: Any) -> None:
    fixed = record.size_of(message(0))
    log = opened(disk)
    assert log.put(message(SIZE - 8 - fixed), 0, 1).hi == SIZE - 8
    put = log.put(message(0), 1, 1)
    assert (put.filler, put.lo) == ((SIZE - 8, SIZE), SIZE)


def test_record_that_leaves_one_byte_less_goes_behind_a_filler(disk: Any) -> None:
    log = opened(disk)
    lo = log.put(message(), 0, 1).hi
    room = SIZE - lo
    put = log.put(message(room - 7 - record.size_of(message(0))), 1, 1)
    assert (put.lo, put.filler) == (SIZE, (lo, SIZE))
    assert record.decode(log.read(lo, SIZE)) == Blank(room)
    assert log.read(lo, SIZE) == record.encode_blank(room) + bytes(room - 8)


def test_record_larger_than_a_file_or_the_limit_is_refused_and_nothing_written(disk: Any) -> None:
    log = opened(disk, max_message_size=300)
    fixed = record.size_of(message(0))
    for bad in (message(301), message(SIZE - 7 - fixed), message(topic="\ud800"), message(topic="t" * 128)):
        with pytest.raises(CodecError):
            log.put(bad, 0, 1)
    assert (log.end, disk.files) == (0, {})


def test_nul_is_stored_where_recovery_cannot_take_it_for_a_lost_sector(disk: Any) -> None:
    size = 2 * SIZE
    log = CommitLog(disk, size)
    log.recover(True)
    kept = message(properties=b"A\x01" + bytes(511) + b"\x02B\x01\0b")
    for bad in (message(topic="a\0"), message(properties=bytes(512) + b"A")):
        with pytest.raises(CodecError, match="NUL"):
            log.put(bad, 0, 1)
    assert log.put(kept, 0, 1).hi == log.end
    put = log.put(message(properties=b"A\x01\0"), 1, 2)
    assert put.data.endswith(b"A\x01\0\x02") and put.hi == log.end
    for clean in (True, False):
        again = CommitLog(disk, size)
        assert again.recover(clean).end == log.end


def test_full_disk_leaves_the_log_as_it_was(make_disk: Any) -> None:
    disk = make_disk(room=1)
    log = opened(disk)
    before = [log.put(message(200), 0, 1).hi, bytes(disk.files["commitlog/" + "0" * 20].data)]
    with pytest.raises(StoreFull):
        log.put(message(200), 1, 1)
    assert before == [log.end, bytes(disk.files["commitlog/" + "0" * 20].data)]
    disk.room = 1
    assert log.put(message(200), 1, 1).filler is not None


def test_empty_log_takes_any_first_offset_and_begins_with_its_file(disk: Any) -> None:
    log = opened(disk)
    assert log.append(3 * SIZE + 5, b"abc")
    assert (log.start, log.end) == (3 * SIZE, 3 * SIZE + 8)
    assert log.read(3 * SIZE, 10) == bytes(5) + b"abc"


def test_heartbeat_makes_an_empty_log_begin_too(disk: Any) -> None:
    log = opened(disk)
    assert log.append(2 * SIZE, b"")
    assert (log.start, log.end) == (2 * SIZE, 2 * SIZE)
    assert list(disk.files) == [f"commitlog/{2 * SIZE:020d}"]
    assert not log.append(0, b"abc")


def test_log_that_only_has_an_empty_first_file_still_begins_anywhere(disk: Any) -> None:
    log = opened(disk)
    assert log.append(0, b"") and log.end == 0
    assert log.append(4 * SIZE, b"abc")
    assert (log.start, log.end, list(disk.files)) == (4 * SIZE, 4 * SIZE + 3, [f"commitlog/{4 * SIZE:020d}"])


def test_bytes_are_refused_unless_they_continue_the_log_within_a_file(make_disk: Any) -> None:
    log = opened(make_disk(room=2))
    assert log.append(0, b"a" * 500)
    for at, data in ((499, b"a"), (501, b"a"), (0, b"a"), (-1, b"a"), (500, b"a" * 13)):
        assert not log.append(at, data)
    assert log.end == 500
    assert log.append(500, b"a" * 12) and log.end == SIZE
    assert log.append(SIZE, b"") and log.end == SIZE
    assert log.append(SIZE, b"b" * SIZE) and log.end == 2 * SIZE
    # No room for a third file.
    assert not log.append(2 * SIZE, b"c")
    assert log.end == 2 * SIZE
    assert log.read(SIZE - 1, 10) == b"a"


def test_full_disk_refuses_the_first_bytes_too(make_disk: Any) -> None:
    log = opened(make_disk(room=0))
    assert not log.append(0, b"abc")
    assert (log.start, log.end) == (0, 0)


def test_read_crosses_neither_a_file_nor_the_log_s_ends(disk: Any) -> None:
    log = opened(disk)
    log.append(SIZE, b"a" * SIZE)
    log.append(2 * SIZE, b"bcd")
    assert log.read(SIZE - 1, 5) == log.read(2 * SIZE + 3, 5) == log.read(2 * SIZE, 0) == log.read(2 * SIZE, -1) == b""
    assert log.read(2 * SIZE - 2, 5) == b"aa"
    assert log.read(2 * SIZE, 2) == b"bc"
    assert log.read(2 * SIZE, 99) == b"bcd"


def test_flush_is_due_for_the_files_written_since_the_last_one(disk: Any) -> None:
    log = opened(disk)
    first, second = "commitlog/" + "0" * 20, f"commitlog/{SIZE:020d}"
    log.append(0, b"a" * 500)
    assert log.flush_due() == [first]
    log.mark_flushed(500)
    assert (log.flush_due(), log.flushed) == ([], 500)
    log.append(500, b"a" * 12)
    log.append(SIZE, b"b")
    assert log.flush_due() == [first, second]
    log.mark_flushed(SIZE)
    assert log.flush_due() == [second]
    log.mark_flushed(3)
    log.mark_flushed(10_000)
    assert log.flushed == log.end


@pytest.mark.parametrize(("keep", "left"), [(9, 4), (4, 4), (3, 3), (1, 1), (0, 1), (-1, 1)])
def test_expiry_takes_the_oldest_files_first_and_never_the_last(disk: Any, keep: int, left: int) -> None:
    log = opened(disk)
    assert log.expire(keep) == 0
    for number in range(4):
        log.put(message(300), number, 1)
    end, kept = log.end, log.read(3 * SIZE, SIZE)
    assert log.expire(keep) == log.start == (4 - left) * SIZE
    assert disk.deleted == [f"commitlog/{start:020d}" for start in range(0, log.start, SIZE)]
    assert log.end == end and log.read(3 * SIZE, SIZE) == kept
    assert log.start == 0 or log.read(log.start - 1, 1) == b""
    assert log.flushed == log.start and len(log.flush_due()) == left
    log.put(message(300), 4, 1)
    again = opened(disk)
    assert (again.start, again.end) == (log.start, log.end)


def test_log_that_begins_late_has_nothing_below_to_flush(disk: Any) -> None:
    log = opened(disk)
    log.append(2 * SIZE + 5, b"")
    assert (log.flushed, log.flush_due()) == (2 * SIZE + 5, [])


def test_log_too_near_to_its_file_s_end_for_a_filler_takes_no_message(disk: Any) -> None:
    log = opened(disk)
    log.append(0, b"x" * (SIZE - 3))
    with pytest.raises(StoreError, match="no room for a filler"):
        log.put(message(), 0, 1)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=12), st.lists(st.integers(1, 200), min_size=1, max_size=8))
def test_slave_fed_in_any_pieces_has_the_master_s_bytes(make_disk: Any, bodies: list[int], steps: list[int]) -> None:
    master, slave = opened(make_disk()), opened(make_disk())
    for number, body in enumerate(bodies):
        master.put(message(body), number, 1)
    turn = 0
    while slave.end < master.end:
        piece = master.read(slave.end, steps[turn % len(steps)])
        assert slave.append(slave.end, piece)
        turn += 1
    assert [f.data for f in slave.files.disk.files.values()] == [f.data for f in master.files.disk.files.values()]  # type: ignore[attr-defined]
