"""The HA link's two stream readers."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairproof.reference.errors import CodecError
from pairproof.reference.wire.ha import (
    HEADER_SIZE,
    REPORT_SIZE,
    FrameReader,
    ReportReader,
    encode_header,
    encode_report,
)

OFFSETS = st.integers(0, 2**63 - 1)
FRAMES = st.lists(st.tuples(OFFSETS, st.binary(max_size=40)), max_size=8)


def stream(frames: list[tuple[int, bytes]]) -> bytes:
    return b"".join(encode_header(offset, len(body)) + body for offset, body in frames)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    boundaries = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[lo:hi] for lo, hi in pairwise(boundaries)]


def test_sizes_are_those_of_the_wire() -> None:
    assert len(encode_report(1)) == REPORT_SIZE == 8
    assert len(encode_header(1, 1)) == HEADER_SIZE == 12
    assert encode_report(258) == bytes([0, 0, 0, 0, 0, 0, 1, 2])
    assert encode_header(258, 3) == bytes([0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3])


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=10), st.lists(st.integers(0, 200), max_size=10))
def test_reports_are_the_same_for_every_segmentation(offsets: list[int], cuts: list[int]) -> None:
    data = b"".join(map(encode_report, offsets))
    reader = ReportReader()
    assert [each for piece in pieces(data, cuts) for each in reader.feed(piece)] == offsets


def test_reports_hold_back_an_incomplete_cell() -> None:
    reader = ReportReader()
    assert reader.feed(encode_report(5)[:7]) == []
    assert reader.feed(encode_report(5)[7:] + encode_report(6)) == [5, 6]


@given(FRAMES, st.lists(st.integers(0, 500), max_size=12))
def test_frames_are_the_same_for_every_segmentation(frames: list[tuple[int, bytes]], cuts: list[int]) -> None:
    reader = FrameReader(max_body=40)
    assert [each for piece in pieces(stream(frames), cuts) for each in reader.feed(piece)] == frames
    assert reader.announced is None


def test_header_is_announced_before_its_body_is_complete() -> None:
    reader = FrameReader(max_body=100)
    assert list(reader.feed(encode_header(7, 3)[:11])) == []
    assert reader.announced is None
    assert list(reader.feed(encode_header(7, 3)[11:] + b"ab")) == []
    assert reader.announced == (7, 3)
    assert list(reader.feed(b"c")) == [(7, b"abc")]
    assert reader.announced is None


@pytest.mark.parametrize("header", [(-1, 0), (-(2**63), 5), (0, -1), (0, -(2**31)), (0, 101), (0, 2**31 - 1)])
def test_bad_header_breaks_the_stream_but_loses_no_frame_before_it(header: tuple[int, int]) -> None:
    reader = FrameReader(max_body=100)
    good = [(0, b"ab"), (2, b"")]
    frames = reader.feed(stream(good) + encode_header(*header))
    assert [next(frames), next(frames)] == good
    with pytest.raises(CodecError):
        next(frames)
    with pytest.raises(CodecError):
        reader.feed(b"")


def test_largest_body_is_taken_and_one_more_byte_refused() -> None:
    assert list(FrameReader(max_body=3).feed(encode_header(0, 3) + b"abc")) == [(0, b"abc")]
    with pytest.raises(CodecError, match="limit of 3"):
        list(FrameReader(max_body=3).feed(encode_header(0, 4)))


def test_frames_not_taken_from_the_iterator_come_with_the_next_feed() -> None:
    reader = FrameReader(max_body=9)
    reader.feed(stream([(0, b"ab")]))
    assert list(reader.feed(stream([(2, b"cd")]))) == [(0, b"ab"), (2, b"cd")]


def test_reading_byte_by_byte_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        reader = FrameReader(max_body=size)
        data = encode_header(0, size) + bytes(size)
        begin = time.process_time()
        found = [frame for at in range(len(data)) for frame in reader.feed(data[at : at + 1])]
        assert found == [(0, bytes(size))]
        return time.process_time() - begin

    small, large = seconds(20_000), seconds(160_000)
    # Eight times the bytes: eight times the time if linear, 64 times if quadratic.
    assert large < 30 * max(small, 0.001)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
@settings(max_examples=300)
def test_any_bytes_give_frames_or_a_codec_error(data: bytes, cuts: list[int]) -> None:
    def outcome(parts: list[bytes]) -> tuple[list[tuple[int, bytes]], bool]:
        reader, found = FrameReader(max_body=64), []
        try:
            for part in parts:
                found.extend(reader.feed(part))
        except CodecError:
            return found, True
        return found, False

    assert outcome(pieces(data, cuts)) == outcome([data])
