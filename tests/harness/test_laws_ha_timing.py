"""The laws about when an HA link must speak, each on histories that keep it and that break it in one way.

The settings are RocketMQ's: heartbeats every 5 s, silence of 20 s, one poll of 1 s, 100 ms for new data.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.trouble import EVERY_LINK
from pairproof.harness.rocketmq.laws.replication.ha_heartbeat import HaHeartbeat
from pairproof.harness.rocketmq.laws.replication.ha_housekeeping import HaHousekeeping
from pairproof.harness.rocketmq.laws.replication.ha_report_prompt import HaReportPrompt
from pairproof.harness.rocketmq.laws.replication.ha_wakeup import HaWakeup
from pairproof.harness.rocketmq.testing import FILE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# ha-report-prompt


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


def test_a_report_that_covers_an_earlier_frame_only_leaves_the_later_one_owed() -> None:
    two = pair().frame(0, 100).frame(100, 200).report(100)
    assert_holds(HaReportPrompt, two.after(900).report(200))
    two = pair().frame(0, 100).frame(100, 200).report(100)
    assert_broken(HaReportPrompt, two.after(1_100).mark("end"), "up to 200")


def test_one_report_may_cover_many_frames() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).frame(100, 200).after(500).report(200).after(2_000).mark("end"))


def test_a_frame_that_does_not_fit_is_not_owed_a_report() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).report(100).frame(500, 600).after(2_000).close())


def test_a_heartbeat_that_moves_an_empty_slave_is_reported_too() -> None:
    assert_holds(HaReportPrompt, pair().frame(FILE, FILE).report(FILE))
    assert_broken(HaReportPrompt, pair().frame(FILE, FILE).after(3_000).report(FILE), f"up to {FILE}")


def test_a_paused_slave_owes_nothing_meanwhile() -> None:
    assert_holds(HaReportPrompt, pair().frame(0, 100).pause("slave", 60_000).after(900).report(100))
    assert_broken(HaReportPrompt, pair().frame(0, 100).pause("slave", 60_000).after(1_100).report(100), "up to 100")
    assert_broken(HaReportPrompt, pair().frame(0, 100).pause("master", 60_000).report(100), "no report for 60000 ms")


def test_a_slave_whose_socket_takes_no_more_owes_nothing_until_it_does() -> None:
    full = pair().frame(0, 100).piece("s", "out", 0).after(60_000).report(100)
    assert_holds(HaReportPrompt, full.frame(100, 200).after(900).report(200))
    full = pair().piece("s", "out", 3).after(60_000).report(0)
    assert_broken(HaReportPrompt, full.after(6_100).report(0), "no report for 6100 ms")


def test_silence_before_the_socket_was_full_is_caught() -> None:
    assert_broken(HaReportPrompt, pair().after(7_000).piece("s", "out", 0).after(60_000).report(0), "7000 ms")


def test_a_slave_without_a_network_owes_nothing_meanwhile() -> None:
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


def test_what_reaches_the_master_late_was_still_prompt() -> None:
    slow = pair().after(5_000).report(0, "s").after(5_000).report(0, "s").after(100).report(0, "m").report(0, "m")
    assert_holds(HaReportPrompt, slow)


def test_the_interval_is_the_slaves_own() -> None:
    quick = H().config("master").config("slave", haSendHeartbeatInterval=500).start("master").start("slave")
    assert_broken(HaReportPrompt, quick.connect().after(1_600).report(0), "1600 ms; one is due within 1500 ms")


def test_a_stranger_need_not_report() -> None:
    assert_vacuous(HaReportPrompt, bare().connect("hostile").after(60_000).report(0, peer="hostile"))


# ha-heartbeat


def idle(*gaps_ms: float, **settings: object) -> H:
    """A link on which both ends speak after each gap."""
    story = pair(**settings).frame(0, 100).append("slave", 0, 100).report(100)
    for gap in gaps_ms:
        story.after(gap).report(100).frame(100, 100)
    return story


def test_an_idle_link_with_heartbeats_keeps_the_law() -> None:
    assert_holds(HaHeartbeat, idle(5_000, 5_900, 5_010).after(5_900).mark("end"))


def test_a_heartbeat_that_comes_much_too_early_is_caught() -> None:
    assert_holds(HaHeartbeat, idle(2_500))
    beat = idle().after(2_499).frame(100, 100)
    assert_broken(HaHeartbeat, beat, "a heartbeat 2499 ms behind the last frame; one is due after 5000 ms")
    late = bare().connect().after(2_400)
    assert_broken(HaHeartbeat, late.report(0).frame(0, 0), "a heartbeat 2400 ms behind the last frame")
    assert_holds(HaHeartbeat, bare().connect().after(5_000).report(0).frame(0, 0))


def test_a_report_that_says_nothing_new_much_too_early_is_caught() -> None:
    again = idle().after(2_499).report(100)
    assert_broken(HaHeartbeat, again, "a report with nothing new 2499 ms behind the last one; one is due after 5000 ms")
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


def test_a_heartbeat_names_where_the_stream_goes_on() -> None:
    assert_broken(HaHeartbeat, idle().after(5_000).frame(0, 0), "names 0, the stream goes on with 100")
    joining = bare().append("master", 0, 100, "put").connect().after(5_000).report(100)
    assert_broken(HaHeartbeat, joining.frame(0, 0), "names 0, the stream goes on with 100")


def test_a_peer_that_has_not_asked_or_was_refused_is_owed_nothing() -> None:
    assert_vacuous(HaHeartbeat, bare().connect("hostile").after(60_000).close(peer="hostile"))
    ahead = bare().connect("hostile").report(500, peer="hostile").after(15_000).close(peer="hostile")
    assert_vacuous(HaHeartbeat, ahead)


def test_a_link_that_takes_no_more_needs_no_heartbeat() -> None:
    stalled = idle().piece("m", "out", 40, 100).after(15_000).frame(100, 200).report(200).after(5_900)
    found = judged(HaHeartbeat, stalled.frame(200, 200).events)
    assert [each.text for each in found.violations] == [
        "ha:1: slave was silent for 15000 ms; a heartbeat is due within 6000 ms"
    ]


def test_a_paused_master_beats_late() -> None:
    assert_holds(HaHeartbeat, idle().report(100).pause("master", 5_500).after(100).report(100).frame(100, 100))


def test_a_dead_master_owes_no_heartbeat() -> None:
    assert_holds(HaHeartbeat, idle(5_000).crash("master").close().after(60_000).start("master").mark("end"))


def test_a_slave_ahead_of_the_flushed_end_waits_for_the_flush() -> None:
    asks = bare(haPushes="flushed").append("master", 0, 300, "put").flush("master", 100).connect().report(300)
    held = asks.after(5_000).report(300).after(5_000).report(300).flush("master", 300)
    assert_holds(HaHeartbeat, held.after(5_000).frame(300, 300).report(300))
    assert_broken(HaHeartbeat, held.after(5_000).report(300).after(2_000).frame(300, 300), "master was silent for 7000")


# ha-housekeeping


def quiet(ms: float, side: str = "m") -> H:
    """One end of a young connection hears nothing for so long; the other is kept busy."""
    story = pair()
    for _ in range(int(ms) // 4_000):
        story.after(4_000)
        story.frame(0, 0, "s") if side == "m" else story.report(0, "m")
    return story.after(ms % 4_000)


@pytest.mark.parametrize("side", ["m", "s"])
def test_a_silent_peer_is_dropped_in_time(side: str) -> None:
    assert_holds(HaHousekeeping, quiet(20_000, side).close(side, f="local").close("sm"))


@pytest.mark.parametrize(("side", "node"), [("m", "master"), ("s", "slave")])
@pytest.mark.parametrize("end", ["close", "peer", "heard", "end", "crash"])
def test_a_silent_peer_that_is_kept_is_caught(side: str, node: str, end: str) -> None:
    story = quiet(21_100, side)
    if end == "heard":
        story = story.report(0, "m") if side == "m" else story.frame(0, 0, "s")
    elif end == "end":
        story = story.mark("end")
    elif end == "crash":
        story = story.crash(node)
    else:
        story = story.close(side, f="local" if end == "close" else "peer")
    assert_broken(HaHousekeeping, story, f"{node} kept a peer that was silent for 21100 ms")


@pytest.mark.parametrize(("side", "node"), [("m", "master"), ("s", "slave")])
def test_a_peer_that_is_dropped_too_early_is_caught(side: str, node: str) -> None:
    assert_broken(HaHousekeeping, quiet(19_900, side).close(side, f="local"), f"{node} dropped its peer after 19900 ms")


def test_a_piece_is_heard_too() -> None:
    assert_holds(HaHousekeeping, quiet(15_000, "s").piece("s", "in", 3).after(15_000).frame(0, 100, "s").close("s"))


def test_a_stranger_that_says_nothing_must_go_as_well() -> None:
    silent = bare().connect("hostile").after(21_500)
    assert_broken(HaHousekeeping, silent.close("m"), "kept a peer that was silent for 21500 ms")


def test_a_close_that_answers_bytes_is_none_for_silence() -> None:
    assert_holds(HaHousekeeping, pair().after(5_000).frame(500, 600, "s").close("s", f="local").close("m"))


def test_a_close_for_another_reason_is_none_for_silence() -> None:
    stopped = pair().after(5_000).stop("slave").close("s", f="local")
    assert_holds(HaHousekeeping, stopped.close("m"))
    leaving = pair().after(5_000).close("s", f="local").close("m").after(8_000).stop("slave")
    assert_holds(HaHousekeeping, leaving)
    expired = pair().after(5_000).add("expire", node="master", lo=500).add("diverged", node="master", link="ha:1", hi=0)
    assert_holds(HaHousekeeping, expired.close("m", f="local"))
    refused = bare().connect().report(500).after(5_000).close("m", f="local")
    assert_holds(HaHousekeeping, refused)
    full = pair().piece("s", "out", 0).after(5_000).close("s", f="local")
    assert_holds(HaHousekeeping, full)
    assert_holds(HaHousekeeping, pair().after(5_000).close("sm"))


def test_a_broker_that_ends_much_later_closed_for_no_reason() -> None:
    closed = pair().after(5_000).close("s", f="local").close("m")
    assert_broken(HaHousekeeping, closed.after(30_000).stop("slave"), "slave dropped its peer after 5000 ms")


def test_a_paused_node_may_drop_late_and_for_what_it_did_not_hear() -> None:
    assert_holds(HaHousekeeping, pair().close("m").pause("slave", 60_000).frame(0, 0, "s").close("s"))
    assert_holds(HaHousekeeping, pair().pause("slave", 15_000).close("s", f="local"))
    # The master heard nobody, and did not stand still.
    assert_broken(HaHousekeeping, pair().pause("slave", 60_000).report(0), "master kept a peer")


def test_the_interval_is_the_nodes_own() -> None:
    quick = pair(haHousekeepingInterval=3_000)
    assert_holds(HaHousekeeping, quick.after(3_500).close("m", f="local").close("s"))
    assert_broken(HaHousekeeping, pair(haHousekeepingInterval=3_000).after(4_100).close("m"), "4000 ms are enough")


# ha-wakeup


def caught_up(**settings: object) -> H:
    return pair(**settings).append("master", 0, 100, "put").frame(0, 100).append("slave", 0, 100).report(100)


def test_new_data_that_leaves_within_the_wait_keeps_the_law() -> None:
    story = caught_up().append("master", 100, 200, "put").after(99).frame(100, 200)
    assert assert_holds(HaWakeup, story).judged == 1


@pytest.mark.parametrize("end", ["frame", "piece", "close", "end", "heartbeat"])
def test_new_data_that_has_to_wait_is_caught(end: str) -> None:
    story = caught_up().append("master", 100, 200, "put").after(150)
    if end == "heartbeat":
        # It says that there is nothing, and is no answer.
        story = story.frame(100, 100).mark("end")
    elif end == "piece":
        story = story.piece("m", "out", 20, 100)
    else:
        story = {"frame": lambda: story.frame(100, 200), "close": story.close, "end": lambda: story.mark("end")}[end]()
    assert_broken(HaWakeup, story, "new at 100 did not leave for 150 ms")


def waited_for(ms: float, wait: bool = True, **settings: object) -> H:
    """A send whose bytes leave after so long."""
    return caught_up(**settings).put("m1", wait=wait).after(ms).frame(100, 200)


def test_what_a_send_waits_for_leaves_within_a_round() -> None:
    assert assert_holds(HaWakeup, waited_for(9)).judged == 1
    assert_broken(HaWakeup, waited_for(20), "new at 100 did not leave for 20 ms")
    # Of these nobody waits for a slave, or the master says that there is none.
    assert_holds(HaWakeup, waited_for(99, wait=False))
    assert_holds(HaWakeup, waited_for(99, brokerRole="ASYNC_MASTER"))
    assert_holds(HaWakeup, waited_for(99, haSlaveFallbehindMax=50))
    assert_broken(HaWakeup, waited_for(101, wait=False), "did not leave for 101 ms")


def test_a_slave_that_asked_from_the_end_of_the_log_is_caught_up() -> None:
    joined = bare().append("master", 0, 100, "put").connect().report(100)
    assert_broken(HaWakeup, joined.append("master", 100, 200, "put").after(200).frame(100, 200), "new at 100")


def test_a_slave_that_lags_behind_waits_its_turn() -> None:
    behind = caught_up().append("master", 100, 200, "put").append("master", 200, 300, "put").frame(100, 200)
    assert_holds(HaWakeup, behind.append("master", 300, 400, "put").after(500).frame(200, 400))


def test_a_link_that_takes_no_more_waits() -> None:
    full = caught_up().piece("m", "out", 0).append("master", 100, 200, "put").after(5_000).frame(100, 200)
    assert_vacuous(HaWakeup, full)


def test_a_paused_master_pushes_when_it_goes_on() -> None:
    story = caught_up().append("master", 100, 200, "put").pause("master", 5_000).after(50).frame(100, 200)
    assert_holds(HaWakeup, story)


def test_what_the_lab_adds_is_added() -> None:
    slow = H().add("lab", f="capture", value=60_000_000)
    slow.recorder.events += caught_up().append("master", 100, 200, "put").after(150).frame(100, 200).events
    assert_holds(HaWakeup, slow)


def test_where_only_flushed_bytes_are_pushed_the_flush_wakes() -> None:
    story = pair(haPushes="flushed").append("master", 0, 100, "put").flush("master").frame(0, 100)
    unflushed = story.append("master", 100, 200, "put").after(5_000)
    assert_holds(HaWakeup, unflushed.flush("master").after(50).frame(100, 200))
    again = unflushed.append("master", 200, 300, "put").flush("master").after(150).frame(200, 300)
    assert_broken(HaWakeup, again, "new at 200 did not leave for 150 ms")


TIMING_LAWS = (HaReportPrompt, HaHeartbeat, HaHousekeeping, HaWakeup)


@pytest.mark.parametrize("law", TIMING_LAWS, ids=lambda law: law.id)
def test_timing_laws_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())
