"""Tests of ``progress-live-consumer``."""

import pytest
from histories import SIZE, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import BOTH, SLAVE_ONLY, grouped
from histories.tags import pulled, subscribing

from pairproof.harness.rocketmq.laws.progress.progress_live_consumer import ProgressLiveConsumer


def lived(*more: str, down: bool = True) -> Story:
    """A consumer has received m0 of several messages when the master goes down."""
    history = grouped("m0", *more).learn(BOTH).pull(0, "m0").commit(1)
    return history.crash("master") if down else history


def test_a_surviving_consumer_receives_messages_in_order() -> None:
    history = lived("m1", "m2").learn(SLAVE_ONLY).pull(1, "m1", node="slave").start("master").pull(2, "m2")
    assert assert_holds(ProgressLiveConsumer, history).judged == 2


def test_it_neither_skips_nor_repeats() -> None:
    skipped = lived("m1", "m2").pull(1, "m2", node="slave", then=3)
    assert_broken(ProgressLiveConsumer, skipped, "outlived the master's loss, and skipped from 1 to 2 in T/0")
    again = lived("m1").pull(1, "m1", node="slave").start("master").pull(0, "m0").pull(1, "m1")
    assert_broken(ProgressLiveConsumer, again, "and went back from 2 to 0 in T/0")


def test_only_a_continuing_assignment_is_judged() -> None:
    assert_vacuous(ProgressLiveConsumer, lived(down=False).pull(0, "m0"))
    anew = lived().assign(1, status="off").start("master").take(0).pull(0, "m0")
    assert_vacuous(ProgressLiveConsumer, anew)
    assert_vacuous(ProgressLiveConsumer, lived().go(status="lost").come(2).take(0, "slave", 2).pull(0, "m0", process=2))


def test_a_master_that_lost_messages_ends_the_check() -> None:
    assert_vacuous(ProgressLiveConsumer, lived("m1", "m2", down=False).cut(1).pull(1, "m2"))
    expired = lived("m1", "m2").add("expire", node="slave", lo=SIZE).pull(1, "m2", node="slave")
    assert_vacuous(ProgressLiveConsumer, expired)


def back(known_ms: float) -> Story:
    """The consumer went on with the slave; it learned ``known_ms`` ago that the master is back."""
    history = lived("m1").learn(SLAVE_ONLY).pull(1, "m1", node="slave").commit(2, "slave").after(60_000)
    return history.start("master").learn(BOTH).after(known_ms)


def test_the_master_receives_the_consumer_s_progress() -> None:
    assert_holds(ProgressLiveConsumer, back(16_000).commit(2).progress(2))
    assert_holds(ProgressLiveConsumer, back(16_000).commit(2).query(2))
    assert assert_holds(ProgressLiveConsumer, back(14_000).progress(1)).judged == 1
    for seen in (back(16_000).progress(1), back(16_000).query(1)):
        assert_broken(ProgressLiveConsumer, seen, "G stood at 2 of T/0 15000 ms ago; the master, back since")


def test_a_former_holder_of_the_queue_may_have_committed_less() -> None:
    def shared(rest_ms: float, left: str) -> Story:
        history = back(16_000).commit(2).come(2).take(2, process=2).commit(1, process=2)
        history = history.assign(1, status="off", process=2) if left == "off" else history.go(2, status=left)
        return history.after(rest_ms).progress(1)

    for left in ("off", "lost"):
        assert_holds(ProgressLiveConsumer, shared(14_900, left))
        assert_broken(ProgressLiveConsumer, shared(15_100, left), "G stood at 2 of T/0")


def test_recent_progress_need_not_be_at_the_master_yet() -> None:
    fresh = back(0).store("m2").after(10_000).pull(2, "m2").commit(2).after(10_000)
    assert_holds(ProgressLiveConsumer, fresh.progress(2))
    assert_broken(ProgressLiveConsumer, fresh.after(10_000).progress(2), "G stood at 3")


@pytest.mark.parametrize("what", ["link", "link over", "pause", "route", "shared", "left", "slave"])
def test_what_keeps_it_from_telling_excuses_it(what: str) -> None:
    history = back(10_000)
    node = "slave" if what == "slave" else "master"
    if what.startswith("link"):
        history.fault("stall", "client-master").after(10)
    if what == "link over":
        history.fault("stall", "client-master", status="off")
    if what == "pause":
        history.pause("master", 5_000)
    if what == "route":
        history.learn(SLAVE_ONLY)
    if what == "shared":
        history.come(2).take(1, process=2)
    if what == "left":
        history.go(status="lost")
    assert assert_holds(ProgressLiveConsumer, history.after(10_000).progress(1, node)).judged == 1


def lived_by_tag() -> Story:
    """It has m0 when the master goes down, and goes on at a slave."""
    return pulled(subscribing().learn(BOTH), "m0", to=1).crash("master").learn(SLAVE_ONLY)


def test_a_surviving_consumer_skips_other_tags_and_does_not_go_back() -> None:
    on = lived_by_tag()
    assert isinstance(on, Story)
    assert assert_holds(ProgressLiveConsumer, on.pull(1, "m3", node="slave", then=4)).judged == 1
    back = on.start("master")
    assert isinstance(back, Story)
    assert_broken(ProgressLiveConsumer, back.pull(0, "m0", then=4), "went back from 4 to 0")


def test_an_administrator_s_reset_that_came_later_excuses_it() -> None:
    def reset(rest_ms: float, phase: str = "ok") -> Story:
        call = {"node": "master", "process": 9, "op": 99, "f": "commit", "group": "G", "queue": "T/0"}
        history = back(16_000).commit(2).add("invoke", **call, queue_offset=0, value=0).after(1)
        return history.add(phase, **call, queue_offset=0, value=0).after(rest_ms).progress(0)

    assert_holds(ProgressLiveConsumer, reset(14_900))
    assert_broken(ProgressLiveConsumer, reset(15_100), "G stood at 2 of T/0")
    assert_holds(ProgressLiveConsumer, reset(15_100, "info"))
