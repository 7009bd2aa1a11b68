"""Dispatch: whole records only, what goes where, full disks, a slave that joins late."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_play import LOG_FILE, NOW_MS, fresh, same, started

from pairproof.reference.core.delay import DEFAULT_DELAYS_MS, SCHEDULE_TOPIC, level_of, parse_levels, queue_of_level
from pairproof.reference.core.dispatch import keys_of
from pairproof.reference.errors import ConfigError
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Message

TAG_A = 2598919
V6 = (bytes(16), 1)
MB = 1 << 20
BIG = (MB, 400, 100, 100)


@pytest.mark.parametrize(
    ("sys_flag", "in_queue", "in_index"), [(0, 1, 1), (4, 0, 1), (8, 1, 1), (12, 0, 0), (1 | 8, 1, 1), (1 | 4, 0, 1)]
)
def test_transaction_type_decides_where_a_message_goes(sys_flag: int, in_queue: int, in_index: int) -> None:
    store = started()
    lo = store.put(1, sys_flag=sys_flag)
    assert store.queues.next_offset("topic", 0) == len(store.arrived) == in_queue
    assert store.answers(["k1", "u1"]) == {"k1": [lo] * in_index, "u1": [lo] * in_index}
    assert store.dispatcher.at == store.log.end


def test_message_is_told_of_once_with_its_offset_and_tags_code() -> None:
    store = started()
    for number in range(3):
        store.put(number, properties=b"TAGS\x01TagA")
    assert store.arrived == [(0, TAG_A), (1, TAG_A), (2, TAG_A)]
    assert store.dispatcher.dispatch() == 0 and len(store.arrived) == 3
    store.dispatcher.at = 0
    assert store.dispatcher.dispatch() == 0 and len(store.arrived) == 3


@pytest.mark.parametrize(
    ("properties", "keys"),
    [
        ({}, []),
        ({"UNIQ_KEY": "u"}, ["u"]),
        ({"KEYS": "a  b a "}, ["a", "b", "a"]),
        ({"KEYS": "a", "UNIQ_KEY": "u"}, ["u", "a"]),
    ],
)
def test_message_is_found_by_its_client_s_id_and_each_word_of_its_keys(
    properties: dict[str, str], keys: list[str]
) -> None:
    assert keys_of(properties) == keys


@pytest.mark.parametrize(
    ("topic", "properties", "code"),
    [
        ("t", b"", 0),
        ("t", b"KEYS\x01TAGS", 0),
        ("t", b"TAGS\x01TagA", TAG_A),
        ("t", b"DELAY\x013", 0),
        (SCHEDULE_TOPIC, b"DELAY\x013", NOW_MS + 10_000),
        (SCHEDULE_TOPIC, b"DELAY\x0199", NOW_MS + 7_200_000),
        (SCHEDULE_TOPIC, b"DELAY\x010\x02TAGS\x01TagA", TAG_A),
        (SCHEDULE_TOPIC, b"DELAY\x01" + b"9" * 300 + b"\x02TAGS\x01TagA", TAG_A),
        (SCHEDULE_TOPIC, b"DELAY\x01-1", 0),
        (SCHEDULE_TOPIC, b"TAGS\x01TagA", TAG_A),
    ],
)
def test_tags_code(topic: str, properties: bytes, code: int) -> None:
    store = started()
    store.put(0, topic=topic, properties=properties, ms=NOW_MS)
    assert store.queues.get(topic, 0, 0, 1)[0].tags_code == code


def test_delay_levels() -> None:
    assert len(DEFAULT_DELAYS_MS) == 18 and DEFAULT_DELAYS_MS[0] == 1_000 and DEFAULT_DELAYS_MS[-1] == 7_200_000
    assert parse_levels("2s 1d") == (2_000, 86_400_000)
    assert [level_of({"DELAY": text}, (1, 2)) for text in ("0", "1", "2", "3", "x")] == [0, 1, 2, 2, 0]
    assert (level_of({}, (1, 2)), queue_of_level(1)) == (0, 0)
    for text in ("", "1", "1s  2s", "1w", "-1s", "s"):
        with pytest.raises(ConfigError, match="messageDelayLevel must be like"):
            parse_levels(text)


@pytest.mark.parametrize("flags", [0x10, 0x20, 0x30])
def test_v6_hosts_are_skipped_over(flags: int) -> None:
    store = started()
    hosts = {"born_host": V6} if flags & 0x10 else {}
    hosts |= {"store_host": V6} if flags & 0x20 else {}
    store.put(0, queue_id=7, sys_flag=flags, **hosts)
    assert store.queues.next_offset("topic", 7) == 1


def test_record_is_dispatched_with_its_last_byte_and_not_before() -> None:
    master, slave = started(), started()
    for number in range(16):
        master.put(number)
    ends = []
    while slave.log.end < master.log.end:
        assert slave.log.append(slave.log.end, master.log.read(slave.log.end, 1))
        if slave.dispatcher.dispatch():
            ends.append(slave.log.end)
        assert slave.dispatcher.stalled is None and slave.dispatcher.at <= slave.log.end
    same(slave, master)
    assert ends == [entry.physical_offset + entry.size for entry in master.view()["topic", 0][1]]


def test_records_larger_than_the_read_window_are_dispatched() -> None:
    store = started(layout=BIG)
    for number, size in enumerate((10, 70_000, 200_000, 10, 65_000, 600_000, 10)):
        store.put(number, body=bytes(size))
    assert store.queues.next_offset("topic", 0) == 7 and store.dispatcher.at == store.log.end


@pytest.mark.parametrize("size", [-1, 0, 90, LOG_FILE - 1, 2**31 - 1])
@pytest.mark.parametrize("magic", [0xDAA320A7, 0xDAA320AB, 0])
def test_what_is_no_record_stalls_dispatch_and_says_so(size: int, magic: int) -> None:
    store = started()
    store.put(0)
    end = store.log.end
    store.log.append(end, struct.pack(">iI", size, magic) + bytes(200))
    for _ in range(2):
        assert store.dispatcher.dispatch() == 0
        assert store.dispatcher.at == end and f"no record at {end}" in str(store.dispatcher.stalled)


def test_record_whose_parts_do_not_add_up_is_jumped_over() -> None:
    store = started()
    bad = bytearray(record.encode(Message("topic", 0, b"b" * 60), 0, 0, 1))
    struct.pack_into(">i", bad, 84, 61)
    store.log.append(0, bytes(bad))
    assert store.dispatcher.dispatch() == 0 and store.dispatcher.at == store.log.end
    store.put(1)
    assert store.queues.next_offset("topic", 0) == 1 and store.dispatcher.stalled is None


def test_file_end_too_near_for_anything_stalls_dispatch() -> None:
    store = started()
    fixed = record.size_of(Message("topic", 0, b""))
    store.log.append(0, record.encode(Message("topic", 0, b"b" * (LOG_FILE - 4 - fixed)), 0, 0, 1))
    store.log.append(store.log.end, bytes(3))
    assert store.dispatcher.dispatch() == 1
    store.log.append(store.log.end, bytes(1))
    assert store.dispatcher.dispatch() == 0 and "its file ends in 4 bytes" in str(store.dispatcher.stalled)


@pytest.mark.parametrize("topic", ["../../up", "a/b", "a b", "tö"])
def test_topic_that_cannot_be_a_folder_gets_no_queue_and_stops_nothing(topic: str) -> None:
    store = started()
    store.put(0, topic=topic)
    store.put(1)
    assert list(store.view()) == [("topic", 0)] and store.dispatcher.at == store.log.end


@pytest.mark.parametrize("room", range(1, 9))
def test_without_room_dispatch_stays_and_goes_on_when_there_is_some(room: int) -> None:
    store, twin = started(), started()
    for number in range(12):
        twin.put(number, queue_id=number % 2)
    for at in twin.log.files.starts:
        store.log.append(at, twin.log.read(at, 1 << 20))
    store.disk.room = room
    store.dispatcher.dispatch()
    assert "no room for" in str(store.dispatcher.stalled) and store.dispatcher.at < store.log.end
    store.disk.room = 99
    store.dispatcher.dispatch()
    same(store, twin)
    assert store.disk.content("consumequeue") == twin.disk.content("consumequeue")
    assert store.disk.content("index") == twin.disk.content("index")
    assert len(store.arrived) == 12


def test_slave_that_joined_late_has_its_queues_from_the_first_message_it_got() -> None:
    master, slave = started(), started()
    for number in range(30):
        master.put(number, queue_id=number % 2)
    at = master.log.files.starts[-2]
    while at < master.log.end:
        data = master.log.read(at, 100)
        assert slave.log.append(at, data)
        slave.dispatcher.dispatch()
        at += len(data)
    same(slave, fresh(slave.disk))
    for here, (first, entries) in slave.view().items():
        assert first > 0 and master.queues.get(*here, first, 99) == entries


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 0, 4, 8, 12])), min_size=1, max_size=25),
    st.lists(st.integers(1, 300), min_size=1, max_size=6),
)
@settings(max_examples=60)
def test_queues_and_index_are_the_same_however_the_bytes_came(
    messages: list[tuple[int, int]], steps: list[int]
) -> None:
    master, slave = started(), started()
    for number, (queue_id, sys_flag) in enumerate(messages):
        master.put(number, queue_id, sys_flag=sys_flag)
    turn = 0
    while slave.log.end < master.log.end:
        slave.log.append(slave.log.end, master.log.read(slave.log.end, steps[turn % len(steps)]))
        slave.dispatcher.dispatch()
        turn += 1
    same(slave, master)
    for folder in ("consumequeue", "index"):
        assert slave.disk.content(folder) == master.disk.content(folder)
