"""The store reader: reads what is whole, and says where and why it stops, for every kind of damage."""

from __future__ import annotations

from pathlib import Path
from struct import Struct
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.chaos.observers.full_record import describe
from pairproof.chaos.observers.queue_reader import keys_of
from pairproof.chaos.observers.store_folder import open_log
from pairproof.chaos.observers.store_reader import LogFile, LogReading, audit, read_log
from pairproof.harness.errors import UsageError
from pairproof.harness.history import CHUNK, Event, Recorder, digest

FILE = 1024
MAGIC = 0xDAA320A7 - (1 << 32)
MAGIC_V2 = 0xDAA320AB - (1 << 32)
BLANK = 0xCBD43194 - (1 << 32)
HEADS = {
    flags: Struct(f">iiiiiqqiq{4 + flags % 32 // 16 * 12}siq{4 + flags // 32 * 12}siiqi") for flags in (0, 16, 32, 48)
}


def record(
    at: int, number: int, size: int = 200, flags: int = 0, properties: bytes | None = None, topic: bytes = b"topic"
) -> bytes:
    """A record of ``size`` bytes that lies at ``at``; of version 2 for a topic over 127 bytes."""
    props = f"KEYS\x01k{number}".encode() if properties is None else properties
    head, before = HEADS[flags], 2 if len(topic) > 127 else 1
    body = bytes([number % 256]) * (size - head.size - 2 - before - len(topic) - len(props))
    hosts = (b"\x7f\0\0\x01" * (4 if flags & 16 else 1), 1, 2, b"\x7f\0\0\x01" * (4 if flags & 32 else 1), 3)
    crc = crc32(body) & 0x7FFFFFFF
    magic = MAGIC if before == 1 else MAGIC_V2
    start = head.pack(size, magic, crc, 4, 0, number, at, flags, 1, *hosts, 0, 0, len(body))
    return start + body + len(topic).to_bytes(before, "big") + topic + len(props).to_bytes(2, "big") + props


def log(count: int = 7, start: int = 0, **how: int) -> tuple[list[tuple[int, bytearray]], int]:
    """A log of ``count`` records of 200 bytes in files of 1024: five a file, then a filler. And its end."""
    files = [(start, bytearray(FILE))]
    at = start
    for number in range(count):
        base, data = files[-1]
        if FILE - (at - base) < 208:
            data[at - base : at - base + 8] = (FILE - at + base).to_bytes(4, "big") + BLANK.to_bytes(
                4, "big", signed=True
            )
            at = base + FILE
            files.append((at, bytearray(FILE)))
            base, data = files[-1]
        data[at - base : at - base + 200] = record(at, number, **how)
        at += 200
    return files, at


