"""Tests of ``deliver-at-least-once``."""

import pytest
from histories import Story, Verdict, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, judged
from histories.consumers import consuming, ended, grouped, healed

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.delivery.deliver_at_least_once import DeliverAtLeastOnce
from pairproof.harness.rocketmq.laws.delivery.deliver_no_loss import DeliverNoLoss


def handed_over(
    committed: int | None, answer: int | None, node: str = "master", prepared: Story | None = None
) -> Story:
    """A consumer had m0 and m1 and committed; it dies, and another one goes on from a broker's answer."""
    history = prepared or grouped("m0", "m1")
    history.pull(0, "m0", "m1")
    if committed is not None:
        history.commit(committed)
    history.sync().go(status="lost").come(2).take(answer, node, process=2)
    return history.pull(answer or 0, *("m0", "m1")[answer or 0 :], node=node, process=2)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_what_was_not_committed_may_come_again(node: str) -> None:
    found = assert_holds(DeliverAtLeastOnce, handed_over(1, 1, node))
    assert found.notes == {"repeats": 1}


@pytest.mark.parametrize("node", ["master", "slave"])
def test_what_the_broker_knew_as_consumed_may_not(node: str) -> None:
    assert_broken(
        DeliverAtLeastOnce, handed_over(2, 1, node),
        f"m1, T/0 at 1, came to G again, though {node} knew that it had gone on to 2",
    )  # fmt: skip
    assert_broken(DeliverAtLeastOnce, handed_over(1, None, node).take(0, node, 2).pull(0, "m0", process=2), "m0")


def test_a_consumer_that_goes_back_on_its_own_repeats_too_much() -> None:
    back = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(2, process=2, start=0)
    assert_broken(DeliverAtLeastOnce, back.pull(0, "m0", process=2), "though master knew that it had gone on to 2")


def test_who_knows_nothing_says_nothing() -> None:
    assert_vacuous(DeliverAtLeastOnce, handed_over(None, 0))


def test_a_slave_that_never_synced_knows_nothing() -> None:
    unsynced = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(0, "slave", process=2)
    assert_vacuous(DeliverAtLeastOnce, unsynced.pull(0, "m0", node="slave", process=2))


@pytest.mark.parametrize(("older_ms", "verdict"), [(5_900, Verdict.VACUOUS), (6_100, Verdict.VIOLATED)])
def test_a_killed_broker_knows_what_it_had_written(older_ms: float, verdict: Verdict) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).after(older_ms)
    history.crash("master").start("master").come(2).take(0, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).verdict is verdict


def test_an_answer_that_sends_a_consumer_back_is_a_broker_s_word_too() -> None:
    def sent_back(committed: int) -> Story:
        history = grouped("m0", "m1").pull(0, "m0", "m1").commit(committed).pull(2, then=1)
        return history.pull(1, "m1")

    assert_holds(DeliverAtLeastOnce, sent_back(1))
    assert_broken(DeliverAtLeastOnce, sent_back(2), "though master knew that it had gone on to 2")


def test_a_slave_sends_nobody_back() -> None:
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, node="slave"))
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, then=0))
    back = grouped("m0").pull(0, "m0").pull(1, node="slave", then=0)
    assert_broken(DeliverAtLeastOnce, back, "slave sends G back from 1 to 0 in T/0, though it may only be behind")
    told = grouped("m0", slave={"offsetCheckInSlave": True}).pull(0, "m0").pull(1, node="slave", then=0)
    assert_not_applicable(DeliverAtLeastOnce, told)


def test_a_commit_that_may_still_arrive_may_be_what_the_broker_knows() -> None:
    racing = grouped("m0", "m1").pull(0, "m0").commit(1, phase="info").commit(2)
    racing.come(2).take(1, process=2).pull(0, "m0", "m1", process=2)
    assert_broken(DeliverAtLeastOnce, racing, "m0, T/0 at 0")


@pytest.mark.parametrize("how", ["cut", "wipe", "machine", "slave"])
def test_who_lost_what_it_knew_is_excused(how: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).sync().after(10_000)
    node = "slave" if how == "slave" else "master"
    if how == "cut":
        history.cut(1)
    elif how == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.crash(node, "machine").start(node)
    assert_vacuous(DeliverAtLeastOnce, history.come(2).take(0, node, 2).pull(0, "m0", node=node, process=2))


def test_nobody_knows_the_progress_of_who_receives_all_for_himself() -> None:
    history = consuming().store("m0").come(1, f="broadcasting").take(None).pull(0, "m0")
    history.come(2, f="broadcasting").take(None, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).notes == {"repeats": 0}


@pytest.mark.parametrize("law", [DeliverAtLeastOnce, DeliverNoLoss])
def test_a_slave_that_sends_consumers_elsewhere_promises_nothing(law: type[Law]) -> None:
    history = healed("m0", slave={"offsetCheckInSlave": True}).pull(0, then=1)
    assert_not_applicable(law, ended(history))
