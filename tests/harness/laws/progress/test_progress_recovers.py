"""Tests of ``progress-recovers``."""

import pytest
from histories import SIZE, Story, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, judged
from histories.consumers import consuming, grouped
from histories.tags import BY_TAG, pulled, subscribing

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.progress.progress_live_consumer import ProgressLiveConsumer
from pairproof.harness.rocketmq.laws.progress.progress_recovers import ProgressRecovers


def returned(committed: int, to_slave: int | None = None, received: int = 3) -> Story:
    """The group commits to the master, then to a slave; the consumer dies, and the master returns."""
    messages = [f"m{number}" for number in range(3)]
    history = grouped(*messages).pull(0, *messages[:received]).commit(committed).sync().after(6_100).crash("master")
    if to_slave is not None:
        history.commit(to_slave, "slave")
    history.go(status="lost").start("master")
    return history.come(2)


def test_a_group_repeats_progress_that_only_the_slave_had() -> None:
    assert_holds(ProgressRecovers, returned(1, 3).take(1, process=2))
    assert_holds(ProgressRecovers, returned(3).take(3, process=2))


def test_it_repeats_no_more_and_skips_nothing() -> None:
    assert_broken(ProgressRecovers, returned(2, 3).take(1, process=2), "resumes T/0 at 1; the master had 2")
    assert_broken(
        ProgressRecovers, returned(2, received=2).take(3, process=2), "at 3; it has received nothing from 2 on"
    )


def test_a_consumer_that_ignores_the_answer_is_judged_by_its_start() -> None:
    assert_broken(ProgressRecovers, returned(2).take(2, process=2, start=0), "the master had 2")


def test_only_the_first_time_after_the_return_is_judged() -> None:
    assert judged(ProgressRecovers, returned(1).take(1, process=2).take(1, process=2).events).judged == 1
    assert_vacuous(ProgressRecovers, grouped("m0").pull(0, "m0").commit(1).go().come(2).take(0, process=2))
    assert_vacuous(ProgressRecovers, consuming().crash("master").start("master").come().take(3))
    twice = returned(1).take(1, process=2).stop("master").start("master").come(3).take(0, process=3)
    assert_broken(ProgressRecovers, twice, "the master had 1")


def test_a_slave_s_answer_or_the_consumer_s_choice_is_not_judged() -> None:
    assert_vacuous(ProgressRecovers, returned(2).take(0, "slave", process=2))
    assert_vacuous(ProgressRecovers, returned(2).take(None, process=2, start=3))
    later = returned(2).take(0, "slave", process=2).take(0, process=2)
    assert_broken(ProgressRecovers, later, "the master had 2")


@pytest.mark.parametrize("lost", ["cut", "expire", "wipe"])
def test_a_master_that_lost_messages_is_excused(lost: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).after(6_100)
    if lost == "cut":
        history.cut(1)
    elif lost == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.add("expire", node="master", lo=SIZE).crash("master").start("master")
    assert_vacuous(ProgressRecovers, history.come(2).take(0, process=2))


@pytest.mark.parametrize("law", [ProgressRecovers, ProgressLiveConsumer])
def test_a_slave_that_sends_consumers_elsewhere_promises_nothing(law: type[Law]) -> None:
    history = grouped("m0", slave={"offsetCheckInSlave": "true"}).pull(0, "m0")
    assert_not_applicable(law, history)


@pytest.mark.parametrize(("passed", "start", "holds"), [(3, 3, True), (2, 3, False)])
def test_a_group_resumes_behind_passed_messages(passed: int, start: int, holds: bool) -> None:
    history = pulled(subscribing(), "m0", to=passed).commit(passed).sync().after(6_100).crash("master").start("master")
    taken = history.come(2, tags=BY_TAG).take(start, process=2)
    if holds:
        assert_holds(ProgressRecovers, taken)
    else:
        assert_broken(ProgressRecovers, taken, "resumes T/0 at 3; it has received nothing from 2 on")
