"""Tests of ``queue-shows-dispatched``."""

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare
from histories.queues import answered, dispatch, put

from pairproof.harness.rocketmq.laws.storage.queue_shows_dispatched import QueueShowsDispatched


def pulled(history: H, *messages: tuple[str, int], high: int = 0, node: str = "master", phase: str = "ok") -> H:
    """A reader pulls t/0 from ``node``: messages with their ends in the log, and the queue's end as answered."""
    op = 900 + len(history.events)
    history.add("invoke", node=node, op=op, f="pull", queue="t/0", value=0)
    for message, hi in messages:
        history.add("deliver", node=node, op=op, message=message, queue="t/0", lo=hi - SIZE, hi=hi)
    return history.add(phase, node=node, op=op, f="pull", status="FOUND", queue="t/0", lo=0, hi=high)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_reader_sees_only_dispatched_messages(node: str) -> None:
    def lagging() -> H:
        history = put(answered(put(answered(bare(), "m0", 0, 0), 100), "m1", 100, 1), 200)
        if node == "slave":
            put(dispatch(history, 200), 200, "slave")
        return dispatch(history, 100, node)

    assert_holds(QueueShowsDispatched, pulled(lagging(), ("m0", 100), high=1, node=node))
    said = f"{node} delivered m1, which ends at 200 of its log; it had dispatched up to 100"
    assert_broken(QueueShowsDispatched, pulled(lagging(), ("m0", 100), ("m1", 200), high=1, node=node), said)
    shown = pulled(lagging(), ("m0", 100), high=2, node=node)
    assert_broken(QueueShowsDispatched, shown, f"{node} shows t/0 up to offset 1, which ends at 200")
    assert_broken(QueueShowsDispatched, dispatch(shown.after(1), 200, node), f"{node} shows t/0 up to offset 1")
    assert_holds(QueueShowsDispatched, pulled(dispatch(lagging(), 200, node), ("m1", 200), high=2, node=node))


def test_a_pull_may_be_answered_a_moment_before_the_dispatch_event() -> None:
    def early(instant_ms: int) -> H:
        history = H().real(instant_ms) if instant_ms else H()
        history.config("master").config("slave").start("master").start("slave")
        return pulled(put(history, 100), ("m0", 100))

    assert_holds(QueueShowsDispatched, dispatch(early(0), 100))
    assert_holds(QueueShowsDispatched, dispatch(early(5).after(5), 100))
    assert_broken(QueueShowsDispatched, dispatch(early(5).after(6), 100), "master delivered m0")
    assert_broken(QueueShowsDispatched, dispatch(early(5).after(5), 50), "master delivered m0")
    assert_holds(QueueShowsDispatched, early(5).crash("master"))
    assert_broken(QueueShowsDispatched, early(5).after(6).crash("master"), "master delivered m0")


def test_a_start_dispatches_its_log_and_earlier_answers_are_not_judged() -> None:
    assert_holds(QueueShowsDispatched, pulled(put(bare(), 100).crash("master").start("master"), ("m0", 100)))
    began = bare().start("master", 300).add("invoke", node="master", op=5, f="pull", queue="t/0", value=0)
    late = began.crash("master", "machine").start("master", 100)
    assert_vacuous(QueueShowsDispatched, late.add("deliver", node="master", op=5, message="m2", lo=200, hi=300))


def test_unknown_offsets_are_not_judged() -> None:
    lagging = dispatch(put(put(bare(), 100), 200), 100)
    assert_vacuous(QueueShowsDispatched, pulled(lagging, high=2))
    delayed = answered(dispatch(put(put(bare(), 100), 200), 100), "m1", 100, 1, detail='{"level": 3}')
    assert_vacuous(QueueShowsDispatched, pulled(delayed, high=2))
    twice = answered(answered(lagging, "m1", 100, 1), "m2", 300, 1)
    assert_vacuous(QueueShowsDispatched, pulled(twice, high=2))
    other = answered(bare(), "m1", 100, 1).crash("master").add("wipe", node="master", f="image").start("master", 100)
    assert_vacuous(QueueShowsDispatched, pulled(other, high=2))
    assert_vacuous(QueueShowsDispatched, pulled(answered(dispatch(put(bare(), 200), 100), "m1", 100, 1), phase="fail"))