def put(files: list[tuple[int, bytearray]], at: int, data: bytes) -> None:
    base, bytes_ = files[at // FILE]
    bytes_[at - base : at - base + len(data)] = data


@pytest.mark.parametrize("known_end", [True, False])
@pytest.mark.parametrize("flags", [0, 16, 32, 48])
def test_a_whole_log_is_read_to_its_end(known_end: bool, flags: int) -> None:
    files, end = log(flags=flags)
    reading = read_log(files, end if known_end else None)
    assert (reading.start, reading.end, reading.where, reading.whole, reading.why) == (0, end, end, True, None)
    assert [each.lo for each in reading.records] == [0, 200, 400, 600, 800, 1024, 1224]
    assert [(each.key, each.queue, each.queue_offset) for each in reading.records][6] == ("k6", "topic/4", 6)
    assert [tuple(each) for each in reading.fillers] == [(1000, 1024)]
    assert reading.records[6].digest == digest(record(1224, 6, flags=flags))


@pytest.mark.parametrize("flags", [0, 16, 32, 48])
@pytest.mark.parametrize("topic", [b"t" * 127, b"t" * 128, b"t" * 300])
def test_records_of_both_versions_are_read(topic: bytes, flags: int) -> None:
    one, two = record(0, 1, 500, flags, topic=topic), record(500, 2, 300, flags)
    reading = read_log([(0, bytearray(one + two + bytes(FILE - 800)))])
    assert (reading.whole, reading.where) == (True, 800)
    first, second = reading.records
    assert (first.topic, first.key, first.queue_id) == (topic.decode(), "k1", 4)
    assert (second.topic, second.key) == ("topic", "k2")
    assert first.body == one[first.body_at : -len(topic) - 9 - (2 if len(topic) > 127 else 1)] != b""
    assert describe(first, "f")["topic"] == topic.decode() and describe(first, "f")["keys"] == "k1"
    assert keys_of([first]) == {"k1": (topic.decode(),)}
    recorder = Recorder()
    audit(recorder, 1, 1, "final", "master", 1, reading, 0, 800)
    assert [each.queue for each in recorder.events if each.kind == "record"] == [f"{topic.decode()}/4", "topic/4"]


def test_a_v2_record_cut_or_changed_anywhere_before_its_text_is_noticed() -> None:
    whole = record(0, 1, 500, topic=b"t" * 200)
    for at in range(500 - 200 - 9):
        if not 8 <= at < 84:
            changed = bytearray(whole)
            changed[at] ^= 1
            assert read_log([(0, changed + bytes(FILE - 500))]).where == 0, at
        assert not read_log([(0, bytearray(whole[:at] + bytes(FILE - at)))], 500).whole


@pytest.mark.parametrize(("zeros", "whole"), [(512, False), (511, True)])
def test_nul_in_properties_is_no_damage_but_a_lost_sector_is(zeros: int, whole: bool) -> None:
    # Its text begins at 192, so that a whole sector from 512 on lies in it.
    properties = b"K\x01" + b"x" * (512 - 201) + b"y" * (512 - zeros) + bytes(zeros) + b"z" * 76
    data = record(0, 1, 1100, properties=properties)
    assert data[1023] == 0
    reading = read_log([(0, bytearray(data + bytes(4 * FILE - 1100)))])
    assert reading.whole is whole
    assert whole or "a lost sector in topic or properties: 512 zeros from 512 on" in str(reading.why)
    few = record(0, 1, properties=b"KEYS\x01a\0b\0")
    assert read_log([(0, bytearray(few + bytes(FILE - 200)))]).records[0].key == "a\0b\0"


def test_a_preallocated_next_file_does_not_matter() -> None:
    files, end = log(5)
    put(files, 1000, (24).to_bytes(4, "big") + BLANK.to_bytes(4, "big", signed=True))
    files.append((FILE, bytearray(FILE)))
    assert read_log(files).whole
    assert read_log(files, FILE).whole
    assert read_log(files[:1]).end == FILE
    assert end == 1000


def test_a_log_may_start_anywhere_and_may_be_empty() -> None:
    files, end = log(start=5 * FILE)
    assert read_log(files)[:4] == (5 * FILE, end, True, None)
    assert read_log([])[:4] == (0, 0, True, None)
    assert read_log([(3 * FILE, bytearray(FILE))], 3 * FILE)[:4] == (3 * FILE, 3 * FILE, True, None)


def damaged(at: int, data: bytes) -> LogReading:
    files, _ = log()
    put(files, at, data)
    return read_log(files)


@pytest.mark.parametrize(
    ("at", "data", "where", "why"),
    [
        (204, b"\x12\x34\x56\x78", 200, "bad magic 0x12345678"),
        (204, (0xDAA320AB).to_bytes(4, "big"), 200, "do not add up"),
        (200, (0).to_bytes(4, "big"), 200, "size 0 is less"),
        (200, (90).to_bytes(4, "big"), 200, "size 90 is less"),
        (200, (-5).to_bytes(4, "big", signed=True), 200, "size -5 is less"),
        (200, (0x7FFFFFFF).to_bytes(4, "big"), 200, "reaches past the end: 824 bytes are left"),
        (200, (201).to_bytes(4, "big"), 200, "do not add up to size 201"),
        (290, b"!", 200, "CRC mismatch"),
        (208, b"\x01", 200, "CRC mismatch"),
        (228, (7).to_bytes(8, "big"), 200, "says that it lies at 7"),
        (284, (-1).to_bytes(4, "big", signed=True), 200, "body of -1 bytes"),
        (284, (110).to_bytes(4, "big"), 200, "body of 110 bytes"),
        (200, bytes(8), 200, "zero bytes, although data follows at 208"),
        (200, bytes(824), 200, "zero bytes, although the file at 1024 holds data"),
        (1000, (23).to_bytes(4, "big"), 1000, "filler of 23 bytes, where 24 are left"),
        (1424, b"\0\0\0\0\0\0\0\1", 1424, "bad magic 0x00000001"),
    ],
)
def test_damage_is_found_where_it_is(at: int, data: bytes, where: int, why: str) -> None:
    reading = damaged(at, data)
    assert not reading.whole
    assert reading.where == where
    assert why in str(reading.why)
    assert all(each.hi <= where for each in reading.records)


@pytest.mark.parametrize("end", [1, 7, 8, 50, 190, 199, 201, 1001, 1010, 1023, 1025, 1200])
def test_a_log_that_ends_within_a_record_or_filler_is_not_whole(end: int) -> None:
    files, _ = log()
    reading = read_log(files, end)
    assert not reading.whole
    assert reading.where == max(lo for lo in (0, 200, 1000, 1024) if lo <= end)
    assert reading.end == end


def test_a_log_shorter_than_its_known_end_is_not_whole() -> None:
    files, end = log()
    assert read_log(files, end + 200).why == "zero bytes"
    assert read_log(files[:1], end).why == f"no file holds [1024, {end})"


def test_gaps_and_files_of_another_size_are_damage() -> None:
    files, _ = log(12)
    assert read_log([files[0], files[2]]).why == "the next file starts at 2048, not at 1024"
    assert read_log([files[0], (1024, files[1][1][:1000])]).why == "the file at 1024 has 1000 bytes, the first one 1024"
    assert read_log([(0, b"")]).why == "the file at 0 has 0 bytes, the first one 0"


def test_every_cut_of_a_file_is_survived() -> None:
    files, _ = log(4)
    data = bytes(files[0][1])
    for length in range(1, 800):
        reading = read_log([(0, data[:length])])
        # What a file of another length still has is read; nothing is read that it does not have.
        assert reading.where == length - length % 200
        assert reading.whole == (not any(data[reading.where : length]))


@given(st.integers(0, 1423), st.integers(1, 255))
def test_any_changed_byte_of_a_body_or_size_is_noticed(at: int, change: int) -> None:
    files, end = log()
    inside = (at if at < 1000 else at - 1024) % 200
    checked = inside < 12 or 28 <= inside < 36 or 84 <= inside < 181
    base, data = files[at // FILE]
    data[at - base] ^= change
    reading = read_log(files, end)
    if checked and not 1000 <= at < 1024:
        assert not reading.whole
        assert reading.where <= at


@given(st.binary(max_size=2_000))
def test_junk_is_never_more_than_reported(junk: bytes) -> None:
    reading = read_log([(0, junk)])
    assert reading.where <= len(junk)
    assert sum(each.hi - each.lo for each in reading.records) <= len(junk)


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        (b"KEYS\x01a", "a"),
        (b"KEYS\x01a b\x02TAGS\x01t", "a b"),
        (b"TAGS\x01t\x02KEYS\x01a\x02", "a"),
        (b"UNIQ_KEY\x01u\x02XKEYS\x01no", "u"),
        (b"UNIQ_KEY\x01u\x02KEYS\x01a", "a"),
        (b"KEYS\x01\x02UNIQ_KEY\x01u", "u"),
        (b"TAGS\x01KEYS", None),
        (b"", None),
    ],
)
def test_a_record_is_named_by_its_keys_or_unique_key(properties: bytes, key: str | None) -> None:
    data = bytearray(FILE)
    data[:200] = record(0, 3, properties=properties)
    reading = read_log([(0, data)], 200)
    assert reading.records[0].key == key
    assert [each.message for each in audited(reading, 0, 200) if each.kind == "record"] == [key]


