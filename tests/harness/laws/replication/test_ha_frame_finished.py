"""Tests of ``ha-frame-finished``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.replication.ha_frame_finished import HaFrameFinished


def cut_frame() -> H:
    """A frame was sent, and forty bytes of the next one, [100, 200)."""
    return pair().frame(0, 100).piece("m", "out", 40, 100)


def test_a_frame_that_is_finished_with_the_master_s_bytes_keeps_the_law() -> None:
    whole = cut_frame().piece("m", "out", 80, 100).frame(100, 200, digest=5).source(100, 200, digest=5)
    assert assert_holds(HaFrameFinished, whole).judged == 1


def test_a_frame_that_is_finished_with_other_bytes_is_caught() -> None:
    mixed = cut_frame().frame(100, 200, digest=5).source(100, 200, digest=6)
    assert_broken(HaFrameFinished, mixed, "[100, 200) was sent in pieces, which are not the master's log")


def test_frames_sent_whole_are_not_judged() -> None:
    assert_vacuous(HaFrameFinished, pair().frame(0, 100, digest=5).source(0, 100, digest=6))
    assert_vacuous(HaFrameFinished, pair().piece("m", "out", 0).frame(0, 100, digest=5).source(0, 100, digest=6))


def test_a_header_that_does_not_go_on_is_caught() -> None:
    assert_broken(HaFrameFinished, pair().frame(0, 100).piece("m", "out", 40, 7_000), "a header names 7000")
    early = pair().frame(0, 100).piece("m", "out", 8).frame(7_000, 7_000)
    assert_broken(HaFrameFinished, early, "names 7000, the stream continues at 100")


def test_a_stream_that_is_no_frames_is_caught() -> None:
    assert_broken(HaFrameFinished, cut_frame().piece("m", "out", 0, detail="broken: body of -1 bytes"), "-1 bytes")


@pytest.mark.parametrize("gone", [False, True])
def test_a_frame_that_is_never_finished_is_caught(gone: bool) -> None:
    stuck = cut_frame().after(10_500)
    assert_broken(HaFrameFinished, stuck.close() if gone else stuck.mark("end"), "40 bytes of a frame were sent")


def test_a_frame_that_cannot_get_on_is_excused() -> None:
    assert_vacuous(HaFrameFinished, cut_frame().after(9_000).close())
    stalled = cut_frame().add("fault", op=1, f="stall", link="ha", status="on").after(60_000)
    assert_vacuous(HaFrameFinished, stalled.close())
    healed = cut_frame().add("fault", op=1, f="stall", link="ha", status="on").after(60_000)
    healed.add("fault", op=1, f="stall", link="ha", status="off").after(9_000)
    assert_vacuous(HaFrameFinished, healed.mark("end"))
    assert_broken(HaFrameFinished, healed.after(2_000).mark("end"), "40 bytes of a frame were sent")
    assert_vacuous(HaFrameFinished, cut_frame().pause("slave", 20_000).mark("end"))
    assert_vacuous(HaFrameFinished, cut_frame().crash("master").close("m").after(20_000).mark("end"))
    assert_vacuous(HaFrameFinished, cut_frame().crash("slave", "machine").after(20_000).mark("end"))
    # It is back, on another connection; its master has not noticed that this one is dead.
    assert_vacuous(HaFrameFinished, cut_frame().crash("slave", "machine").start("slave").after(20_000).close("m"))
