"""The stored record: layout, limits, and hostile bytes."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Blank, Message, Record

LOOPBACK = (b"\x7f\0\0\x01", 10911)
V6 = (bytes(range(16)), 9876)
MESSAGE = Message("topic", 3, b"body", b"KEYS\x01k", 7, 0, 11, LOOPBACK, LOOPBACK, 2, 13)
INTS, LONGS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    v6 = draw(st.sampled_from([0, record.BORN_HOST_V6, record.STORE_HOST_V6, 0x30]))
    hosts = [V6 if v6 & bit else LOOPBACK for bit in (record.BORN_HOST_V6, record.STORE_HOST_V6)]
    return Message(
        topic=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=30)),
        queue_id=draw(INTS),
        body=draw(st.binary(max_size=60)),
        properties=draw(st.binary(max_size=60)),
        flag=draw(INTS),
        sys_flag=v6 | draw(st.sampled_from([0, 1, 0x301, 8])),
        born_ms=draw(LONGS),
        born_host=hosts[0],
        store_host=hosts[1],
        reconsume_times=draw(INTS),
        prepared_offset=draw(LONGS),
    )


def test_layout_is_the_documented_one() -> None:
    data = record.encode(MESSAGE, 5, 1000, 17)
    assert len(data) == record.size_of(MESSAGE) == 91 + 4 + 5 + 6
    assert struct.unpack_from(">iIiii", data) == (len(data), 0xDAA320A7, zlib.crc32(b"body") & 0x7FFFFFFF, 3, 7)
    assert struct.unpack_from(">qqiq", data, 20) == (5, 1000, 0, 11)
    assert data[48:56] == b"\x7f\0\0\x01" + struct.pack(">i", 10911)
    assert struct.unpack_from(">q", data, 56) == (17,)
    assert struct.unpack_from(">iqi", data, 72) == (2, 13, 4)
    assert data[88:] == b"body" + b"\x05topic" + b"\x00\x06KEYS\x01k"


@given(messages(), LONGS, LONGS, LONGS, st.integers(0, 9))
def test_round_trip_anywhere_in_a_buffer(message: Message, queue_offset: int, at: int, ms: int, before: int) -> None:
    data = record.encode(message, queue_offset, at, ms)
    crc = zlib.crc32(message.body) & 0x7FFFFFFF
    expected = Record(len(data), queue_offset, at, ms, crc, message)
    for buffer in (b"#" * before + data + b"#", bytearray(b"#" * before + data), memoryview(b"#" * before + data)):
        assert record.decode(buffer, before) == expected  # type: ignore[arg-type]
    assert record.size_of(message) == len(data)


def test_v6_hosts_make_the_record_twelve_bytes_longer_each() -> None:
    one = MESSAGE._replace(sys_flag=record.BORN_HOST_V6, born_host=V6)
    both = one._replace(sys_flag=0x30, store_host=V6)
    sizes = [record.size_of(each) for each in (MESSAGE, one, both)]
    assert sizes == [sizes[0], sizes[0] + 12, sizes[0] + 24]


@pytest.mark.parametrize(
    "changes",
    [
        {"topic": "t" * 32768},
        {"topic": "\u00e4" * 16384},
        {"topic": "\ud800"},
        {"properties": b"p" * 32768},
        {"queue_id": 2**31},
        {"born_host": V6},
        {"sys_flag": record.BORN_HOST_V6},
        {"sys_flag": record.BORN_HOST_V6, "store_host": V6},
        {"store_host": (b"\x7f", 1)},
    ],
)
def test_message_that_does_not_fit_the_format_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CodecError):
        record.encode(MESSAGE._replace(**changes), 0, 0, 0)


@pytest.mark.parametrize("topic", ["t" * 127, "t" * 128, "\u00e4" * 64, "t" * 32767])
def test_longest_topics_and_properties_fit(topic: str) -> None:
    message = MESSAGE._replace(topic=topic, properties=b"p" * 32767)
    data = record.encode(message, 0, 0, 0)
    assert record.decode(data).message == message  # type: ignore[union-attr]
    assert len(data) == record.size_of(message) and data[4:8] in record.RECORD_MAGICS
    assert (data[7] == 0xAB) is (len(topic.encode()) > 127)


def test_v2_record_has_two_bytes_for_the_length_of_its_topic() -> None:
    one, other = (record.encode(MESSAGE._replace(topic="t" * size), 5, 1000, 17) for size in (127, 128))
    assert (one[4:8].hex(), other[4:8].hex()) == ("daa320a7", "daa320ab")
    assert len(other) == len(one) + 2
    for size in (-1, 127, 129, 32767):
        bad = bytearray(other)
        struct.pack_into(">h", bad, 92, size)
        with pytest.raises(CodecError, match=f"topic of {size & 0xFFFF}|parts make"):
            record.decode(bytes(bad))


def test_filler() -> None:
    assert record.encode_blank(3759) == struct.pack(">iI", 3759, 0xCBD43194)
    assert record.decode(record.encode_blank(3759)) == Blank(3759)
    assert record.peek(record.encode_blank(3759)) == (3759, record.MAGIC_BLANK)
    with pytest.raises(CodecError):
        record.encode_blank(7)
    with pytest.raises(CodecError):
        record.decode(struct.pack(">iI", 7, 0xCBD43194))


DATA = record.encode(MESSAGE, 5, 1000, 17)


def doctored(at: int, layout: str, *values: int) -> bytes:
    data = bytearray(DATA)
    struct.pack_into(layout, data, at, *values)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "too few"),
        (DATA[:7], "too few"),
        (doctored(4, ">I", 0xDAA320AB), "topic of 1396"),
        (doctored(4, ">I", 0x12345678), "0x12345678"),
        (bytes(200), "zero bytes"),
        (doctored(0, ">i", -1), "smallest"),
        (doctored(0, ">i", 90), "smallest"),
        (doctored(0, ">i", 2**31 - 1), "only 106"),
        (doctored(0, ">i", len(DATA) - 1), "parts make"),
        (DATA + b"#", None),
        (doctored(84, ">i", -1), "body of -1"),
        (doctored(84, ">i", 2**31 - 1), "body of"),
        (doctored(92, ">b", -1), "topic of 255"),
        (doctored(92, ">b", 127), "topic of 127"),
        (doctored(98, ">h", -1), "parts make"),
        (doctored(98, ">h", 32767), "parts make"),
        (doctored(98, ">h", 5), "parts make"),
        (doctored(89, ">b", 1), "CRC"),
        (doctored(8, ">i", 1), "CRC"),
        (doctored(36, ">i", 0x30), "IPv6|body|parts"),
        (doctored(93, ">B", 0xFF), "UTF-8"),
    ],
)
def test_what_is_no_whole_record_is_refused_with_the_reason(data: bytes, why: str | None) -> None:
    if why is None:
        assert record.decode(data) == record.decode(DATA)
        return
    with pytest.raises(CodecError, match=why):
        record.decode(data)


def test_topic_length_above_a_signed_byte_is_refused_even_if_it_fits() -> None:
    shorter = bytearray(record.encode(MESSAGE._replace(topic="t" * 127), 0, 0, 0))
    assert isinstance(record.decode(bytes(shorter)), Record)
    shorter[92:93] = b"\x80t"
    struct.pack_into(">i", shorter, 0, len(shorter))
    with pytest.raises(CodecError, match="topic of 128"):
        record.decode(bytes(shorter))


def test_crc_can_be_left_unchecked() -> None:
    broken = doctored(89, ">b", 1)
    assert record.decode(broken, check_crc=False).message.body == b"b\x01dy"  # type: ignore[union-attr]
    with pytest.raises(CodecError):
        record.decode(broken)


def test_record_cut_at_every_byte_is_refused() -> None:
    for cut in range(len(DATA)):
        with pytest.raises(CodecError):
            record.decode(DATA[:cut])
    assert isinstance(record.decode(DATA), Record)


def test_record_knows_where_it_belongs_and_nul_in_its_text_says_nothing() -> None:
    whole = record.decode(DATA)
    nul = record.decode(DATA[:100] + bytes(len(DATA) - 100))
    assert isinstance(whole, Record) and isinstance(nul, Record)
    assert record.why_misplaced(whole, 1000) is None and record.why_misplaced(nul, 1000) is None
    assert "belongs at 1000" in str(record.why_misplaced(whole, 1001))


def test_zeros_from_any_byte_before_the_text_never_pass_for_a_record() -> None:
    text = len(DATA) - record.text_size(MESSAGE)
    for at in range(text):
        torn = DATA[:at] + bytes(len(DATA) - at)
        with pytest.raises(CodecError):
            record.decode(torn)


@given(st.data())
@settings(max_examples=400)
def test_doctored_golden_record_is_refused_or_reencodes_to_the_same_bytes(
    golden_records: list[bytes], data: st.DataObject
) -> None:
    raw = bytearray(data.draw(st.sampled_from([each for each in golden_records if len(each) < 2000])))
    spots = st.one_of(st.sampled_from([0, 1, 2, 3, 4, 7, 36, 39, 84, 85, 86, 87]), st.integers(0, len(raw) - 1))
    for at, value in data.draw(st.lists(st.tuples(spots, st.integers(0, 255)), max_size=4)):
        raw[at] = value
    del raw[data.draw(st.just(len(raw)) | st.integers(0, len(raw))) :]
    refused_or_exact(bytes(raw))


@given(st.binary(max_size=300), st.booleans())
@settings(max_examples=300)
def test_random_bytes_are_refused_or_reencode_to_the_same_bytes(data: bytes, with_magic: bool) -> None:
    refused_or_exact(struct.pack(">iI", len(data) + 8, 0xDAA320A7) + data if with_magic else data)


def refused_or_exact(data: bytes) -> None:
    try:
        found = record.decode(data)
    except CodecError:
        return
    if isinstance(found, Blank):
        assert record.encode_blank(found.size) == data[:8]
    else:
        again = record.encode(found.message, found.queue_offset, found.physical_offset, found.store_ms)
        assert again == data[: found.size]
