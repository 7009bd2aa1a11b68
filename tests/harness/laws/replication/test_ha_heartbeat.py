"""Tests of ``ha-heartbeat``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, judged, pair

from pairproof.harness.rocketmq.laws.replication.ha_heartbeat import HaHeartbeat


def idle(*gaps_ms: float, **settings: object) -> H:
    """A link on which both ends send after each gap."""
    story = pair(**settings).frame(0, 100).append("slave", 0, 100).report(100)
    for gap in gaps_ms:
        story.after(gap).report(100).frame(100, 100)
    return story


def test_an_idle_link_with_heartbeats_keeps_the_law() -> None:
    assert_holds(HaHeartbeat, idle(5_000, 5_900, 5_010).after(5_900).mark("end"))


def test_a_heartbeat_that_comes_much_too_early_is_caught() -> None:
    assert_holds(HaHeartbeat, idle(2_500))
    beat = idle().after(2_499).frame(100, 100)
    assert_broken(HaHeartbeat, beat, "a heartbeat 2499 ms after the last frame; one is due after 5000 ms")
    late = bare().connect().after(2_400)
    assert_broken(HaHeartbeat, late.report(0).frame(0, 0), "a heartbeat 2400 ms after the last frame")
    assert_holds(HaHeartbeat, bare().connect().after(5_000).report(0).frame(0, 0))


def test_an_unchanged_report_much_too_early_is_caught() -> None:
    again = idle().after(2_499).report(100)
    assert_broken(HaHeartbeat, again, "a report with nothing new 2499 ms after the last one; one is due after 5000 ms")
    assert_holds(HaHeartbeat, idle().frame(100, 200).after(1).report(200))
    assert_holds(HaHeartbeat, idle().close().connect().after(1).report(100))


def test_where_time_is_real_a_tap_may_see_a_heartbeat_right_behind_a_frame() -> None:
    real = H().add("lab", f="process", value=20_000_000, detail='{"instantNs": 1000000}')
    real.recorder.events += idle(10).events
    assert_holds(HaHeartbeat, real)


@pytest.mark.parametrize(
    ("story", "who"),
    [
        (idle().after(3_000).report(100).after(3_100).frame(100, 100), "master was silent for 6100 ms"),
        (idle().after(3_000).frame(100, 100).after(3_100).report(100), "slave was silent for 6100 ms"),
        (pair().report(0).after(3_000).report(0).after(3_100).report(0).close(), "master was silent for 6100 ms"),
    ],
)
def test_an_end_that_falls_silent_is_caught(story: H, who: str) -> None:
    assert_broken(HaHeartbeat, story, who)


def test_at_the_end_both_are_asked() -> None:
    assert_broken(HaHeartbeat, idle().after(7_000).mark("end"), "silent for 7000 ms", times=2)


def test_data_is_as_good_as_a_heartbeat() -> None:
    busy = idle().after(5_000).frame(100, 200).report(200).after(5_000).frame(200, 300).report(300)
    assert_holds(HaHeartbeat, busy)


def test_a_heartbeat_names_the_next_offset() -> None:
    assert_broken(HaHeartbeat, idle().after(5_000).frame(0, 0), "names 0, the stream continues at 100")
    joining = bare().append("master", 0, 100, "put").connect().after(5_000).report(100)
    assert_broken(HaHeartbeat, joining.frame(0, 0), "names 0, the stream continues at 100")


def test_a_peer_without_a_report_or_refused_gets_no_heartbeat() -> None:
    assert_vacuous(HaHeartbeat, bare().connect("rogue_slave").after(60_000).close(peer="rogue_slave"))
    ahead = bare().connect("rogue_slave").report(500, peer="rogue_slave").after(15_000).close(peer="rogue_slave")
    assert_vacuous(HaHeartbeat, ahead)


def test_a_link_that_takes_no_more_needs_no_heartbeat() -> None:
    stalled = idle().piece("m", "out", 40, 100).after(15_000).frame(100, 200).report(200).after(5_900)
    found = judged(HaHeartbeat, stalled.frame(200, 200).events)
    assert [each.text for each in found.violations] == [
        "ha:1: slave was silent for 15000 ms; a heartbeat is due within 6000 ms"
    ]


def test_a_paused_master_beats_late() -> None:
    assert_holds(HaHeartbeat, idle().report(100).pause("master", 5_500).after(100).report(100).frame(100, 100))


def test_a_dead_master_need_not_send_heartbeats() -> None:
    assert_holds(HaHeartbeat, idle(5_000).crash("master").close().after(60_000).start("master").mark("end"))


def test_a_slave_ahead_of_the_flushed_end_waits_for_the_flush() -> None:
    asks = bare(haPushes="flushed").append("master", 0, 300, "put").flush("master", 100).connect().report(300)
    held = asks.after(5_000).report(300).after(5_000).report(300).flush("master", 300)
    assert_holds(HaHeartbeat, held.after(5_000).frame(300, 300).report(300))
    assert_broken(HaHeartbeat, held.after(5_000).report(300).after(2_000).frame(300, 300), "master was silent for 7000")
