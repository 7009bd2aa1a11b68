"""Dispatch into queues: whole records only, fillers, gaps, garbage, and the golden consume queues."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.queue_index import Entry, QueueIndex
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Message

SIZE = 1024
V6 = (bytes(16), 1)


def message(queue_id: int = 0, body: int = 60, properties: bytes = b"TAGS\x01TagA", **changes: Any) -> Message:
    return Message("topic", queue_id, b"b" * body, properties)._replace(**changes)


def opened(disk: Any, size: int = SIZE) -> CommitLog:
    log = CommitLog(disk, size)
    log.recover(True)
    return log


def all_of(index: QueueIndex, topic: str = "topic", queue_id: int = 0) -> list[Entry]:
    return index.get(topic, queue_id, index.min_offset(topic, queue_id), 10_000)


def test_entries_say_where_each_message_lies(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    puts = [log.put(message(queue), offset, 1) for offset, queue in ((0, 0), (0, 1), (1, 0))]
    assert index.dispatch(log) == 3 and index.dispatch(log) == 0
    assert all_of(index) == [Entry(put.lo, put.hi - put.lo, 2598919) for put in (puts[0], puts[2])]
    assert all_of(index, queue_id=1) == [Entry(puts[1].lo, puts[1].hi - puts[1].lo, 2598919)]
    assert (index.next_offset("topic", 0), index.min_offset("topic", 0), index.at) == (2, 0, log.end)
    assert (index.next_offset("other", 0), index.min_offset("other", 0), index.get("other", 0, 0, 1)) == (0, 0, [])


def test_get_gives_what_lies_inside_the_queue(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    for offset in range(5, 9):
        log.put(message(), offset, 1)
    index.dispatch(log)
    entries = all_of(index)
    assert index.get("topic", 0, 5, 2) == entries[:2]
    assert index.get("topic", 0, 8, 9) == entries[3:]
    assert index.get("topic", 0, 4, 9) == index.get("topic", 0, 9, 9) == index.get("topic", 0, 5, -1) == []


def test_queue_of_a_fresh_slave_begins_at_its_first_message(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    log.append(3 * SIZE, record.encode(message(), 43, 3 * SIZE, 1))
    assert index.dispatch(log) == 1
    assert (index.min_offset("topic", 0), index.next_offset("topic", 0)) == (43, 44)


def test_gap_is_counted_and_closed_and_a_repeated_offset_skipped(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    puts = [log.put(message(), offset, 1) for offset in (0, 5, 0)]
    assert index.dispatch(log) == 2
    assert index.gaps == 1
    assert [entry.physical_offset for entry in all_of(index)] == [puts[0].lo, puts[1].lo]


def test_half_and_rollback_messages_are_not_indexed(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    for number, transaction in enumerate((0, 4, 8, 12)):
        log.put(message(sys_flag=transaction), number // 2, 1)
    assert index.dispatch(log) == 2
    assert index.at == log.end


@pytest.mark.parametrize("flags", [0x10, 0x20, 0x30])
def test_v6_hosts_are_skipped_over(disk: Any, flags: int) -> None:
    log, index = opened(disk), QueueIndex()
    hosts = {"born_host": V6} if flags == 0x10 else {"store_host": V6} if flags == 0x20 else {}
    hosts = hosts or {"born_host": V6, "store_host": V6}
    log.put(message(7, sys_flag=flags, **hosts), 3, 1)
    assert index.dispatch(log) == 1
    assert index.min_offset("topic", 7) == 3


@pytest.mark.parametrize(
    ("topic", "properties", "code"),
    [
        ("t", b"", 0),
        ("t", b"KEYS\x01TAGS", 0),
        ("t", b"XTAGS\x01TagA", 0),
        ("t", b"DELAY\x013", 0),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x013", 1_000_000 + 10_000),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x0199", 1_000_000 + 7_200_000),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x010\x02TAGS\x01TagA", 2598919),
        ("SCHEDULE_TOPIC_XXXX", b"DELAY\x01" + b"9" * 300, 0),
        ("SCHEDULE_TOPIC_XXXX", b"TAGS\x01TagA", 2598919),
    ],
)
def test_tags_code(disk: Any, topic: str, properties: bytes, code: int) -> None:
    log, index = opened(disk), QueueIndex()
    log.put(message(topic=topic, properties=properties), 0, 1_000_000)
    index.dispatch(log)
    assert all_of(index, topic)[0].tags_code == code


def test_record_is_dispatched_with_its_last_byte_and_not_before(make_disk: Any) -> None:
    master, slave, index = opened(make_disk()), opened(make_disk()), QueueIndex()
    for number in range(16):
        master.put(message(body=40 + number), number, 1)
    ends = []
    while slave.end < master.end:
        assert slave.append(slave.end, master.read(slave.end, 1))
        if index.dispatch(slave):
            ends.append(slave.end)
        # Of a filler too only what is held counts.
        assert index.stalled is None and index.at <= slave.end
    whole = QueueIndex()
    assert whole.dispatch(master) == 16
    assert all_of(index) == all_of(whole)
    assert ends == [entry.physical_offset + entry.size for entry in all_of(whole)]


@given(st.lists(st.integers(0, 900), min_size=1, max_size=12), st.lists(st.integers(1, 300), min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_index_is_the_same_however_the_bytes_came(make_disk: Any, bodies: list[int], steps: list[int]) -> None:
    master, slave = opened(make_disk()), opened(make_disk())
    whole, grown, turn = QueueIndex(), QueueIndex(), 0
    for number, body in enumerate(bodies):
        master.put(message(body=body), number, 1)
    while slave.end < master.end:
        slave.append(slave.end, master.read(slave.end, steps[turn % len(steps)]))
        grown.dispatch(slave)
        turn += 1
    assert whole.dispatch(master) == len(bodies)
    assert all_of(grown) == all_of(whole) and grown.at == whole.at == master.end


def test_records_larger_than_the_read_window_are_dispatched(disk: Any) -> None:
    log, index = opened(disk, 1 << 20), QueueIndex()
    for number, body in enumerate((10, 70_000, 200_000, 10, 65_000, 600_000, 10)):
        log.put(message(body=body), number, 1)
    assert index.dispatch(log) == 7 and index.at == log.end


def test_garbage_stalls_dispatch_and_says_so(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    put = log.put(message(), 0, 1)
    for garbage in (b"garbage!", b"more of it" * 20):
        assert log.append(log.end, garbage)
        assert index.dispatch(log) == (1 if garbage == b"garbage!" else 0)
        assert index.at == put.hi and "no record at" in str(index.stalled)


@pytest.mark.parametrize("size", [-1, 0, 90, SIZE - 1, 2**31 - 1])
def test_impossible_size_stalls_dispatch(disk: Any, size: int) -> None:
    log, index = opened(disk), QueueIndex()
    put = log.put(message(), 0, 1)
    log.append(log.end, struct.pack(">iI", size, 0xDAA320A7) + bytes(200))
    assert index.dispatch(log) == 1
    assert index.at == put.hi and index.stalled is not None


def test_record_whose_parts_do_not_add_up_is_skipped(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    bad = bytearray(record.encode(message(), 0, 0, 1))
    struct.pack_into(">i", bad, 84, 61)
    log.append(0, bytes(bad))
    log.put(message(), 1, 1)
    assert index.dispatch(log) == 1
    assert index.min_offset("topic", 0) == 1 and index.stalled is None


def test_file_end_too_near_for_anything_stalls_dispatch(disk: Any) -> None:
    log, index = opened(disk), QueueIndex()
    fixed = record.size_of(message(body=0))
    log.append(0, record.encode(message(body=SIZE - 4 - fixed), 0, 0, 1))
    log.append(log.end, bytes(3))
    assert index.dispatch(log) == 1
    log.append(log.end, bytes(1))
    log.append(log.end, bytes(4))
    assert index.dispatch(log) == 0 and index.stalled is not None


@given(st.binary(max_size=300), st.booleans())
@settings(deadline=None, max_examples=200)
def test_any_bytes_end_dispatch(make_disk: Any, data: bytes, with_magic: bool) -> None:
    log, index = opened(make_disk()), QueueIndex()
    log.put(message(), 0, 1)
    log.append(log.end, struct.pack(">iI", len(data) + 8, 0xDAA320A7) + data if with_magic else data)
    assert 1 <= index.dispatch(log) <= 2
    assert index.at <= log.end


@pytest.mark.parametrize("broker", ["master", "slave", "late-slave"])
def test_golden_consume_queues(
    broker: str, golden_disk: Callable[[str], Any], golden_rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    log, index = CommitLog(golden_disk(broker), 65536), QueueIndex()
    log.recover(True)
    added = index.dispatch(log)
    assert index.at == log.end and index.stalled is None and index.gaps == 0
    expected: dict[tuple[str, int], list[Entry]] = {}
    rows = golden_rows(f"{broker}.consumequeue")
    for row in sorted(rows, key=lambda row: (row["topic"], row["queueId"], int(row["file"]), row["index"])):
        entries = expected.setdefault((row["topic"], row["queueId"]), [])
        entries.append(Entry(row["physicalOffset"], row["size"], row["tagsCode"]))
    for (topic, queue_id), entries in expected.items():
        # Slots below the first message of a slave that joined late hold a marker of the largest size.
        first = sum(entry.size == 2**31 - 1 for entry in entries)
        # A queue file holds 20 entries, so what lies in earlier files was never there.
        assert index.get(topic, queue_id, index.min_offset(topic, queue_id), 100) == entries[first:]
        assert (index.min_offset(topic, queue_id) - first) % 20 == 0
    assert added == sum(entry.size < 2**31 - 1 for entries in expected.values() for entry in entries)
