"""The HA taps: the same answers for every segmentation, and nothing raised whatever they are fed."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairproof.chaos.observers.ha_tap import HEADER_SIZE, FrameTap, ReportTap

Frames = list[tuple[int, bytes]]


def frame(offset: int, body: bytes = b"") -> bytes:
    return offset.to_bytes(8, "big", signed=True) + len(body).to_bytes(4, "big") + body


def header(offset: int, size: int) -> bytes:
    return offset.to_bytes(8, "big", signed=True) + size.to_bytes(4, "big", signed=True)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({each % (len(stream) + 1) for each in places}), len(stream)]
    return [stream[lo:hi] for lo, hi in pairwise(edges)]


STREAM: Frames = [(0, b""), (0, b"abc"), (3, b"x" * 400), (403, b""), (403, b"y")]


@given(st.lists(st.integers(0, 10_000), max_size=40))
def test_frames_are_the_same_for_every_segmentation(places: list[int]) -> None:
    stream = b"".join(frame(*each) for each in STREAM)
    tap = FrameTap()
    assert [found for piece in cut(stream, places) for found in tap.feed(piece)] == STREAM
    assert (tap.taken, tap.pending, tap.broken) == (len(stream), 0, None)


def test_frames_come_out_when_the_stream_comes_byte_by_byte() -> None:
    stream = b"".join(frame(*each) for each in STREAM)
    tap = FrameTap()
    assert [found for at in range(len(stream)) for found in tap.feed(stream[at : at + 1])] == STREAM


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=9), st.lists(st.integers(0, 100), max_size=9))
def test_reports_are_the_same_for_every_segmentation(reports: list[int], places: list[int]) -> None:
    stream = b"".join(each.to_bytes(8, "big", signed=True) for each in reports)
    tap = ReportTap()
    assert [found for piece in cut(stream, places) for found in tap.feed(piece)] == reports


@pytest.mark.parametrize("size", [-1, -(1 << 31), 1_001, (1 << 31) - 1])
def test_a_size_that_no_master_means_breaks_the_stream_for_good(size: int) -> None:
    tap = FrameTap(max_body=1_000)
    good = frame(7, b"good")
    assert tap.feed(good + header(11, size) + b"rest") == [(7, b"good")]
    assert tap.broken is not None
    assert f"byte {len(good)}" in tap.broken
    assert str(size) in tap.broken
    assert tap.feed(good) == []
    assert tap.pending == 0


def test_a_body_of_exactly_the_limit_is_still_a_frame() -> None:
    tap = FrameTap(max_body=1_000)
    assert tap.feed(frame(0, bytes(1_000))) == [(0, bytes(1_000))]
    assert tap.broken is None


def test_a_lone_junk_header_breaks_the_stream_too() -> None:
    # The quick way for whole frames must not let it pass.
    tap = FrameTap(max_body=10)
    assert tap.feed(frame(0, bytes(11))) == []
    assert tap.broken is not None


@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=5))
def test_junk_never_raises_and_holds_no_more_than_one_frame(junk: bytes, places: list[int]) -> None:
    frames, reports = FrameTap(max_body=64), ReportTap()
    for piece in cut(junk, places):
        frames.feed(piece)
        reports.feed(piece)
        assert frames.pending <= HEADER_SIZE + 64
        assert reports.pending < 8


def test_the_offset_of_an_incomplete_frame_is_known_once_its_header_is_whole() -> None:
    tap, whole = FrameTap(), frame(77, b"body")
    for at, byte in enumerate(whole[:-1], 1):
        tap.feed(bytes([byte]))
        assert (tap.pending, tap.announced) == (at, 77 if at >= HEADER_SIZE else None)
    tap.feed(whole[-1:])
    assert (tap.pending, tap.announced) == (0, None)
    assert ReportTap().announced is None


def test_an_incomplete_frame_is_not_given() -> None:
    whole = frame(0, Random(1).randbytes(100))
    for length in range(len(whole)):
        tap = FrameTap()
        assert tap.feed(whole[:length]) == []
        assert tap.pending == length
        assert tap.feed(whole[length:]) == [(0, whole[12:])]
