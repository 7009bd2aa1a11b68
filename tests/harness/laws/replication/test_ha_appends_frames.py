"""Tests of ``ha-appends-frames``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.replication.ha_appends_frames import HaAppendsFrames


def traced() -> H:
    """A slave that traces its appends, at 100, with a frame up to 200 just received."""
    return pair().frame(0, 100, digest=1).add("append", node="slave", lo=0, hi=100, f="replicate", digest=1).frame(
        100, 200, digest=2
    )  # fmt: skip


def append(story: H, lo: int, hi: int, digest: int) -> H:
    return story.add("append", node="slave", lo=lo, hi=hi, f="replicate", digest=digest)


def test_frames_that_are_appended_in_order_keep_the_law() -> None:
    assert_holds(HaAppendsFrames, append(append(traced().frame(200, 250, digest=3), 100, 200, 2), 200, 250, 3))


def test_other_bytes_than_the_frames_are_caught() -> None:
    assert_broken(HaAppendsFrames, append(traced(), 100, 200, 9), "appended other bytes as [100, 200)")


@pytest.mark.parametrize(("lo", "hi"), [(100, 150), (100, 250), (150, 200)])
def test_an_append_without_a_complete_frame_is_caught(lo: int, hi: int) -> None:
    assert_broken(HaAppendsFrames, append(traced(), lo, hi, 2), f"[{lo}, {hi}), which no complete frame contained")


def test_a_piece_of_a_frame_leaves_nothing() -> None:
    piece = append(traced(), 100, 200, 2).piece("s", "in", 40, 200)
    assert_holds(HaAppendsFrames, piece.after(5_000).close())
    assert_broken(HaAppendsFrames, append(piece, 200, 228, 3), "[200, 228)")


def test_a_frame_of_an_older_connection_is_none_of_this_one() -> None:
    assert_broken(HaAppendsFrames, append(traced().close().connect().report(100), 100, 200, 2), "no complete frame")


def test_a_frame_that_a_slave_refuses_by_closing_for_good_is_not_left_out() -> None:
    brought = append(traced(), 100, 200, 2).frame(200, 300)
    assert_holds(HaAppendsFrames, brought.close("s", f="local").after(60_000).mark("end"))
    ignored = append(traced(), 100, 200, 2).frame(200, 300)
    assert_broken(HaAppendsFrames, ignored.after(60_000).mark("end"), "never appended [200, 300)")


def test_frames_of_an_older_connection_to_a_dead_slave_are_not_judged() -> None:
    # In containers: its machine was off the network when it died, so the master's end stays open.
    story = append(traced(), 100, 200, 2).crash("slave").start("slave", 200).connect().report(200)
    old, new = story.link.replace("2", "1"), story.link
    brought = story.frame(200, 250, link=old).after(60_000).close("s", link=old)
    assert_holds(HaAppendsFrames, brought.mark("end"))
    assert_broken(HaAppendsFrames, brought.frame(200, 250, link=new).after(1_100).mark("end"), "never appended [200")


def test_a_frame_that_is_left_out_is_caught() -> None:
    assert_broken(HaAppendsFrames, append(traced().frame(200, 250), 200, 250, 0), "never appended [100, 200)")
    assert_broken(HaAppendsFrames, traced().after(1_100).mark("end"), "never appended [100, 200)")
    assert_broken(HaAppendsFrames, traced().after(5).close("s", f="local"), "never appended [100, 200)")


def test_a_slave_that_cannot_append_closes_at_once() -> None:
    assert_holds(HaAppendsFrames, traced().close("s", f="local").after(9_000).connect().mark("end"))


def test_a_slave_that_stands_still_or_dies_appends_late_or_never() -> None:
    assert_holds(HaAppendsFrames, append(traced().pause("slave", 9_000), 100, 200, 2))
    assert_holds(HaAppendsFrames, traced().pause("slave", 9_000).close("s"))
    assert_holds(HaAppendsFrames, traced().crash("slave").close("s").after(9_000).mark("end"))


def test_a_frame_that_does_not_fit_need_not_be_appended() -> None:
    assert_holds(HaAppendsFrames, append(traced(), 100, 200, 2).frame(500, 600).after(5_000).close())


def test_a_slave_that_traces_nothing_is_not_judged() -> None:
    assert_vacuous(HaAppendsFrames, pair().frame(0, 100).report(100).after(9_000).mark("end"))


def test_a_stopping_slave_may_append_received_frames() -> None:
    def stopped() -> H:
        return traced().add("stop", node="slave")

    assert_holds(HaAppendsFrames, append(stopped(), 100, 200, 2))
    assert_holds(HaAppendsFrames, stopped().close("s", f="local").after(9_000).mark("end"))
    assert_broken(HaAppendsFrames, append(stopped(), 100, 200, 9), "appended other bytes as [100, 200)")
    assert_broken(HaAppendsFrames, append(stopped().start("slave", 100), 100, 200, 2), "no complete frame")
