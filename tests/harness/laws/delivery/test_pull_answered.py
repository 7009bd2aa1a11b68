"""Tests of ``pull-answered``."""

import pytest
from histories import Q, Story, assert_broken, assert_holds, assert_unknown, assert_vacuous
from histories.consumers import consuming
from histories.tags import BY_TAG, asked

from pairproof.harness.rocketmq.laws.delivery.pull_answered import PullAnswered
from pairproof.harness.texts.content import content


def waiting(history: Story | None = None, node: str = "master", asked: int = 0) -> Story:
    """A consumer's pull is in flight."""
    history = history or consuming()
    return history.come().call(1, "pull", node, phase="", value=asked)


def answered(history: Story, after: float, phase: str = "ok", node: str = "master") -> Story:
    call = next(each for each in reversed(history.events) if each.kind == "invoke" and each.f == "pull")
    history.after(after)
    return history.add(phase, node=node, process=1, op=call.op, f="pull", queue=Q, group="G", queue_offset=0)


def test_a_pull_is_answered_when_a_message_arrives() -> None:
    assert_holds(PullAnswered, answered(waiting().store("m0"), 1_000))
    late = "a pull for T/0 waited at master for 1001 ms after a message had come for it"
    assert_broken(PullAnswered, answered(waiting().store("m0"), 1_001), late)
    assert_broken(PullAnswered, answered(waiting().store("m0"), 1_001, "info"), late)
    assert_broken(PullAnswered, waiting().store("m0").after(1_001).mark("end"), late)


def test_a_pull_without_a_message_is_answered_when_its_time_is_up() -> None:
    assert_holds(PullAnswered, answered(waiting(), 20_000))
    for node in ("master", "slave"):
        late = answered(waiting(node=node), 21_000, node=node)
        assert_broken(PullAnswered, late, f"a pull for T/0 waited at {node} for 21001 ms")


def test_messages_that_are_not_for_it_wake_no_pull() -> None:
    assert_holds(PullAnswered, answered(waiting(asked=1).store("m0"), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", queue="T/1"), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", detail='{"level": 3}'), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", detail='{"half": true}'), 10_000))
    assert_holds(PullAnswered, answered(waiting(node="slave").store("m0"), 10_000, node="slave"))
    assert_broken(PullAnswered, answered(waiting(asked=1).store("m0").store("m1"), 10_000), "after a message had come")


def test_java_may_miss_a_message_until_its_next_check() -> None:
    def java() -> Story:
        history = consuming()
        history.stop("master").add("start", node="master", lo=0, hi=0, f="unknown").after(6_000)
        return waiting(history).store("m0")

    assert_holds(PullAnswered, answered(java(), 6_000))
    assert_broken(PullAnswered, answered(java(), 6_001), "after a message had come")


@pytest.mark.parametrize("place", ["master", "client-master"])
def test_a_pull_that_a_fault_delays_is_not_judged(place: str) -> None:
    assert_vacuous(PullAnswered, answered(waiting().fault("slow", place).store("m0"), 30_000))
    ended = consuming().fault("slow", place).fault("slow", place, "off").after(4_000)
    assert_vacuous(PullAnswered, answered(waiting(ended).store("m0"), 900))
    elsewhere = waiting().fault("slow", "ha").store("m0")
    assert_broken(PullAnswered, answered(elsewhere, 1_001), "after a message had come")


def test_a_pull_sent_while_its_broker_had_no_power_may_be_lost() -> None:
    def back(left_early: bool) -> Story:
        """The master's machine loses power, and restarts long before a message for the pull arrives."""
        history = consuming().crash("master", "machine")
        if left_early:
            waiting(history)
        history.restart("master", 0).after(6_000)
        return (history if left_early else waiting(history)).store("m0")

    assert_vacuous(PullAnswered, answered(back(left_early=True), 15_000))
    assert_broken(PullAnswered, answered(back(left_early=False), 15_000), "after a message had come")


def test_pulls_of_ended_nodes_and_consumers_are_not_judged() -> None:
    assert_vacuous(PullAnswered, answered(waiting().crash("master"), 30_000))
    assert_vacuous(PullAnswered, answered(waiting().go(), 30_000))
    plain = consuming().add("invoke", node="master", process=1, op=9, f="pull", queue=Q, value=0)
    assert_vacuous(PullAnswered, plain.after(30_000).mark("end"))


def test_a_stall_makes_a_late_answer_unknown() -> None:
    history = answered(waiting().stall(900).store("m0"), 1_001)
    assert_unknown(PullAnswered, history)


@pytest.mark.parametrize(("tag", "is_woken"), [("a", True), ("paidAa", True), ("paidBB", False), ("", False)])
def test_only_a_message_with_a_subscribed_tag_wakes_a_pull(tag: str, is_woken: bool) -> None:
    history = consuming().come(tags=BY_TAG)
    asked(history)
    history.store("m0", detail=content(b"x", tag, 0)).after(1_001).mark("end")
    if is_woken:
        assert_broken(PullAnswered, history, "waited at master for 1001 ms after a message had come for it")
    else:
        assert_holds(PullAnswered, history)
