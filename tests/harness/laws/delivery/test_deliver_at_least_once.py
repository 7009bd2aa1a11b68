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
    """A consumer receives m0 and m1, commits and ends; another one resumes from a broker's answer."""
    history = prepared or grouped("m0", "m1")
    history.pull(0, "m0", "m1")
    if committed is not None:
        history.commit(committed)
    history.sync().go(status="lost").come(2).take(answer, node, process=2)
    return history.pull(answer or 0, *("m0", "m1")[answer or 0 :], node=node, process=2)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_uncommitted_messages_may_be_repeated(node: str) -> None:
    found = assert_holds(DeliverAtLeastOnce, handed_over(1, 1, node))
    assert found.notes == {"repeats": 1}


@pytest.mark.parametrize("node", ["master", "slave"])
def test_messages_below_the_broker_s_progress_may_not_be_repeated(node: str) -> None:
    assert_broken(
        DeliverAtLeastOnce, handed_over(2, 1, node),
        f"m1, T/0 at 1, came to G again, though {node} knew that it had gone on to 2",
    )  # fmt: skip
    assert_broken(DeliverAtLeastOnce, handed_over(1, None, node).take(0, node, 2).pull(0, "m0", process=2), "m0")


def test_a_consumer_that_goes_back_itself_repeats_too_much() -> None:
    back = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(2, process=2, start=0)
    assert_broken(DeliverAtLeastOnce, back.pull(0, "m0", process=2), "though master knew that it had gone on to 2")


def test_a_broker_without_progress_excuses_repeats() -> None:
    assert_vacuous(DeliverAtLeastOnce, handed_over(None, 0))


def test_a_slave_that_never_synced_has_no_progress() -> None:
    unsynced = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(0, "slave", process=2)
    assert_vacuous(DeliverAtLeastOnce, unsynced.pull(0, "m0", node="slave", process=2))


@pytest.mark.parametrize(("older_ms", "verdict"), [(5_900, Verdict.VACUOUS), (6_100, Verdict.VIOLATED)])
def test_a_killed_broker_has_its_saved_progress(older_ms: float, verdict: Verdict) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).after(older_ms)
    history.crash("master").start("master").come(2).take(0, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).verdict is verdict


def test_an_answer_that_sends_a_consumer_back_shows_the_broker_s_progress() -> None:
    def sent_back(committed: int) -> Story:
        history = grouped("m0", "m1").pull(0, "m0", "m1").commit(committed).pull(2, then=1)
        return history.pull(1, "m1")

    assert_holds(DeliverAtLeastOnce, sent_back(1))
    assert_broken(DeliverAtLeastOnce, sent_back(2), "though master knew that it had gone on to 2")


def test_a_slave_sends_no_consumer_back() -> None:
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, node="slave"))
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, then=0))
    back = grouped("m0").pull(0, "m0").pull(1, node="slave", then=0)
    assert_broken(DeliverAtLeastOnce, back, "slave sends G back from 1 to 0 in T/0, though it may only be behind")
    moved = grouped("m0", slave={"offsetCheckInSlave": True}).pull(0, "m0").pull(1, node="slave", then=0)
    assert_not_applicable(DeliverAtLeastOnce, moved)


def test_a_commit_in_flight_may_be_the_broker_s_progress() -> None:
    racing = grouped("m0", "m1").pull(0, "m0").commit(1, phase="info").commit(2)
    racing.come(2).take(1, process=2).pull(0, "m0", "m1", process=2)
    assert_broken(DeliverAtLeastOnce, racing, "m0, T/0 at 0")


@pytest.mark.parametrize("how", ["cut", "wipe", "machine", "slave"])
def test_a_broker_that_lost_its_table_is_excused(how: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).sync().after(10_000)
    node = "slave" if how == "slave" else "master"
    if how == "cut":
        history.cut(1)
    elif how == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.crash(node, "machine").start(node)
    assert_vacuous(DeliverAtLeastOnce, history.come(2).take(0, node, 2).pull(0, "m0", node=node, process=2))


def test_broadcasting_consumers_are_not_judged() -> None:
    history = consuming().store("m0").come(1, f="broadcasting").take(None).pull(0, "m0")
    history.come(2, f="broadcasting").take(None, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).notes == {"repeats": 0}


@pytest.mark.parametrize("law", [DeliverAtLeastOnce, DeliverNoLoss])
def test_the_law_does_not_apply_with_offset_check_in_slave(law: type[Law]) -> None:
    history = healed("m0", slave={"offsetCheckInSlave": True}).pull(0, then=1)
    assert_not_applicable(law, ended(history))
