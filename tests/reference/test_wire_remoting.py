"""The client link's frames: helpers, segmentation, hostile bytes."""

from __future__ import annotations

import json
import struct
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.errors import CodecError
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader

INTS = st.integers(-(2**31), 2**31 - 1)
SHORTS = st.integers(-(2**15), 2**15 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def commands(draw: st.DrawFn) -> Command:
    return Command(
        code=draw(SHORTS),
        opaque=draw(INTS),
        flag=draw(INTS),
        fields=draw(st.dictionaries(TEXT, TEXT, max_size=4)),
        body=draw(st.binary(max_size=30)),
        remark=draw(st.none() | TEXT.filter(bool)),
        language=draw(st.sampled_from(["PYTHON", "JAVA", "RUST"])),
        version=draw(SHORTS),
        binary=draw(st.booleans()),
    )


def read(data: bytes) -> list[Command]:
    return list(CommandReader().feed(data))


@given(st.lists(commands(), max_size=5), st.lists(st.integers(0, 2000), max_size=12))
def test_commands_are_the_same_for_every_segmentation(sent: list[Command], cuts: list[int]) -> None:
    data = b"".join(map(remoting.encode, sent))
    boundaries = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    reader = CommandReader()
    found = [each for lo, hi in pairwise(boundaries) for each in reader.feed(data[lo:hi])]
    assert found == sent == read(data)


def test_send_request_says_everything_a_broker_needs() -> None:
    frame = remoting.send_request(
        7, producer_group="g", topic="t", queue_id=2, born_ms=99, body=b"b", properties="A\x01ä", flag=3, sys_flag=8
    )
    (command,) = read(frame)
    assert (command.code, command.opaque, command.body, command.is_response) == (310, 7, b"b", False)
    names = ("a", "b", "e", "f", "g", "h", "i")
    assert [command.fields[name] for name in names] == ["g", "t", "2", "8", "99", "3", "A\x01ä"]
    # The fields that Java's header class does not let be absent.
    assert set("abcdefgh") <= set(command.fields)


def test_pull_request_says_everything_a_broker_needs() -> None:
    frame = remoting.pull_request(8, consumer_group="g", topic="t", queue_id=2, offset=5, max_messages=32)
    (command,) = read(frame)
    assert (command.code, command.opaque) == (11, 8)
    required = {"consumerGroup", "topic", "queueId", "queueOffset", "maxMsgNums", "sysFlag", "commitOffset"}
    assert required | {"suspendTimeoutMillis", "subVersion"} <= set(command.fields)
    assert command.fields["queueOffset"] == "5"


@pytest.mark.parametrize("binary", [False, True])
def test_response_copies_opaque_and_header_form(binary: bool) -> None:
    request = Command(310, 99, 0, {}, binary=binary)
    (answer,) = read(remoting.response(request, remoting.FLUSH_SLAVE_TIMEOUT, {"msgId": "X"}, b"body", "remark"))
    assert answer.is_response and not answer.is_oneway
    assert (answer.opaque, answer.code, answer.body, answer.remark) == (99, 12, b"body", "remark")
    assert (answer.fields, answer.binary) == ({"msgId": "X"}, binary)


def test_send_statuses_and_their_codes_are_inverse() -> None:
    assert remoting.SEND_STATUS[0] == "PUT_OK"
    assert {remoting.CODE_OF_STATUS[status]: status for status in remoting.SEND_STATUS.values()} == remoting.SEND_STATUS
    assert all(remoting.RESPONSE_NAMES[code] for code in remoting.SEND_STATUS)


def json_frame(header: Any, body: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">ii", 4 + len(raw) + len(body), len(raw)) + raw + body


GOOD = {"code": 1, "opaque": 2, "flag": 0, "language": "JAVA", "version": 407, "extFields": {"a": "b"}}


def test_header_fields_are_read_as_java_reads_them() -> None:
    odd = {"a": 1, "b": True, "c": None, "d": "x", "e": False}
    (command,) = read(json_frame({**GOOD, "extFields": odd, "somethingNew": [1]}))
    assert command.fields == {"a": "1", "b": "true", "d": "x", "e": "false"}
    (bare,) = read(json_frame({"code": 1, "opaque": 2}))
    assert (bare.fields, bare.flag, bare.version, bare.language) == ({}, 0, 0, "OTHER")
    assert read(json_frame({**GOOD, "extFields": None}))[0].fields == {}


def test_lone_surrogate_can_be_echoed() -> None:
    (command,) = read(json_frame({**GOOD, "extFields": {"a": "\ud800"}}))
    for binary in (False, True):
        assert read(remoting.response(command._replace(binary=binary), 1, command.fields, remark="\ud800"))


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\xff",
        b"nonsense",
        b"[" * 100_000,
        b'{"code": ' + b"9" * 5000 + b"}",
        [],
        7,
        {},
        {**GOOD, "code": "1"},
        {**GOOD, "code": 1.5},
        {**GOOD, "code": True},
        {**GOOD, "code": 2**31},
        {**GOOD, "opaque": -(2**31) - 1},
        {**GOOD, "extFields": ["a"]},
        {**GOOD, "extFields": {"a": {}}},
        {**GOOD, "remark": 5},
        {**GOOD, "language": None},
    ],
)
def test_bad_header_is_refused_after_the_good_frame_before_it(header: Any) -> None:
    reader = CommandReader()
    found = reader.feed(json_frame(GOOD) + json_frame(header) + json_frame(GOOD))
    assert next(found).fields == {"a": "b"}
    with pytest.raises(CodecError):
        next(found)
    with pytest.raises(CodecError):
        reader.feed(json_frame(GOOD))


