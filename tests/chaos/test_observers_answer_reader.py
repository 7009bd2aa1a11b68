"""What is read of brokers' answers to questions, and what is no such answer."""

from __future__ import annotations

import pytest

from pairproof.chaos.observers import answer_reader
from pairproof.harness.history import digest
from pairproof.reference.wire import beans
from pairproof.reference.wire.bodies import KVTable
from pairproof.reference.wire.bodies_client import (
    ConsumerList,
    ConsumeStats,
    MessageQueue,
    OffsetWrapper,
    TopicOffset,
    TopicStatsTable,
)
from pairproof.reference.wire.record import Message, encode

MESSAGE = Message("t", 1, b"body", b"KEYS\x01m0")


def stored(offset: int) -> bytes:
    return encode(MESSAGE, 0, offset, 1_000)


def test_records_are_read_one_behind_the_other() -> None:
    one, other = stored(0), stored(500)
    assert answer_reader.records(one + other) == [(0, digest(one)), (500, digest(other))]
    assert answer_reader.records(b"") == []


@pytest.mark.parametrize("body", [b"no record", stored(0)[:-1], bytes(200), stored(0) + b"x"])
def test_bytes_that_are_no_record_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="no record"):
        answer_reader.records(body)


def test_tables_with_queues_for_keys_are_read() -> None:
    topic = TopicStatsTable({MessageQueue("t", "b", number): TopicOffset(number, 7, 9) for number in (1, 0)})
    assert answer_reader.queues(beans.encode(topic), answer_reader.TOPIC) == {0: [0, 7, 9], 1: [1, 7, 9]}
    group = ConsumeStats({MessageQueue("t", "b", 3): OffsetWrapper(5, 4, 8)})
    assert answer_reader.queues(beans.encode(group), answer_reader.GROUP) == {3: [5, 4, 8]}
    assert answer_reader.queues(b'{"offsetTable":{}}', answer_reader.TOPIC) == {}
    row = b'{"lastUpdateTimestamp":3,"maxOffset":2,"minOffset":1}'
    java = b'{"offsetTable":{{"brokerName":"b","queueId":2,"topic":"t"}:' + row + b"}}"
    assert answer_reader.queues(java, answer_reader.TOPIC) == {2: [1, 2, 3]}


@pytest.mark.parametrize("body", [b"{}", b"\xff", b'{"offsetTable":{{"queueId":1}:{"maxOffset":2}}}'])
def test_what_is_no_table_of_queues_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        answer_reader.queues(body, answer_reader.TOPIC)


def test_figures_and_members_are_read_and_anything_else_is_refused() -> None:
    assert answer_reader.figures(beans.encode(KVTable({"a": "1", "b": "x"})), ("a", "c")) == {"a": 1}
    assert answer_reader.members(beans.encode(ConsumerList(("c0", "c1")))) == ["c0", "c1"]
    for wrong in (b"[]", b'{"table":3}', b'{"table":{"a":"x"}}'):
        with pytest.raises(ValueError, match=r"."):
            answer_reader.figures(wrong, ("a",))
    with pytest.raises(ValueError, match="no client ids"):
        answer_reader.members(b'{"consumerIdList":[1]}')
