"""Tables are read as RocketMQ writes them: fastjson's unquoted keys, tabs, and bodies with or without a version."""

from __future__ import annotations

import json

import pytest

from pairproof.chaos.observers.table_reader import Table, read

TOPICS = b'{"dataVersion":{"counter":3,"timestamp":17},"topicConfigTable":{"b":{"perm":6},"a{1:":{"perm":4}}}'


def test_topics_and_groups_come_with_their_version_and_sorted() -> None:
    assert read("topics", TOPICS) == Table(3, 17, '{"a{1:": {"perm": 4}, "b": {"perm": 6}}')
    assert read("groups", b'{"dataVersion":{},"subscriptionGroupTable":{}}') == Table(None, None, "{}")


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
