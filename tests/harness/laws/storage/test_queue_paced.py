"""Tests of ``queue-paced``."""

import json

import pytest
from histories import G, Q, Story, assert_broken, assert_holds, assert_unbroken
from histories.builder import ROUTE_TO_SLAVE
from histories.consumers import joined

from pairproof.harness.rocketmq.laws.storage.queue_paced import QueuePaced


def pulling(f: str = "clustering") -> Story:
    """A consumer has taken a queue, and pulls it."""
    history = joined(f)
    history.add("assign", process=1, group=G, queue=Q, status="on", value=0)
    return begun(history)


def begun(history: Story, asked: int = 0) -> Story:
    op, history.ops = history.ops, history.ops + 1
    return history.add("invoke", process=1, group=G, node="master", op=op, f="pull", queue=Q, value=asked, broker=0)


def over(history: Story, status: str = "PULL_NOT_FOUND", following: int = 0, ms: float = 1, phase: str = "ok") -> Story:
    call = next(each for each in reversed(history.events) if each.kind == "invoke" and each.f == "pull")
    known = {"process": 1, "group": G, "node": "master", "op": call.op, "f": "pull", "queue": Q, "value": call.value}
    return history.after(ms).add(phase, **known, status=status, queue_offset=following)


def test_one_pull_follows_the_other() -> None:
    assert_holds(QueuePaced, begun(over(pulling(), following=1), 1))
    assert_broken(
        QueuePaced, over(pulling(), following=1).after(1).mark("end"), "client 1 is 1 ms late with a pull of T/0"
    )
    assert_broken(QueuePaced, begun(over(pulling(), following=1).after(1), 1), "pulls T/0 1 ms later than it should")
    assert_broken(QueuePaced, begun(pulling()), "while another pull of it is in flight")
    assert_broken(QueuePaced, begun(joined()), "pulls T/0, which it does not hold")


def test_a_pull_without_progress_is_followed_by_a_pause() -> None:
    assert_holds(QueuePaced, begun(over(pulling()).after(19)))
    assert_broken(QueuePaced, begun(over(pulling()).after(18)), "pulls T/0 1 ms too soon")
    assert_holds(QueuePaced, begun(over(pulling(), phase="fail", status="refused").after(3_000)))
    soon = begun(over(pulling(), phase="info", status="timeout").after(2_999))
    assert_broken(QueuePaced, soon, "pulls T/0 1 ms too soon")


def test_a_consumer_whose_offset_moved_gives_the_queue_up() -> None:
    def moved(ms: float) -> Story:
        history = over(pulling(), "PULL_OFFSET_MOVED", 7).after(ms)
        return history.add("assign", process=1, group=G, queue=Q, status="off", value=7).mark("end")

    assert_holds(QueuePaced, moved(10_000))
    assert_broken(QueuePaced, moved(10_001), "late with a pull")
    assert_broken(QueuePaced, begun(over(pulling(), "PULL_OFFSET_MOVED", 7).after(20)), "although the broker answered")
    # It may have had no lock.
    assert_holds(QueuePaced, begun(over(pulling("orderly"), "PULL_OFFSET_MOVED", 7).after(20)))


def test_progress_is_committed_every_5_s() -> None:
    def told(ms: float, again: float) -> Story:
        history = pulling().after(ms - 1).call(1, "commit", "master", queue_offset=0, value=0)
        return history.after(again - 2).call(1, "commit", "master", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(5_000, 5_000))
    assert_broken(QueuePaced, told(5_001, 5_000), "commits T/0 1 ms later than it should")
    assert_broken(QueuePaced, told(5_000, 5_001), "commits T/0 1 ms later than it should")
    assert_broken(QueuePaced, pulling().after(5_001).mark("end"), "1 ms late with a commit of T/0")
    assert_holds(QueuePaced, pulling("broadcasting").after(6_000).mark("end"))


def test_a_route_request_delays_the_commit() -> None:
    """Both name servers are asked; commits due during that are skipped, and the next one follows 5 s later."""

    def told(servers: int, commit: float, again: float) -> Story:
        history = pulling().route(ROUTE_TO_SLAVE).after(4_998)
        for _ in range(servers):
            history.asked("route", "names", queue="T").ended("timeout", ms=3_000)
        history.after(-1).call(1, "commit", "slave", "", queue_offset=0, value=0)
        known = {"node": "slave", "process": 1, "op": history.ops - 1, "f": "commit", "queue": Q, "group": G}
        history.route().after(commit - 2).add("ok", **known, value=0)
        return history.after(again - 1).call(1, "commit", "slave", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(1, 1_999, 1))
    assert_holds(QueuePaced, told(1, 1_999, 3_001))
    assert_broken(QueuePaced, told(1, 1_999, 3_002), "1 ms later")
    assert_holds(QueuePaced, told(1, 2_000, 5_000))
    assert_broken(QueuePaced, told(1, 2_000, 5_001), "1 ms later")
    assert_holds(QueuePaced, told(2, 1, 5_000))


def test_a_round_begins_with_the_question_for_the_route() -> None:
    def told(ms: float) -> Story:
        history = pulling().after(ms).asked("route", "names", queue="T").after(1).mark("end")
        return history.ended("refused", ms=2_000).after(-1).call(1, "commit", "slave", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(5_000))
    assert_broken(QueuePaced, told(5_001), "1 ms late with a commit of T/0")


def test_nothing_is_due_of_a_master_that_the_route_lacks() -> None:
    assert_holds(QueuePaced, pulling().route(ROUTE_TO_SLAVE).after(6_000).mark("end"))


@pytest.mark.parametrize(("ms", "broken"), [(20_000, ""), (20_001, "1 ms later"), (19_999, "after 19999 ms")])
def test_locks_are_renewed_every_20_s(ms: float, broken: str) -> None:
    history = pulling("orderly")
    for after in (5_000, ms):
        op, history.ops = history.ops, history.ops + 1
        known = {"process": 1, "group": G, "node": "master", "message": "c1", "detail": json.dumps([Q])}
        history.after(after).add("lock", op=op, f="lock", status="asked", **known)
    if broken:
        what = "late with a lock" if "later" in broken else broken
        assert_broken(QueuePaced, history, what)
    else:
        assert_holds(QueuePaced, history)


def test_a_consumer_that_got_a_lock_takes_the_queue() -> None:
    def given(ms: float, f: str = "lock", place: str = "ha") -> Story:
        history = joined("orderly").fault("slow", place)
        known = {"process": 1, "group": G, "node": "master", "message": "c1", "detail": json.dumps([Q])}
        history.add("lock", op=0, f="lock", status="asked", **known)
        history.add("lock", op=0, f="lock", status="answered", **known).after(ms)
        if f == "lock":
            history.add("assign", process=1, group=G, queue=Q, status="on", value=0)
        else:
            history.add("lock", op=1, f=f, status="asked", **known)
        return history.after(10).mark("end")

    late = "client 1 got the lock of T/0 and has not taken the queue for a second"
    assert_broken(QueuePaced, given(1_001), late)
    assert_broken(QueuePaced, given(1_001, "unlock"), late)
    for ms, place in ((1_000, "ha"), (1_001, "master"), (1_001, "client-master")):
        assert_unbroken(QueuePaced, given(ms, place=place))
        assert_unbroken(QueuePaced, given(ms, "unlock", place))
