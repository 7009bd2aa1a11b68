"""Tests of ``ha-contiguous``."""

import pytest
from histories import assert_broken, assert_holds, pair

from pairproof.harness.rocketmq.laws.replication.ha_contiguous import HaContiguous


def test_frames_that_follow_each_other_are_contiguous() -> None:
    assert_holds(HaContiguous, pair().frame(0, 100).frame(100, 100).frame(100, 250))


@pytest.mark.parametrize("second", [(120, 200), (80, 200), (80, 80)])
def test_a_gap_or_an_overlap_is_caught(second: tuple[int, int]) -> None:
    assert_broken(HaContiguous, pair().frame(0, 100).frame(*second), "the last one ended at 100")


def test_a_new_connection_starts_anew() -> None:
    assert_holds(
        HaContiguous, pair().frame(0, 100).frame(100, 200).connect().report(100).frame(100, 150).frame(150, 200)
    )


def test_pushed_bytes_must_be_the_masters() -> None:
    honest = pair().frame(0, 100, digest=5).source(0, 100, digest=5)
    assert_holds(HaContiguous, honest)
    assert_broken(HaContiguous, honest.frame(100, 200, digest=5).source(100, 200, digest=6), "not the master's")
