"""Tests of ``ha-report-prompt``."""

from collections.abc import Callable

import pytest
from histories import FILE, H, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.judging.disturbances import EVERY_LINK
from pairproof.harness.rocketmq.laws.replication.ha_report_prompt import HaReportPrompt


def test_a_slave_that_reports_in_time_is_prompt() -> None:
    story = bare().connect().after(6_000).report(0).frame(0, 100).after(900).report(100).after(5_900).report(100)
    assert assert_holds(HaReportPrompt, story.after(5_900).mark("end")).judged == 3


def test_a_first_report_that_takes_too_long_is_caught() -> None:
    assert_broken(HaReportPrompt, bare().connect().after(6_001).report(0), "no report for 6001 ms")


@pytest.mark.parametrize(
    "end", [H.close, lambda story: story.stop("slave"), lambda story: story.mark("end")], ids=["close", "stop", "end"]
)
def test_a_slave_that_falls_silent_is_caught_however_the_connection_ends(end: Callable[[H], H]) -> None:
    assert_broken(HaReportPrompt, end(pair().after(7_000)), "no report for 7000 ms")


def test_a_frame_that_is_reported_with_the_next_heartbeat_only_is_caught() -> None:
    assert_broken(HaReportPrompt, pair().frame(0, 100).after(1_001).report(100), "a frame up to 100 was not reported")


def test_a_report_that_covers_an_earlier_frame_only_leaves_the_later_one_pending() -> None:
    two = pair().frame(0, 100).frame(100, 200).report(100)
    assert_holds(HaReportPrompt, two.after(900).report(200))
    two = pair().frame(0, 100).frame(100, 200).report(100)
    assert_broken(HaReportPrompt, two.after(1_100).mark("end"), "up to 200")


def test_one_report_may_cover_many_frames() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).frame(100, 200).after(500).report(200).after(2_000).mark("end"))


def test_a_mismatching_frame_needs_no_report() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).report(100).frame(500, 600).after(2_000).close())


def test_a_heartbeat_that_moves_an_empty_slave_is_reported_too() -> None:
    assert_holds(HaReportPrompt, pair().frame(FILE, FILE).report(FILE))
    assert_broken(HaReportPrompt, pair().frame(FILE, FILE).after(3_000).report(FILE), f"up to {FILE}")


def test_a_paused_slave_need_not_report() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).pause("slave", 60_000).after(900).report(100))
    assert_broken(HaReportPrompt, pair().frame(0, 100).pause("slave", 60_000).after(1_100).report(100), "up to 100")
    assert_broken(HaReportPrompt, pair().frame(0, 100).pause("master", 60_000).report(100), "no report for 60000 ms")


def test_a_slave_with_a_full_socket_need_not_report() -> None:
    full = pair().frame(0, 100).piece("s", "out", 0).after(60_000).report(100)
    assert_holds(HaReportPrompt, full.frame(100, 200).after(900).report(200))
    full = pair().piece("s", "out", 3).after(60_000).report(0)
    assert_broken(HaReportPrompt, full.after(6_100).report(0), "no report for 6100 ms")


def test_silence_before_the_socket_was_full_is_caught() -> None:
    assert_broken(HaReportPrompt, pair().after(7_000).piece("s", "out", 0).after(60_000).report(0), "7000 ms")


def test_a_slave_without_a_network_need_not_report() -> None:
    def told(link: str, ms: float) -> H:
        story = pair().frame(0, 100)
        for status in ("on", "off"):
            story.add("fault", node="slave", link=link, op=0, f="disconnect", status=status).after(
                60_000 if status == "on" else ms
            )
        return story.report(100)

    assert_holds(HaReportPrompt, told(EVERY_LINK, 900))
    assert_broken(HaReportPrompt, told(EVERY_LINK, 1_100), "up to 100")
    assert_broken(HaReportPrompt, told("ha", 900), "no report for 60900 ms")


def test_a_prompt_report_may_reach_the_master_late() -> None:
    slow = pair().after(5_000).report(0, "s").after(5_000).report(0, "s").after(100).report(0, "m").report(0, "m")
    assert_holds(HaReportPrompt, slow)


def test_the_interval_is_the_slaves_own() -> None:
    quick = H().config("master").config("slave", haSendHeartbeatInterval=500).start("master").start("slave")
    assert_broken(HaReportPrompt, quick.connect().after(1_600).report(0), "1600 ms; one is due within 1500 ms")


def test_a_rogue_peer_need_not_report() -> None:
    assert_vacuous(HaReportPrompt, bare().connect("rogue_slave").after(60_000).report(0, peer="rogue_slave"))
