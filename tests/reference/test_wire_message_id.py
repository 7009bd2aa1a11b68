"""Offset message ids and properties text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_ids import decode

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import message_id
from pairproof.reference.wire.properties import java_hash, properties_of, properties_to, tags_code

HOSTS = st.tuples(st.binary(min_size=4, max_size=4) | st.binary(min_size=16, max_size=16), st.integers(0, 65535))
NAMES = st.text(st.characters(min_codepoint=3, exclude_categories=["Cs"]), min_size=1, max_size=8)


def test_known_id() -> None:
    assert message_id.encode((b"\x7f\0\0\x01", 10911), 228780) == "7F00000100002A9F0000000000037DAC"
    assert decode("7F00000100002A9F0000000000037DAC") == ((b"\x7f\0\0\x01", 10911), 228780)


@given(HOSTS, st.integers(0, 2**63 - 1))
def test_id_round_trip(host: tuple[bytes, int], offset: int) -> None:
    text = message_id.encode(host, offset)
    assert text == text.upper()
    assert decode(text) == (host, offset)


@given(st.dictionaries(NAMES, NAMES, max_size=5))
def test_properties_round_trip_with_and_without_the_last_separator(properties: dict[str, str]) -> None:
    raw = properties_to(properties)
    assert not raw.endswith(b"\x02")
    assert properties_of(raw) == properties_of(raw + b"\x02") == properties


def test_entries_without_name_value_or_separator_are_left_out() -> None:
    assert properties_of(b"\x01v\x02n\x01\x02n\x02\x02a\x01b\x01c") == {"a": "b\x01c"}


@given(st.binary(max_size=60))
def test_any_bytes_are_some_properties(raw: bytes) -> None:
    assert all(name and value for name, value in properties_of(raw).items())


@pytest.mark.parametrize("bad", [{"a\x01": "b"}, {"a": "b\x02"}, {"a": "\ud800"}])
def test_properties_that_cannot_be_stored_are_refused(bad: dict[str, str]) -> None:
    with pytest.raises(CodecError):
        properties_to(bad)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("TagA", 2598919), ("polygenelubricants", -(2**31)), ("\U0001f600", 1772899)],
)
def test_java_hash(text: str, expected: int) -> None:
    assert java_hash(text) == expected


def test_tags_code_is_the_hash_of_the_tags_or_zero() -> None:
    assert tags_code({"TAGS": "TagA"}) == 2598919
    assert tags_code({"KEYS": "TagA"}) == tags_code({"TAGS": ""}) == 0
