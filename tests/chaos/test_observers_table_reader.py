"""Tables are read as RocketMQ writes them: fastjson's unquoted keys, tabs, and bodies with or without a version."""

from __future__ import annotations

import json

import pytest

from pairproof.chaos.observers.table_reader import Table, brokers, read, read_delays

TOPICS = b'{"dataVersion":{"counter":3,"timestamp":17},"topicConfigTable":{"b":{"perm":6},"a{1:":{"perm":4}}}'


def test_topics_and_groups_come_with_their_version_and_sorted() -> None:
    assert read("topics", TOPICS) == Table('{"a{1:": {"perm": 4}, "b": {"perm": 6}}', 3, 17)
    assert read("groups", b'{"dataVersion":{},"subscriptionGroupTable":{}}') == Table("{}")


@pytest.mark.parametrize(
    "body",
    [
        b'{"offsetTable":{"T1@G1":{0:5,2:7},"T,{3:4@G":{1:0}}}',
        b'{\n\t"offsetTable":{\n\t\t"T1@G1":{0:5,2:7\n\t\t},\n\t\t"T,{3:4@G":{1:0\n\t\t}\n\t}\n}',
        b'{"offsetTable":{"T1@G1":{"0":5,"2":7},"T,{3:4@G":{"1":0}}}',
    ],
)
def test_keys_that_are_numbers_are_read_quoted_or_not_and_text_is_left_alone(body: bytes) -> None:
    found = read("offsets", body)
    assert (found.counter, found.timestamp) == (None, None)
    assert json.loads(found.detail) == {"T1@G1": {"0": 5, "2": 7}, "T,{3:4@G": {"1": 0}}


def test_delays_are_offsets_by_level() -> None:
    assert json.loads(read("delays", b'{"offsetTable":{3:1,18:2}}').detail) == {"3": 1, "18": 2}


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"offsetTable":[]}', b"{1}"])
def test_what_is_no_table_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError):
        read("offsets", body)


WRONG = [
    b"\xff", b"[" * 100_000, b"null", b"{1}", b'{"offsetTable":5}', b'{"offsetTable":{},"dataVersion":[1]}',
    b'{"offsetTable":{},"dataVersion":{"counter":"x"}}',
    b'{"offsetTable":{},"dataVersion":{"timestamp":9223372036854775808}}',
    b'{"brokerAddrTable":{"b":{}}}', b'{"brokerAddrTable":[]}',
    b'{"brokerAddrTable":{"b":{"brokerAddrs":[1]}}}', b'{"brokerAddrTable":{"b":null}}',
]  # fmt: skip


@pytest.mark.parametrize("body", WRONG, ids=range(len(WRONG)))
def test_whatever_comes_instead_of_a_table_is_one_kind_of_error(body: bytes) -> None:
    for reading in (lambda: read("offsets", body), lambda: brokers(body)):
        with pytest.raises(ValueError):
            reading()


EMPTY, KEPT = b'{"offsetTable":{}}', b'{"offsetTable":{3:1}}'


@pytest.mark.parametrize(
    ("contents", "found"),
    [
        ((None, None), "{}"), ((b"", b""), "{}"), ((bytes(20), None), "{}"), ((KEPT, b"torn"), '{"3": 1}'),
        ((KEPT[:-2], KEPT), '{"3": 1}'), ((bytes(20), KEPT), '{"3": 1}'),
    ],
)  # fmt: skip
def test_a_file_is_read_with_its_backup_as_a_broker_would(contents: tuple[bytes | None, ...], found: str) -> None:
    assert read_delays(contents).detail == found


@pytest.mark.parametrize("contents", [(KEPT[:-2], None), (KEPT[:-2], KEPT[:-1]), (b"", KEPT[:-1])])
def test_a_file_without_a_whole_backup_cannot_be_read(contents: tuple[bytes | None, ...]) -> None:
    with pytest.raises(ValueError):
        read_delays(contents)
