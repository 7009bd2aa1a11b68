"""Tests of ``ha-mismatch-closes``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.replication.ha_mismatch_closes import HaMismatchCloses


def mismatch() -> H:
    """A slave at 100 that just received a frame at 150."""
    return pair().frame(0, 100).report(100).frame(150, 250)


def test_a_slave_that_closes_and_asks_from_its_own_end_is_right() -> None:
    assert_holds(HaMismatchCloses, mismatch().close().after(5_000).connect().report(100))


def test_a_slave_that_counts_a_frame_that_does_not_fit_is_caught_by_the_tap_alone() -> None:
    assert_broken(HaMismatchCloses, mismatch().report(250), "where its log ended at 100")


def test_a_slave_that_appends_a_frame_that_does_not_fit_is_caught() -> None:
    assert_broken(HaMismatchCloses, mismatch().append("slave", 150, 250).close(), "appended a frame at 150")


def test_a_slave_that_still_reports_on_that_connection_is_caught() -> None:
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


def test_a_slave_that_died_or_reconnected_need_not_close() -> None:
    assert_holds(HaMismatchCloses, mismatch().crash("slave").after(5_000).mark("end"))
    assert_holds(HaMismatchCloses, mismatch().after(5_000).connect().report(100))


def test_a_stream_that_always_fits_gives_nothing_to_judge() -> None:
    assert_vacuous(HaMismatchCloses, pair().frame(0, 100).report(100).frame(100, 200).report(200))


def test_a_paused_slave_closes_when_it_resumes() -> None:
    def mismatch(paused: bool) -> H:
        two = pair().put("m0").frame(50, 60).frame(0, 100).frame(300, 310, "s")
        if paused:
            two.add("pause", node="slave").after(9_000).add("resume", node="slave")
        return two.after(999).mark("end") if paused else two.after(1_001).mark("end")

    assert_holds(HaMismatchCloses, mismatch(True))
    assert_broken(HaMismatchCloses, mismatch(False), "kept the connection")
