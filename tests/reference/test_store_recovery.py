"""Where a log ends after a start: torn, cut, doctored and golden logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.recovery import Hints, LogRecovery, Recovery
from pairproof.reference.errors import StoreError
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Message

SIZE, SECTOR = 1024, 512
GOLDEN_SIZE, GOLDEN_END, LATE_START = 65536, 385638, 262144
LAST, SECOND_LAST = 385350, 385061
"""Where the last two records of the captured logs begin (288 and 289 bytes)."""


def message(number: int, body: int = 100) -> Message:
    return Message("topic", 0, bytes([number % 255 + 1]) * body, b"KEYS\x01k%03d" % number)


def filled(disk: Any, count: int, size: int = SIZE) -> tuple[CommitLog, list[int]]:
    """A log with ``count`` messages, and every boundary: 0, ends of records, ends of fillers."""
    log = CommitLog(disk, size)
    log.recover(True)
    boundaries = [0]
    for number in range(count):
        put = log.put(message(number), number, 1)
        boundaries += [put.filler[1]] if put.filler else []
        boundaries.append(put.hi)
    return log, boundaries


COPIED = Hints(copied=True)


def reopen(disk: Any, clean: bool = False, size: int = SIZE, hints: Hints | None = None) -> tuple[CommitLog, Recovery]:
    log = CommitLog(disk, size)
    return log, log.recover(clean, hints)


def bytes_of(disk: Any) -> bytes:
    return b"".join(bytes(disk.files[name].data) for name in sorted(disk.files))


def wipe(disk: Any, lo: int, hi: int, size: int = SIZE) -> None:
    for at in range(lo, hi):
        disk.files[f"commitlog/{at - at % size:020d}"].data[at % size] = 0


def test_no_files_is_an_empty_log(disk: Any) -> None:
    assert reopen(disk)[1] == Recovery("empty", 0, 0, None, "")


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("broker", ["master", "slave", "late-slave"])
def test_golden_stores_recover_whole(broker: str, clean: bool, golden_disk: Callable[[str], Any]) -> None:
    disk = golden_disk(broker)
    before = bytes_of(disk)
    start = LATE_START if broker == "late-slave" else 0
    log, found = reopen(disk, clean, GOLDEN_SIZE)
    assert found == Recovery("normal" if clean else "abnormal", start, GOLDEN_END, None, "")
    assert (log.start, log.end, log.flushed) == (start, GOLDEN_END, GOLDEN_END)
    assert bytes_of(disk) == before and disk.deleted == []


def test_golden_log_cut_at_every_byte_of_its_last_two_records_ends_at_the_last_whole_one(
    golden_disk: Callable[[str], Any],
) -> None:
    whole = bytes_of(golden_disk("late-slave"))
    for cut in range(SECOND_LAST, GOLDEN_END + 1):
        disk = golden_disk("late-slave")
        wipe(disk, cut, GOLDEN_END, GOLDEN_SIZE)
        log, found = reopen(disk, False, GOLDEN_SIZE, COPIED)
        expected = max(border for border in (SECOND_LAST, LAST, GOLDEN_END) if border <= cut)
        assert log.end == found.end == expected
        # A record's first byte is zero here: alone it cannot be told from no byte.
        seen = LATE_START + len(whole[: cut - LATE_START].rstrip(b"\0"))
        assert found.cut_from == (seen if seen > expected else None)
        assert (found.cut_from is None) == (found.why == "")
        assert found.lost == 0
        kept = expected - LATE_START
        assert bytes_of(disk) == whole[:kept] + bytes(len(whole) - kept)


def test_golden_log_with_a_zeroed_tail_over_two_files_loses_the_later_file(golden_disk: Callable[[str], Any]) -> None:
    disk = golden_disk("master")
    wipe(disk, 300_000, GOLDEN_END, GOLDEN_SIZE)
    log, found = reopen(disk, False, GOLDEN_SIZE)
    assert found.end == log.end < 300_000
    assert found.cut_from == 300_000 and "record at 282340" in found.why
    assert sorted(disk.files)[-1] == f"commitlog/{LATE_START:020d}"


@pytest.mark.parametrize("hints", [Hints(), COPIED], ids=["master", "slave"])
@given(st.data())
@settings(max_examples=60)
def test_log_with_lost_sectors_keeps_every_whole_record_before_and_nothing_behind(
    make_disk: Any, hints: Hints, data: st.DataObject
) -> None:
    disk = make_disk()
    log, boundaries = filled(disk, 12)
    lo = data.draw(st.integers(0, log.end - 1))
    # What a slave has flushed may end anywhere in a record, and with it what is left of a sector.
    lo -= 0 if hints.copied else lo % SECTOR
    hi = min(log.end, lo - lo % SECTOR + SECTOR * data.draw(st.integers(1, 4)))
    wipe(disk, lo, hi)
    before = bytes_of(disk)
    log, found = reopen(disk, hints=hints)
    # A hole in a filler's undefined rest loses nothing; anywhere else the record concerned goes, with what follows.
    assert found.end in boundaries and log.end == found.end
    assert found.end >= max(border for border in boundaries if border <= lo)
    assert bytes_of(disk)[: found.end] == before[: found.end]
    assert not any(bytes_of(disk)[found.end :])
    assert reopen(disk, hints=hints)[1] == found._replace(why="", cut_from=None, lost=0)


def test_hole_behind_the_body_is_cut_and_a_recovery_without_that_check_would_keep_it(make_disk: Any) -> None:
    class Trusting(LogRecovery):
        def step(self, at: int) -> int | str:
            data = self.files.read(at, SIZE)
            return record.decode(data).size if data.strip(b"\0") else "zeros"

    def recovered(recovery: type[LogRecovery]) -> int:
        disk = make_disk()
        log, boundaries = filled(disk, 3)
        wipe(disk, boundaries[2] + 88 + 100 + 1 + 5 + 2, boundaries[3])
        log = CommitLog(disk, SIZE)
        log.recovery_class = recovery  # type: ignore[misc]
        return boundaries.index(log.recover(False, COPIED).end)

    assert (recovered(LogRecovery), recovered(Trusting)) == (2, 3)


def test_every_lost_sector_is_noticed(make_disk: Any) -> None:
    for sector in range(0, 4096, 512):
        disk = make_disk()
        log, boundaries = filled(disk, 16, size=4096)
        wipe(disk, sector, min(sector + 512, log.end), size=4096)
        assert reopen(disk, size=4096)[1].end == max(border for border in boundaries if border <= sector)


def test_what_was_cut_is_never_readable_again(make_disk: Any) -> None:
    class Careless(LogRecovery):
        def cut(self, end: int) -> int:
            self.files.end = end
            return end

    def readable_later(recovery: type[LogRecovery]) -> bool:
        disk = make_disk()
        _, boundaries = filled(disk, 4)
        wipe(disk, boundaries[1], boundaries[1] + 8)
        log = CommitLog(disk, SIZE)
        log.recovery_class = recovery  # type: ignore[misc]
        log.recover(False)
        assert log.end == boundaries[1]
        # A record of the same size closes the hole: what lies behind would be whole again.
        log.put(message(77), 1, 1)
        return reopen(disk)[1].end > log.end

    assert not readable_later(LogRecovery)
    assert readable_later(Careless)


def test_clean_start_trusts_all_but_the_last_three_files(make_disk: Any) -> None:
    for clean, expected in ((True, None), (False, 0)):
        disk = make_disk()
        log, _ = filled(disk, 30)
        assert len(disk.files) >= 5
        wipe(disk, 0, 8)
        found = reopen(disk, clean)[1]
        assert found.end == (log.end if expected is None else expected)


def test_filler_at_the_end_stays_part_of_the_log(make_disk: Any) -> None:
    for next_file in (True, False):
        disk = make_disk()
        _, boundaries = filled(disk, 6)
        filler_end = next(border for border in boundaries if border and border % SIZE == 0)
        wipe(disk, filler_end, filler_end + SIZE)
        if not next_file:
            disk.delete(f"commitlog/{filler_end:020d}")
        log, found = reopen(disk)
        assert (found.end, found.cut_from) == (filler_end, None)
        assert log.put(message(9), 9, 1).lo == filler_end


def test_filler_that_does_not_reach_the_file_s_end_is_no_filler(disk: Any) -> None:
    _, boundaries = filled(disk, 6)
    filler_end = next(border for border in boundaries if border and border % SIZE == 0)
    filler_at = boundaries[boundaries.index(filler_end) - 1]
    disk.files["commitlog/" + "0" * 20].write(filler_at, record.encode_blank(filler_end - filler_at - 1))
    found = reopen(disk)[1]
    assert found.end == filler_at and "filler" in found.why


def test_moved_record_is_cut(disk: Any) -> None:
    _, boundaries = filled(disk, 3)
    file = disk.files["commitlog/" + "0" * 20]
    file.write(boundaries[2], file.read(boundaries[1], boundaries[2] - boundaries[1]))
    found = reopen(disk)[1]
    assert found.end == boundaries[2] and "belongs at" in found.why


def test_extra_empty_files_are_removed_as_the_one_created_ahead_is(disk: Any) -> None:
    log, _ = filled(disk, 2)
    disk.open(f"commitlog/{SIZE:020d}", SIZE)
    disk.open(f"commitlog/{2 * SIZE:020d}", SIZE)
    found = reopen(disk)[1]
    assert (found.end, found.cut_from) == (log.end, None)
    # The last one first: a crash in between must not leave a gap.
    assert disk.deleted == [f"commitlog/{2 * SIZE:020d}", f"commitlog/{SIZE:020d}"]


def test_log_that_began_inside_a_file_is_cut_to_that_file_s_start(disk: Any) -> None:
    log = CommitLog(disk, SIZE)
    log.recover(True)
    log.append(2 * SIZE + 300, record.encode(message(1), 0, 2 * SIZE + 300, 1))
    log, found = reopen(disk)
    assert (found.start, found.end, log.start, log.end) == (2 * SIZE, 2 * SIZE, 2 * SIZE, 2 * SIZE)
    assert found.cut_from is not None and "zero bytes" in found.why
    assert not log.append(0, b"abc") and log.append(2 * SIZE, b"abc")


def test_what_recovery_keeps_is_synced_and_counts_as_flushed(disk: Any) -> None:
    log, _ = filled(disk, 6)
    assert log.flushed == 0
    log, _ = reopen(disk)
    assert log.flushed == log.end and set(disk.synced) == set(disk.files)


def test_record_that_spans_many_windows_is_recovered(disk: Any) -> None:
    size = 1 << 20
    log = CommitLog(disk, size)
    log.recover(True)
    for number, body in enumerate((70_000, 200_000, 10, 300_000, 65_000)):
        log.put(message(number, body), number, 1)
    assert reopen(disk, size=size)[1].end == log.end


def test_gap_between_files_is_one_clear_line(disk: Any) -> None:
    filled(disk, 16)
    disk.delete(f"commitlog/{SIZE:020d}")
    with pytest.raises(StoreError, match=r"gap: commitlog/0{20} ends at 1024, the next file starts at 2048; restore"):
        reopen(disk)


@pytest.mark.parametrize("name", ["x", "0" * 19, "0" * 21, f"{SIZE + 1:020d}", "9" * 20, "٣" * 20])
def test_file_that_does_not_belong_is_one_clear_line(disk: Any, name: str) -> None:
    filled(disk, 1)
    disk.open(f"commitlog/{name}", SIZE)
    with pytest.raises(StoreError, match=r"move it|configure"):
        reopen(disk)


def test_file_of_another_size_is_refused(disk: Any) -> None:
    filled(disk, 1)
    with pytest.raises(StoreError):
        reopen(disk, size=SIZE // 2)


def test_file_size_must_be_positive(disk: Any) -> None:
    with pytest.raises(StoreError, match="positive"):
        CommitLog(disk, 0)


@given(st.lists(st.tuples(st.integers(0, 2 * SIZE - 1), st.integers(0, 255)), min_size=1, max_size=6))
@example([(204, 0), (289, 1)])
@settings(max_examples=100)
def test_doctored_log_recovers_to_some_prefix(make_disk: Any, changes: list[tuple[int, int]]) -> None:
    disk = make_disk()
    _, boundaries = filled(disk, 10)
    for at, value in changes:
        disk.files[f"commitlog/{at - at % SIZE:020d}"].data[at % SIZE] = value
    log, found = reopen(disk)
    assert found.end in boundaries
    assert found.end >= max(border for border in boundaries if border <= min(at for at, _ in changes))
    # A record that ends in zeros, and that no queue has, is kept only while something follows: decision 29.
    ends_in_zeros = log.end > 0 and log.read(log.end - 1, 1) == b"\0"
    again = reopen(disk)[1].end
    assert again == log.end or (ends_in_zeros and again in boundaries and again < log.end)
