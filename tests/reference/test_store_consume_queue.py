"""One consume queue: offsets, markers, gaps, cuts, retention, holes, lookups by time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_play import BlocklessDisk, TreeDisk

from pairproof.chaos.labs.sim.active_fault import ActiveFault
from pairproof.reference.core.consume_queue import (
    ENTRY_SIZE,
    MARKER,
    MAX_QUEUE_OFFSET,
    ConsumeQueue,
    Entry,
    file_size_of,
)
from pairproof.reference.core.consume_queues import ConsumeQueues
from pairproof.reference.errors import StoreError, StoreFull

FOLDER = "consumequeue/t/0"
PER_FILE = 5
SIZE = PER_FILE * ENTRY_SIZE


def entry(number: int) -> Entry:
    """The entry of the message at log offset 100 * number."""
    return Entry(number * 100, 60, number)


def filled(disk: TreeDisk, first: int, count: int) -> ConsumeQueue:
    queue = ConsumeQueue(disk, FOLDER, SIZE)
    queue.recover(True)
    for offset in range(first, first + count):
        assert queue.put(offset, entry(offset))
    return queue


def reopened(disk: TreeDisk, clean: bool = False, log_start: int = 0) -> ConsumeQueue:
    queue = ConsumeQueue(disk, FOLDER, SIZE)
    queue.recover(clean)
    queue.expire(log_start)
    return queue


def seen(queue: ConsumeQueue) -> tuple[int, int, list[int], int]:
    """First, next, the entries' numbers, and where the log was at."""
    return queue.first, queue.next_offset, [each.tags_code for each in queue.get(queue.first, 99)], queue.last_end


def file_of(number: int) -> str:
    return f"{FOLDER}/{number * SIZE:020d}"


@pytest.fixture
def disk() -> TreeDisk:
    return TreeDisk()


@pytest.mark.parametrize(("configured", "effective"), [(1, 20), (20, 20), (21, 40), (6_000_000, 6_000_000)])
def test_file_size_is_rounded_up_to_whole_entries(configured: int, effective: int) -> None:
    assert file_size_of(configured) == effective


def test_entry_is_20_bytes_at_20_times_its_offset(disk: TreeDisk) -> None:
    filled(disk, 0, 7)
    assert list(disk.files) == [file_of(0), file_of(1)]
    expected = (601).to_bytes(8, "big", signed=True) + (60).to_bytes(4, "big") + (-6).to_bytes(8, "big", signed=True)
    queue = ConsumeQueue(disk, FOLDER, SIZE)
    queue.recover(True)
    queue.put(7, Entry(701, 60, -6))
    assert disk.files[file_of(1)].read(40, 20) == (701).to_bytes(8, "big") + expected[8:]


def test_get_crosses_files_and_stays_inside_the_queue(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 12)
    assert queue.get(3, 6) == [entry(number) for number in range(3, 9)]
    assert queue.get(11, 9) == [entry(11)]
    assert queue.get(12, 9) == queue.get(-1, 9) == queue.get(0, 0) == queue.get(0, -1) == []


def test_queue_that_begins_above_0_marks_the_slots_before_and_does_not_give_them_out(disk: TreeDisk) -> None:
    queue = filled(disk, 43, 3)
    assert list(disk.files) == [file_of(8), file_of(9)]
    assert disk.files[file_of(8)].read(0, 60) == (bytes(8) + b"\x7f\xff\xff\xff" + bytes(8)) * 3
    for each in (queue, reopened(disk, clean=True), reopened(disk)):
        assert seen(each) == (43, 46, [43, 44, 45], 4560)
        assert each.get(42, 9) == []


def test_queue_that_begins_at_a_file_s_start_needs_no_marker(disk: TreeDisk) -> None:
    filled(disk, 2 * PER_FILE, 1)
    assert seen(reopened(disk)) == (10, 11, [10], 1060)


