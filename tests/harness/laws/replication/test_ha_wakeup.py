"""Tests of ``ha-wakeup``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.replication.ha_wakeup import HaWakeup


def caught_up(**settings: object) -> H:
    return pair(**settings).append("master", 0, 100, "put").frame(0, 100).append("slave", 0, 100).report(100)


def test_new_data_that_leaves_within_the_wait_keeps_the_law() -> None:
    story = caught_up().append("master", 100, 200, "put").after(99).frame(100, 200)
    assert assert_holds(HaWakeup, story).judged == 1


@pytest.mark.parametrize("end", ["frame", "piece", "close", "end", "heartbeat"])
def test_new_data_that_has_to_wait_is_caught(end: str) -> None:
    story = caught_up().append("master", 100, 200, "put").after(150)
    if end == "heartbeat":
        # An empty frame carries no new data.
        story = story.frame(100, 100).mark("end")
    elif end == "piece":
        story = story.piece("m", "out", 20, 100)
    else:
        story = {"frame": lambda: story.frame(100, 200), "close": story.close, "end": lambda: story.mark("end")}[end]()
    assert_broken(HaWakeup, story, "new data at 100 was not pushed for 150 ms")


def waited_for(ms: float, wait: bool = True, **settings: object) -> H:
    """A send whose bytes leave after so long."""
    return caught_up(**settings).put("m1", wait=wait).after(ms).frame(100, 200)


def test_a_waiting_send_s_bytes_leave_within_a_round() -> None:
    assert assert_holds(HaWakeup, waited_for(9)).judged == 1
    assert_broken(HaWakeup, waited_for(20), "new data at 100 was not pushed for 20 ms")
    # These do not wait for a slave, or there is none.
    assert_holds(HaWakeup, waited_for(99, wait=False))
    assert_holds(HaWakeup, waited_for(99, brokerRole="ASYNC_MASTER"))
    assert_holds(HaWakeup, waited_for(99, haSlaveFallbehindMax=50))
    assert_broken(HaWakeup, waited_for(101, wait=False), "not pushed for 101 ms")


def test_a_slave_that_asked_from_the_end_of_the_log_is_caught_up() -> None:
    joined = bare().append("master", 0, 100, "put").connect().report(100)
    assert_broken(HaWakeup, joined.append("master", 100, 200, "put").after(200).frame(100, 200), "new data at 100")


def test_a_slave_that_lags_behind_waits_its_turn() -> None:
    behind = caught_up().append("master", 100, 200, "put").append("master", 200, 300, "put").frame(100, 200)
    assert_holds(HaWakeup, behind.append("master", 300, 400, "put").after(500).frame(200, 400))


def test_a_link_that_takes_no_more_waits() -> None:
    full = caught_up().piece("m", "out", 0).append("master", 100, 200, "put").after(5_000).frame(100, 200)
    assert_vacuous(HaWakeup, full)


def test_a_paused_master_pushes_when_it_resumes() -> None:
    story = caught_up().append("master", 100, 200, "put").pause("master", 5_000).after(50).frame(100, 200)
    assert_holds(HaWakeup, story)


def test_the_lab_s_latency_is_added() -> None:
    slow = H().add("lab", f="capture", value=60_000_000)
    slow.recorder.events += caught_up().append("master", 100, 200, "put").after(150).frame(100, 200).events
    assert_holds(HaWakeup, slow)


def test_where_only_flushed_bytes_are_pushed_the_flush_wakes() -> None:
    story = pair(haPushes="flushed").append("master", 0, 100, "put").flush("master").frame(0, 100)
    unflushed = story.append("master", 100, 200, "put").after(5_000)
    assert_holds(HaWakeup, unflushed.flush("master").after(50).frame(100, 200))
    again = unflushed.append("master", 200, 300, "put").flush("master").after(150).frame(200, 300)
    assert_broken(HaWakeup, again, "new data at 200 was not pushed for 150 ms")


def test_new_data_is_in_the_pool_first() -> None:
    def pooled(ms: int) -> H:
        story = caught_up(transientStorePoolEnable="true").append("master", 100, 200, "put")
        return story.after(ms).frame(100, 200)

    assert_holds(HaWakeup, pooled(900))
    assert_broken(HaWakeup, pooled(901), "new data at 100 was not pushed for 901 ms")