@pytest.mark.parametrize(
    "prefix",
    [(-1, 0), (3, 0), (2**31 - 1, 4), (16 * 2**20 + 1, 4), (100, 97), (10**6, 10**6 - 100), (100, 2 << 24 | 50)],
)
def test_bad_lengths_are_refused_before_anything_is_buffered(prefix: tuple[int, int]) -> None:
    with pytest.raises(CodecError):
        list(CommandReader().feed(struct.pack(">iI", *prefix)))


def test_frame_at_the_limit_is_taken() -> None:
    frame = json_frame(GOOD, bytes(100))
    assert next(CommandReader(max_frame=len(frame)).feed(frame)).body == bytes(100)
    with pytest.raises(CodecError, match="fit into"):
        list(CommandReader(max_frame=len(frame) - 1).feed(frame))


def test_what_passes_the_limits_is_not_sent() -> None:
    with pytest.raises(CodecError):
        remoting.encode(Command(1, 1, 0, {}, bytes(16 * 2**20)))
    with pytest.raises(CodecError):
        remoting.encode(Command(1, 1, 0, {"a": "x" * 300_000}))
    with pytest.raises(CodecError):
        remoting.encode(Command(2**15, 1, 0, {}, binary=True))


@pytest.mark.parametrize("binary", [False, True])
def test_frame_cut_at_every_byte_gives_nothing_yet(binary: bool) -> None:
    frame = remoting.encode(Command(310, 1, 0, {"a": "b", "c": ""}, b"body", "why", binary=binary))
    for cut in range(len(frame)):
        reader = CommandReader()
        assert list(reader.feed(frame[:cut])) == []
        assert len(list(reader.feed(frame[cut:]))) == 1


@given(commands(), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=400)
def test_doctored_frame_is_refused_or_read(command: Command, changes: list[tuple[int, int]]) -> None:
    frame = bytearray(remoting.encode(command))
    for at, value in changes:
        frame[at % len(frame)] = value
    read_or_refused(bytes(frame))


@given(st.binary(max_size=120), st.sampled_from([None, 0, 1 << 24]))
@settings(max_examples=400)
def test_random_bytes_are_refused_or_read(data: bytes, header_type: int | None) -> None:
    # With a fitting prefix in front the bytes reach the header decoders.
    framed = data if header_type is None else struct.pack(">iI", 4 + len(data), header_type | len(data)) + data
    read_or_refused(framed)


def read_or_refused(data: bytes) -> None:
    try:
        found = read(data)
    except CodecError:
        return
    for command in found:
        assert all(isinstance(text, str) for pair in command.fields.items() for text in pair)
        assert read(remoting.encode(command)) == [command]


def test_reading_byte_by_byte_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        frame, reader = json_frame(GOOD, bytes(size)), CommandReader()
        begin = time.process_time()
        found = [each for at in range(len(frame)) for each in reader.feed(frame[at : at + 1])]
        assert len(found) == 1
        return time.process_time() - begin

    assert seconds(160_000) < 30 * max(seconds(20_000), 0.001)