def test_message_that_the_queue_has_is_skipped(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 4)
    assert not queue.put(3, entry(3)) and not queue.put(4, entry(3)) and not queue.put(2, entry(9))
    assert seen(queue) == (0, 4, [0, 1, 2, 3], 360)
    assert queue.put(4, entry(9))


def test_gap_among_live_messages_is_counted_and_closed(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 2)
    assert queue.put(7, entry(7))
    assert seen(queue) == (0, 3, [0, 1, 7], 760)


def test_cut_forgets_what_begins_behind_and_erases_it(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 12)
    queue.truncate(601)
    assert seen(queue) == (0, 7, list(range(7)), 660)
    assert list(disk.files) == [file_of(0), file_of(1)]
    assert not any(disk.files[file_of(1)].read(40, 60))
    assert seen(reopened(disk)) == seen(queue)
    assert queue.put(7, entry(8))


@pytest.mark.parametrize("again", [3, 43, 48])
def test_cut_to_the_markers_leaves_no_entry_and_the_queue_begins_anew(disk: TreeDisk, again: int) -> None:
    queue = filled(disk, 43, 3)
    queue.truncate(100)
    assert seen(queue) == (43, 43, [], -1)
    queue = reopened(disk)
    assert queue.last_end == -1
    # The same message comes again, or after a master's loss one with another offset.
    assert queue.put(again, entry(again))
    assert seen(queue) == seen(reopened(disk)) == (again, again + 1, [again], again * 100 + 60)


def test_queue_whose_messages_have_all_expired_keeps_its_offset(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 8)
    queue.expire(5_000)
    assert seen(queue) == (8, 8, [], 760) and list(disk.files) == [file_of(1)]
    queue = reopened(disk, log_start=5_000)
    assert (queue.first, queue.next_offset) == (8, 8)
    assert queue.put(8, entry(60))
    assert queue.get(8, 9) == [entry(60)]


def test_queue_without_live_messages_begins_where_the_next_one_says(disk: TreeDisk) -> None:
    # Unflushed entries were lost, and what they named has expired since.
    queue = filled(disk, 0, 3)
    queue.expire(5_000)
    assert queue.put(51, entry(51))
    assert seen(reopened(disk, log_start=5_000)) == (51, 52, [51], 5160)
    assert list(disk.files) == [file_of(10)]


def test_retention_deletes_whole_files_and_hides_the_rest(disk: TreeDisk) -> None:
    for log_start, first, files in ((1, 1, 3), (401, 5, 2), (500, 5, 2), (501, 6, 2), (1_100, 11, 1), (1_101, 12, 1)):
        disk = TreeDisk()
        queue = filled(disk, 0, 12)
        queue.expire(log_start)
        assert (queue.first, len(disk.files)) == (first, files)
        assert queue.get(first - 1, 9) == [] and queue.next_offset == 12
        assert seen(reopened(disk, log_start=log_start)) == seen(queue)


@pytest.mark.parametrize("clean", [True, False])
def test_queue_ends_at_the_first_hole_of_the_files_that_are_read(disk: TreeDisk, clean: bool) -> None:
    filled(disk, 0, 24)
    disk.files[file_of(3)].write(20, bytes(20))
    assert seen(reopened(disk, clean))[1] == 16
    disk.files[file_of(0)].write(20, bytes(20))
    # After a clean stop only the last three files are read; the fourth was deleted with the cut.
    filled(disk, 16, 0)
    assert reopened(disk, clean).next_offset == (1 if not clean else 16)


def test_entry_whose_first_half_was_lost_is_no_entry_at_offset_0(disk: TreeDisk) -> None:
    filled(disk, 0, 4)
    disk.files[file_of(0)].write(40, bytes(8))
    assert seen(reopened(disk)) == (0, 2, [0, 1], 160)


@pytest.mark.parametrize("left", range(20, 33))
def test_marker_that_was_torn_is_no_entry(disk: TreeDisk, left: int) -> None:
    filled(disk, 43, 1)
    disk.files[file_of(8)].write(left, bytes(SIZE - left))
    # What is left of the second marker may be a whole one: its end is zeros.
    assert seen(reopened(disk)) == ((42, 42, [], -1) if left == 32 else (41, 41, [], -1))


