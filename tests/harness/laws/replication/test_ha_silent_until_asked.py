"""Tests of ``ha-silent-until-asked``."""

from histories import assert_broken, assert_holds, bare

from pairproof.harness.rocketmq.laws.replication.ha_silent_until_asked import HaSilentUntilAsked


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
    assert assert_holds(HaSilentUntilAsked, bare().connect("rogue_slave").close(peer="rogue_slave")).judged == 1
