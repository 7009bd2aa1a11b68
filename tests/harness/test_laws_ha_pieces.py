"""The laws about what an HA stream is made of, each on histories that keep it and that break it in one way."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.replication.ha_appends_frames import HaAppendsFrames
from pairproof.harness.rocketmq.laws.replication.ha_frame_finished import HaFrameFinished
from pairproof.harness.rocketmq.laws.replication.ha_report_framing import HaReportFraming
from pairproof.harness.rocketmq.laws.replication.ha_role_independent import HaRoleIndependent
from pairproof.harness.rocketmq.testing import FILE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

# ha-report-framing


def cut_cell() -> H:
    """The slave has reported 100 and received 300; five bytes of its next report have left."""
    return pair().frame(0, 100).append("slave", 0, 100).report(100).frame(100, 300).piece("s", "out", 5)


@pytest.mark.parametrize("rest", [100, 300])
def test_a_cell_that_is_finished_keeps_the_law(rest: int) -> None:
    assert_holds(HaReportFraming, cut_cell().append("slave", 100, 300).report(rest).report(300))


def test_a_close_behind_a_piece_keeps_the_law() -> None:
    assert_vacuous(HaReportFraming, cut_cell().close())


@pytest.mark.parametrize("read", [0, 99, 301, -1, 300 << 24])
def test_a_new_cell_behind_a_piece_is_caught(read: int) -> None:
    assert_broken(HaReportFraming, cut_cell().append("slave", 100, 300).report(read, "s"), f"8 bytes read {read}")


def test_a_stream_out_of_phase_is_caught_when_the_first_value_looks_right() -> None:
    out = cut_cell().append("slave", 100, 300).report(256, "s").report(300 << 32, "s").report(0, "s")
    assert_broken(HaReportFraming, out, f"read {300 << 32}")


def test_a_first_cell_in_pieces_names_the_log_s_end() -> None:
    again = pair().replicate(100).close().connect().piece("s", "out", 4)
    assert_broken(HaReportFraming, again.report(0, "s"), "at least 100 and at most 100")
    again = pair().replicate(100).close().connect().piece("s", "out", 4)
    assert_holds(HaReportFraming, again.report(100))
    untraced = bare().connect().piece("s", "out", 4)
    assert_broken(HaReportFraming, untraced.report(-5, "s"), "read -5")


def test_cells_that_left_whole_and_strangers_are_not_judged() -> None:
    assert_vacuous(HaReportFraming, pair().frame(0, 100).report(100).report(7, "s"))
    assert_vacuous(HaReportFraming, pair().piece("s", "in", 5).piece("s", "out", 0).piece("m", "out", 5).report(-1))
    strange = bare().connect("hostile").add("partial", node="hostile", link="ha:1", side="s", f="out", value=3)
    assert_vacuous(HaReportFraming, strange.report(-1, "s", peer="hostile"))


# ha-frame-finished


def cut_frame() -> H:
    """A frame has left; of the next, [100, 200), forty bytes."""
    return pair().frame(0, 100).piece("m", "out", 40, 100)


def test_a_frame_that_is_finished_with_the_master_s_bytes_keeps_the_law() -> None:
    whole = cut_frame().piece("m", "out", 80, 100).frame(100, 200, digest=5).source(100, 200, digest=5)
    assert assert_holds(HaFrameFinished, whole).judged == 1


def test_a_frame_that_is_finished_with_other_bytes_is_caught() -> None:
    mixed = cut_frame().frame(100, 200, digest=5).source(100, 200, digest=6)
    assert_broken(HaFrameFinished, mixed, "[100, 200) left in pieces, which are not the master's log")


def test_frames_that_left_whole_are_another_laws_business() -> None:
    assert_vacuous(HaFrameFinished, pair().frame(0, 100, digest=5).source(0, 100, digest=6))
    assert_vacuous(HaFrameFinished, pair().piece("m", "out", 0).frame(0, 100, digest=5).source(0, 100, digest=6))


def test_a_header_that_does_not_go_on_is_caught() -> None:
    assert_broken(HaFrameFinished, pair().frame(0, 100).piece("m", "out", 40, 7_000), "a header names 7000")
    early = pair().frame(0, 100).piece("m", "out", 8).frame(7_000, 7_000)
    assert_broken(HaFrameFinished, early, "names 7000, the stream goes on with 100")


def test_a_stream_that_is_no_frames_is_caught() -> None:
    assert_broken(HaFrameFinished, cut_frame().piece("m", "out", 0, detail="broken: body of -1 bytes"), "-1 bytes")


@pytest.mark.parametrize("gone", [False, True])
def test_a_frame_that_is_never_finished_is_caught(gone: bool) -> None:
    stuck = cut_frame().after(10_500)
    assert_broken(HaFrameFinished, stuck.close() if gone else stuck.mark("end"), "40 bytes of a frame left")


def test_a_frame_that_cannot_get_on_is_excused() -> None:
    assert_vacuous(HaFrameFinished, cut_frame().after(9_000).close())
    stalled = cut_frame().add("fault", op=1, f="stall", link="ha", status="on").after(60_000)
    assert_vacuous(HaFrameFinished, stalled.close())
    healed = cut_frame().add("fault", op=1, f="stall", link="ha", status="on").after(60_000)
    healed.add("fault", op=1, f="stall", link="ha", status="off").after(9_000)
    assert_vacuous(HaFrameFinished, healed.mark("end"))
    assert_broken(HaFrameFinished, healed.after(2_000).mark("end"), "40 bytes of a frame left")
    assert_vacuous(HaFrameFinished, cut_frame().pause("slave", 20_000).mark("end"))
    assert_vacuous(HaFrameFinished, cut_frame().crash("master").close("m").after(20_000).mark("end"))
    assert_vacuous(HaFrameFinished, cut_frame().crash("slave", "machine").after(20_000).mark("end"))
    # It is back, on another connection; its master has not heard that this one is dead.
    assert_vacuous(HaFrameFinished, cut_frame().crash("slave", "machine").start("slave").after(20_000).close("m"))


# ha-appends-frames


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
def test_what_is_no_complete_frame_is_caught(lo: int, hi: int) -> None:
    assert_broken(HaAppendsFrames, append(traced(), lo, hi, 2), f"[{lo}, {hi}), which no complete frame had brought")


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


def test_what_an_older_connection_still_brings_to_a_dead_slave_is_not_left_out() -> None:
    # In containers: its machine was off the network when it died, so the master's end stands.
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


# ha-role-independent


@pytest.mark.parametrize("role", ["SYNC_MASTER", "ASYNC_MASTER"])
def test_in_either_role_an_idle_link_has_carried_the_log(role: str) -> None:
    story = pair(brokerRole=role).append("master", 0, 200, "put").frame(0, 200, digest=5).source(0, 200, digest=5)
    assert assert_holds(HaRoleIndependent, story.after(2_000).close()).judged == 2


@pytest.mark.parametrize("role", ["SYNC_MASTER", "ASYNC_MASTER"])
@pytest.mark.parametrize("end", ["close", "end", "crash"])
def test_a_link_that_holds_something_back_is_caught(role: str, end: str) -> None:
    story = pair(brokerRole=role).append("master", 0, 200, "put").frame(0, 100).after(2_000)
    if end == "crash":
        story = story.crash("master").close("m")
    else:
        story = story.close() if end == "close" else story.mark("end")
    assert_broken(HaRoleIndependent, story, "carried up to 100, the log ends at 200")


def test_other_bytes_are_caught() -> None:
    story = pair().append("master", 0, 200, "put").frame(0, 200, digest=5).source(0, 200, digest=6)
    assert_broken(HaRoleIndependent, story, "[0, 200) was pushed with bytes of another log")


def test_a_slave_without_a_log_is_sent_the_last_file() -> None:
    assert_broken(HaRoleIndependent, bare().append("master", 0, 200, "put").connect().report(0).after(2_000).close(),
                  "carried up to None")  # fmt: skip
    nothing_in_it = bare().append("master", 0, FILE, "put").connect().report(0).after(2_000).close()
    assert_holds(HaRoleIndependent, nothing_in_it)


def test_a_link_that_is_busy_or_takes_no_more_is_not_idle() -> None:
    fresh = pair().append("master", 0, 200, "put").after(900).close()
    assert_vacuous(HaRoleIndependent, fresh)
    sending = pair().append("master", 0, 200, "put").after(2_000).frame(0, 100).after(900).close()
    assert_vacuous(HaRoleIndependent, sending)
    full = pair().append("master", 0, 200, "put").frame(0, 100).piece("m", "out", 0).after(60_000).close()
    assert_vacuous(HaRoleIndependent, full)
    paused = pair().append("master", 0, 200, "put").pause("master", 60_000).close()
    assert_vacuous(HaRoleIndependent, paused)


def test_who_is_refused_or_has_fallen_behind_the_log_s_start_is_owed_nothing() -> None:
    assert_vacuous(HaRoleIndependent, bare().append("master", 0, 200, "put").connect().report(900).after(9_000).close())
    expired = pair().append("master", 0, 200, "put").after(9_000).add("diverged", node="master", link="ha:1", hi=0)
    assert_vacuous(HaRoleIndependent, expired.close())


def test_where_only_flushed_bytes_are_pushed_an_idle_link_ends_there() -> None:
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100).frame(0, 100)
    assert_holds(HaRoleIndependent, story.after(2_000).close())
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 200).frame(0, 100)
    assert_broken(HaRoleIndependent, story.after(2_000).close(), "carried up to 100, the log ends at 200")
    ahead = bare(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100).connect().report(200)
    assert_holds(HaRoleIndependent, ahead.after(2_000).close())


def test_where_only_flushed_bytes_are_pushed_no_other_byte_leaves() -> None:
    story = pair(haPushes="flushed").append("master", 0, 200, "put").flush("master", 100)
    assert_broken(HaRoleIndependent, story.frame(0, 101), "[0, 101) left, only what lies below 100 is flushed")
    assert_vacuous(HaRoleIndependent, pair().append("master", 0, 200, "put").frame(0, 200))


PIECE_LAWS = (HaReportFraming, HaFrameFinished, HaAppendsFrames, HaRoleIndependent)


@pytest.mark.parametrize("law", PIECE_LAWS, ids=lambda law: law.id)
def test_piece_laws_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())


def test_a_slave_that_was_told_to_stop_may_append_on_its_way_out_what_it_has_received() -> None:
    def stopped() -> H:
        return traced().add("stop", node="slave")

    assert_holds(HaAppendsFrames, append(stopped(), 100, 200, 2))
    assert_holds(HaAppendsFrames, stopped().close("s", f="local").after(9_000).mark("end"))
    assert_broken(HaAppendsFrames, append(stopped(), 100, 200, 9), "appended other bytes as [100, 200)")
    assert_broken(HaAppendsFrames, append(stopped().start("slave", 100), 100, 200, 2), "no complete frame")