def audited(reading: LogReading, lo: int, hi: int, records: bool = True) -> list[Event]:
    recorder = Recorder()
    audit(recorder, 5, 3, "final", "slave", 2, reading, lo, hi, records)
    return recorder.events


def test_an_audit_says_records_chunks_of_the_common_range_and_what_it_found() -> None:
    files, end = log()
    events = audited(read_log(files, end), 100, end)
    records = [each for each in events if each.kind == "record"]
    assert [(each.lo, each.hi, each.message, each.queue) for each in records][1] == (200, 400, "k1", "topic/4")
    chunks = [(each.lo, each.hi) for each in events if each.kind == "chunk"]
    assert chunks == [(100, CHUNK), (CHUNK, end)]
    last = events[-1]
    assert (last.kind, last.f, last.node, last.incarnation, last.op) == ("audit", "final", "slave", 2, 3)
    assert (last.status, last.lo, last.hi, last.value) == ("whole", 0, end, end)
    assert not [each for each in audited(read_log(files, end), 100, end, records=False) if each.kind == "record"]


def test_two_nodes_with_equal_bytes_have_equal_chunks_and_different_bytes_show() -> None:
    files, end = log()
    other, _ = log()
    before = [each.digest for each in audited(read_log(files, end), 0, end) if each.kind == "chunk"]
    assert before == [each.digest for each in audited(read_log(other, end), 0, end) if each.kind == "chunk"]
    put(other, 1300, b"!")
    after = [each.digest for each in audited(read_log(other, end), 0, end) if each.kind == "chunk"]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False]


