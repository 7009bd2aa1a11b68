"""The laws of the replication stream, each on histories that keep it and that break it in one way."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.replication.ha_batch_bound import HaBatchBound
from pairproof.harness.rocketmq.laws.replication.ha_contiguous import HaContiguous
from pairproof.harness.rocketmq.laws.replication.ha_mismatch_closes import HaMismatchCloses
from pairproof.harness.rocketmq.laws.replication.ha_report_monotone import HaReportMonotone
from pairproof.harness.rocketmq.laws.replication.ha_silent_until_asked import HaSilentUntilAsked
from pairproof.harness.rocketmq.laws.replication.ha_start_offset import HaStartOffset
from pairproof.harness.rocketmq.testing import FILE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

# ha-silent-until-asked


def test_a_master_that_waits_for_the_first_report_is_silent_until_asked() -> None:
    assert_holds(HaSilentUntilAsked, bare().connect().report(0).frame(0, 100))


def test_a_heartbeat_before_the_first_report_breaks_the_silence() -> None:
    assert_broken(HaSilentUntilAsked, bare().connect().frame(0, 0).report(0), "before the first report")


def test_a_report_on_one_connection_does_not_ask_for_another() -> None:
    asked = bare().connect().report(0).connect().frame(0, 100)
    assert_broken(HaSilentUntilAsked, asked, "ha:2")


def test_a_report_that_is_still_under_way_has_not_asked() -> None:
    assert_broken(HaSilentUntilAsked, bare().connect().report(0, "s").frame(0, 10).report(0, "m"), "[0, 10)")


def test_a_connection_without_any_frame_is_silent() -> None:
    assert assert_holds(HaSilentUntilAsked, bare().connect("hostile").close(peer="hostile")).judged == 1


# ha-start-offset


def grown(end: int) -> H:
    """A pair whose master holds ``end`` bytes."""
    history = bare()
    for lo in range(0, end, 100):
        history.append("master", lo, lo + 100, "put", f"m{lo}")
    return history


@pytest.mark.parametrize(
    ("end", "report", "start"), [(2_500, 0, 2_000), (2_000, 0, 2_000), (500, 0, 0), (500, 300, 300)]
)
def test_a_copy_starts_where_the_first_report_says(end: int, report: int, start: int) -> None:
    assert_holds(HaStartOffset, grown(end).connect().report(report).frame(start, start + 100))


@pytest.mark.parametrize(("end", "report", "start"), [(2_500, 0, 0), (2_500, 0, 1_000), (500, 300, 0), (500, 300, 400)])
def test_a_copy_that_starts_elsewhere_is_caught(end: int, report: int, start: int) -> None:
    assert_broken(HaStartOffset, grown(end).connect().report(report).frame(start, start + 100), f"starts at {start}")


def test_a_first_heartbeat_carries_the_start_offset_too() -> None:
    assert_broken(HaStartOffset, grown(500).connect().report(300).frame(200, 200), "starts at 200")


def test_a_master_may_enter_its_next_file_between_report_and_first_frame() -> None:
    slow = grown(900).connect().report(0).append("master", 900, 1_000, "filler").append("master", 1_000, 1_100, "put")
    assert_holds(HaStartOffset, slow.frame(1_000, 1_100))


@pytest.mark.parametrize("report", [501, 10**9, -1])
def test_a_report_outside_the_log_is_not_served(report: int) -> None:
    asked = grown(500).connect("hostile").report(report, peer="hostile")
    assert_holds(HaStartOffset, asked)
    assert_broken(HaStartOffset, asked.frame(500, 500, "m"), "outside the log")


def test_a_report_before_the_log_start_is_not_served() -> None:
    late = H().config("master").config("slave").start("master", hi=2_500, lo=2_000).start("slave")
    assert_broken(HaStartOffset, late.connect().report(1_500).frame(1_500, 1_600), "outside the log")


# ha-contiguous


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


# ha-batch-bound


def test_a_full_batch_and_a_file_s_last_bytes_are_within_bounds() -> None:
    assert_holds(HaBatchBound, pair().frame(0, 300).frame(FILE - 10, FILE))


def test_a_body_above_the_batch_is_caught() -> None:
    assert_broken(HaBatchBound, pair().frame(0, 301), "301 bytes, the batch is 300")


def test_a_body_across_a_file_border_is_caught() -> None:
    assert_broken(HaBatchBound, pair().frame(FILE - 10, FILE + 1), "crosses a border")


def test_heartbeats_alone_have_no_body_to_judge() -> None:
    assert_vacuous(HaBatchBound, pair().frame(FILE, FILE))


# ha-report-monotone


def test_a_slave_that_reports_what_it_appended_keeps_its_word() -> None:
    assert_holds(HaReportMonotone, pair().frame(0, 100).append("slave", 0, 100).report(100).report(100))


def test_a_report_below_the_one_before_is_caught() -> None:
    assert_broken(HaReportMonotone, pair().frame(0, 100).append("slave", 0, 100).report(100).report(90), "follows 100")


def test_a_report_before_the_append_is_caught_by_the_slave_s_own_trace() -> None:
    early = (
        pair().frame(0, 100).append("slave", 0, 100).report(100).frame(100, 200).report(200).append("slave", 100, 200)
    )
    assert_broken(HaReportMonotone, early, "its log ends at 100")


def test_a_report_above_what_came_is_caught_by_the_tap_alone() -> None:
    assert_holds(HaReportMonotone, pair().frame(0, 100).report(100))
    assert_broken(HaReportMonotone, pair().frame(0, 100).report(108), "received up to 100")


def test_bytes_of_a_frame_that_does_not_fit_may_not_be_claimed() -> None:
    assert_broken(HaReportMonotone, pair().frame(0, 100).report(100).frame(150, 250).report(250), "received up to 100")


def test_a_heartbeat_moves_an_empty_slave_to_its_offset() -> None:
    assert_holds(HaReportMonotone, pair().frame(FILE, FILE).report(FILE))


def test_each_connection_has_its_own_reports() -> None:
    cut = pair().replicate(100).crash("slave", "machine").restart("slave", 50).connect().report(50)
    assert_holds(HaReportMonotone, cut)


def test_strangers_may_claim_what_they_like() -> None:
    assert_vacuous(HaReportMonotone, bare().connect("hostile").report(500, peer="hostile").report(3, peer="hostile"))


# ha-mismatch-closes


def mismatch() -> H:
    """A slave at 100 that was just handed a frame at 150."""
    return pair().frame(0, 100).report(100).frame(150, 250)


def test_a_slave_that_closes_and_asks_from_its_own_end_is_right() -> None:
    assert_holds(HaMismatchCloses, mismatch().close().after(5_000).connect().report(100))


def test_a_slave_that_counts_a_frame_that_does_not_fit_is_caught_by_the_tap_alone() -> None:
    assert_broken(HaMismatchCloses, mismatch().report(250), "where its log ended at 100")


def test_a_slave_that_appends_a_frame_that_does_not_fit_is_caught() -> None:
    assert_broken(HaMismatchCloses, mismatch().append("slave", 150, 250).close(), "appended a frame at 150")


def test_a_slave_that_goes_on_reporting_on_that_connection_is_caught() -> None:
    assert_broken(HaMismatchCloses, mismatch().after(5_000).report(100), "after a frame at 150")


def test_a_slave_that_never_closes_is_caught() -> None:
    assert_broken(HaMismatchCloses, mismatch().after(5_000).mark("end"), "kept the connection")
    assert_holds(HaMismatchCloses, mismatch().after(500).mark("end"))


def test_frames_that_came_with_it_and_fitted_may_still_be_reported() -> None:
    together = pair().frame(0, 100).frame(100, 200).frame(300, 400)
    together.append("slave", 0, 100).report(100).append("slave", 100, 200).report(200)
    assert_holds(HaMismatchCloses, together.close())


def test_a_heartbeat_elsewhere_is_a_mismatch_too() -> None:
    assert_broken(HaMismatchCloses, pair().frame(0, 100).report(100).frame(150, 150).after(5_000).report(100), "150")


def test_a_slave_that_asks_from_elsewhere_is_caught_by_its_trace() -> None:
    assert_broken(
        HaMismatchCloses, pair().replicate(100).close().connect().report(40), "asks from 40, its log ends at 100"
    )


@pytest.mark.parametrize("asked", [40, 120])
def test_a_slave_that_asks_from_elsewhere_is_caught_by_the_tap_alone(asked: int) -> None:
    untraced = pair().frame(0, 100).report(100).close()
    assert_broken(HaMismatchCloses, untraced.connect().report(asked), f"asks from {asked}")


def test_a_slave_that_recovery_cut_asks_from_there() -> None:
    untraced = pair().frame(0, 100).report(100).crash("slave", "machine").start("slave", 0).connect().report(40)
    assert_holds(HaMismatchCloses, untraced)


def test_a_slave_that_died_or_connected_again_owes_no_close() -> None:
    assert_holds(HaMismatchCloses, mismatch().crash("slave").after(5_000).mark("end"))
    assert_holds(HaMismatchCloses, mismatch().after(5_000).connect().report(100))


def test_a_stream_that_always_fits_gives_nothing_to_judge() -> None:
    assert_vacuous(HaMismatchCloses, pair().frame(0, 100).report(100).frame(100, 200).report(200))


STREAM_LAWS = (
    HaSilentUntilAsked,
    HaStartOffset,
    HaContiguous,
    HaBatchBound,
    HaReportMonotone,
    HaMismatchCloses,
)


@pytest.mark.parametrize("law", STREAM_LAWS, ids=lambda law: law.id)
def test_stream_laws_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())
