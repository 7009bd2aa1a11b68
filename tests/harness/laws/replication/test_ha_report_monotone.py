"""Tests of ``ha-report-monotone``."""

from histories import FILE, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_report_monotone import HaReportMonotone


def test_a_slave_may_report_what_it_appended() -> None:
    assert_holds(HaReportMonotone, pair().frame(0, 100).append("slave", 0, 100).report(100).report(100))


def test_a_report_below_the_one_before_is_caught() -> None:
    assert_broken(HaReportMonotone, pair().frame(0, 100).append("slave", 0, 100).report(100).report(90), "follows 100")


def test_a_report_before_the_append_is_caught_by_the_slave_s_own_trace() -> None:
    early = (
        pair().frame(0, 100).append("slave", 0, 100).report(100).frame(100, 200).report(200).append("slave", 100, 200)
    )
    assert_broken(HaReportMonotone, early, "its log ends at 100")


def test_a_report_above_the_received_bytes_is_caught_by_the_tap_alone() -> None:
    assert_holds(HaReportMonotone, pair().frame(0, 100).report(100))
    assert_broken(HaReportMonotone, pair().frame(0, 100).report(108), "received up to 100")


def test_bytes_of_a_frame_that_does_not_fit_may_not_be_claimed() -> None:
    assert_broken(HaReportMonotone, pair().frame(0, 100).report(100).frame(150, 250).report(250), "received up to 100")


def test_a_heartbeat_moves_an_empty_slave_to_its_offset() -> None:
    assert_holds(HaReportMonotone, pair().frame(FILE, FILE).report(FILE))


def test_each_connection_has_its_own_reports() -> None:
    cut = pair().replicate(100).crash("slave", "machine").restart("slave", 50).connect().report(50)
    assert_holds(HaReportMonotone, cut)


def test_rogue_peers_are_not_judged() -> None:
    assert_vacuous(
        HaReportMonotone, bare().connect("rogue_slave").report(500, peer="rogue_slave").report(3, peer="rogue_slave")
    )