def test_a_broken_log_is_audited_as_broken() -> None:
    last = audited(damaged(290, b"!"), 0, 1024)[-1]
    assert (last.status, last.value) == ("broken", 200)
    assert "CRC" in str(last.detail)


def store(folder: Path, files: list[LogFile]) -> Path:
    where = folder / "commitlog"
    where.mkdir()
    for start, data in files:
        (where / f"{start:020d}").write_bytes(data)
    return where


def test_a_store_folder_and_its_commit_log_folder_read_the_same(tmp_path: Path) -> None:
    files, end = log()
    where = store(tmp_path, list(files))
    for path in (tmp_path, where):
        reading = read_log(open_log(path))
        assert (reading.end, len(reading.records)) == (end, 7)


@pytest.mark.parametrize(
    "name", ["readme.txt", "0", "٠" * 20, "9" * 20, "0000000000000000102x", "-0000000000000001024"]
)
def test_an_odd_name_among_the_files_is_a_usage_error(tmp_path: Path, name: str) -> None:
    where = store(tmp_path, list(log()[0]))
    (where / name).write_bytes(bytes(FILE))
    with pytest.raises(UsageError, match="start offset in 20 digits"):
        open_log(tmp_path)


def test_links_folders_and_missing_files_are_usage_errors_of_one_line(tmp_path: Path) -> None:
    where = store(tmp_path, list(log()[0]))
    (where / f"{2048:020d}").symlink_to(where / f"{0:020d}")
    with pytest.raises(UsageError, match="symbolic link"):
        open_log(tmp_path)
    (where / f"{2048:020d}").unlink()
    (where / f"{2048:020d}").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        open_log(tmp_path)
    with pytest.raises(UsageError, match="no such folder") as caught:
        open_log(tmp_path / "nowhere")
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="not a folder"):
        open_log(where / f"{0:020d}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no commit log files"):
        open_log(tmp_path / "empty")