def test_files_behind_a_gap_are_given_up_after_a_crash_and_an_error_after_a_clean_stop(disk: TreeDisk) -> None:
    filled(disk, 0, 22)
    disk.delete(file_of(2))
    with pytest.raises(StoreError, match="gap"):
        reopened(disk, clean=True)
    assert seen(reopened(disk))[1] == 10
    assert list(disk.files) == [file_of(0), file_of(1)]


def test_without_room_nothing_is_added_and_later_it_goes_on(disk: TreeDisk) -> None:
    queue = filled(disk, 0, PER_FILE)
    disk.room = 0
    for number in (PER_FILE, PER_FILE):
        with pytest.raises(StoreFull):
            queue.put(number, entry(number))
    disk.room = 1
    assert queue.put(PER_FILE, entry(PER_FILE)) and queue.next_offset == PER_FILE + 1


@pytest.mark.parametrize("number", [0, 3, 43])
def test_new_queue_without_room_is_empty_and_later_begins_as_if_nothing_had_been(disk: TreeDisk, number: int) -> None:
    queue = filled(disk, 20, 1)
    queue.truncate(0)
    disk.room = 0
    if number != 0:
        with pytest.raises(StoreFull):
            queue.put(number, entry(number))
    disk.room = 2
    assert queue.put(number, entry(number))
    assert seen(queue) == seen(reopened(disk)) == (number, number + 1, [number], number * 100 + 60)


@pytest.mark.parametrize(("had", "number"), [(0, 0), (0, 3), (0, 43), (PER_FILE, PER_FILE), (2, 2)])
def test_entry_without_room_for_its_block_is_not_added_and_comes_later(had: int, number: int) -> None:
    disk = BlocklessDisk()
    queue = filled(disk, 0, had)
    before = seen(queue)
    if had == 2:
        # A block that the file has takes entries however full the disk is.
        disk.full.append(ActiveFault())
    else:
        disk.full.append(ActiveFault())
        for _ in range(2):
            with pytest.raises(StoreFull):
                queue.put(number, entry(number))
            assert seen(queue) == before
        disk.full.clear()
    assert queue.put(number, entry(number))
    assert seen(queue) == seen(reopened(disk))
    assert queue.next_offset == number + 1


def test_flush_covers_what_was_written_before_it_began(disk: TreeDisk) -> None:
    queues = ConsumeQueues(disk, SIZE)
    for number in range(7):
        queues.put("t", 0, number, entry(number))
    queues.put("t", 1, 4, entry(9))
    # One file of each queue, the first one that is not durable.
    assert sorted(queues.begin_flush(2)) == [file_of(0), f"consumequeue/t/1/{0:020d}"]
    queues.finish_flush()
    assert queues.dirty and queues.begin_flush() == [file_of(1)]
    queues.put("t", 0, 7, entry(10))
    queues.finish_flush()
    assert queues.begin_flush() == [file_of(1)]
    queues.finish_flush()
    assert queues.begin_flush() == [] and not queues.dirty


def test_a_thorough_look_takes_all_files(disk: TreeDisk) -> None:
    queues = ConsumeQueues(disk, SIZE)
    for number in range(12):
        queues.put("t", 0, number, entry(number))
    assert queues.begin_flush() == [file_of(number) for number in range(3)] and not queues.dirty


def test_queue_waits_until_enough_pages_have_gathered_or_its_file_is_full(disk: TreeDisk) -> None:
    queues = ConsumeQueues(disk, 16_380, least_pages=2)
    for number in range(409):
        queues.put("t", 0, number, entry(number))
    assert not queues.ripe and queues.dirty and queues.begin_flush(2) == []
    queues.put("t", 0, 409, entry(409))
    assert queues.ripe and queues.begin_flush(2) == [file_of(0)]
    queues.finish_flush()
    assert not queues.ripe and not queues.dirty
    for number in range(410, 818):
        queues.put("t", 0, number, entry(number))
    assert not queues.ripe
    queues.put("t", 0, 818, entry(818))
    queues.put("t", 0, 819, entry(819))
    # Of the last file that there is not a page, so it waits; a thorough look takes it.
    assert queues.ripe and queues.begin_flush(2) == [file_of(0)]
    queues.finish_flush()
    assert queues.dirty and queues.begin_flush(2) == []
    assert len(queues.begin_flush()) == 1


@pytest.mark.parametrize(
    ("ms", "found"),
    [(0, 2), (19, 2), (20, 2), (24, 2), (25, 2), (26, 3), (30, 3), (41, 4), (70, 7), (999, 7)],
)
def test_lookup_by_time_finds_the_nearest_live_message(disk: TreeDisk, ms: int, found: int) -> None:
    queue = filled(disk, 0, 8)
    queue.expire(150)
    assert queue.offset_by_time(ms, lambda each: each.tags_code * 10) == found


def test_lookup_by_time_without_messages_or_with_unreadable_ones(disk: TreeDisk) -> None:
    queue = filled(disk, 0, 3)
    assert queue.offset_by_time(5, lambda each: -1) == 0
    queue.expire(9_999)
    assert queue.offset_by_time(5, lambda each: 1) == 3


@pytest.mark.parametrize(("topic", "queue_id", "offset"), [
    ("../up", 0, 0), ("", 0, 0), ("a/b", 0, 0), ("ä", 0, 0), ("t" * 256, 0, 0), ("t", -1, 0), ("t", 0, -1),
    ("t", 0, MAX_QUEUE_OFFSET + 1),
])  # fmt: skip
def test_what_cannot_be_a_queue_gets_no_folder(disk: TreeDisk, topic: str, queue_id: int, offset: int) -> None:
    queues = ConsumeQueues(disk, SIZE)
    assert not queues.put(topic, queue_id, offset, entry(1))
    assert list(disk.files) == []
    assert queues.put("t", 0, MAX_QUEUE_OFFSET, entry(1)) and queues.next_offset("t", 0) == MAX_QUEUE_OFFSET + 1


def test_folder_that_is_no_queue_is_one_clear_line(disk: TreeDisk) -> None:
    for folder in ("t/x", "t/00", "a b/0", "t/-1"):
        disk = TreeDisk()
        disk.open(f"consumequeue/{folder}/{0:020d}", SIZE)
        with pytest.raises(StoreError, match="is not a consume queue: move it"):
            ConsumeQueues(disk, SIZE).recover(True)


def test_unknown_queue_is_empty_and_begins_at_0(disk: TreeDisk) -> None:
    queues = ConsumeQueues(disk, SIZE)
    assert (queues.next_offset("t", 0), queues.min_offset("t", 0), queues.get("t", 0, 0, 9)) == (0, 0, [])
    assert (queues.offset_by_time("t", 0, 1, lambda each: 1), queues.last_end) == (0, -1)


@given(st.data())
@settings(max_examples=150)
def test_doctored_queue_recovers_to_whole_growing_entries(data: st.DataObject) -> None:
    disk = TreeDisk()
    filled(disk, data.draw(st.sampled_from([0, 3, 7])), 12)
    names = list(disk.files)
    for _ in range(data.draw(st.integers(1, 3))):
        file: Any = disk.files[data.draw(st.sampled_from(names))]
        file.write(data.draw(st.integers(0, SIZE - 4)), data.draw(st.binary(min_size=1, max_size=4)))
    queue = reopened(disk)
    entries = queue.get(queue.first, 99)
    assert queue.next_offset - queue.first == len(entries)
    ends = [0] + [each.physical_offset + each.size for each in entries if each != MARKER]
    starts = [each.physical_offset for each in entries if each != MARKER]
    assert all(end <= start for end, start in zip(ends, starts, strict=False))
    assert seen(reopened(disk)) == seen(queue)
