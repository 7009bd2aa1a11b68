"""What is owed in groups that are orderly (a queue's lock has one holder, and only it consumes) or broadcasting."""

from __future__ import annotations

import json

from consuming import C, G, Q

from pairproof.harness.rocketmq.laws.delivery.deliver_orderly import DeliverOrderly
from pairproof.harness.rocketmq.laws.delivery.group_lock_given import GroupLockGiven
from pairproof.harness.rocketmq.laws.delivery.group_lock_once import GroupLockOnce
from pairproof.harness.rocketmq.laws.progress.progress_broadcast import ProgressBroadcast
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous


class L(C):
    """A history with locks: ``world().lock(1).lock(2, held=False)``. Members are processes; so are their client ids."""

    def ask(self, process: int, f: str = "lock", queues: tuple[str, ...] = (Q,)) -> int:
        """A member asks, in a millisecond; the call's number."""
        op, self.ops = self.ops, self.ops + 1
        self.after(1).noted(process, f, op, "asked", queues)
        return op

    def noted(
        self, process: int, f: str, op: int, status: str, queues: tuple[str, ...] = (Q,), node: str = "master"
    ) -> L:
        self.add(
            "lock", process=process, op=op, f=f, status=status, node=node, group=G, message=f"c{process}",
            detail=json.dumps(list(queues)),
        )  # fmt: skip
        return self

    def lock(self, process: int = 1, held: bool = True, status: str = "answered") -> L:
        op = self.ask(process)
        self.after(1)
        return self.noted(process, "lock", op, status, (Q,) if held or status != "answered" else ())

    def unlock(self, process: int = 1, status: str = "answered") -> L:
        op = self.ask(process, "unlock")
        self.after(1)
        return self.noted(process, "unlock", op, status)


def world() -> L:
    history = L()
    history.config("master").config("slave").start("master").start("slave").after(20_000)
    return history


def passed(history: L, ms: float) -> L:
    history.after(ms)
    return history


def restarted(history: L) -> L:
    history.after(1)
    history.crash("master").start("master")
    return history


# group-lock-once


def test_one_member_holds_a_lock() -> None:
    both = "c2 and c1 of G both hold the lock of T/0 at master"
    assert_holds(GroupLockOnce, world().lock(1).unlock(1).lock(2))
    assert_broken(GroupLockOnce, world().lock(1).lock(2), both)
    assert_broken(GroupLockOnce, passed(world().lock(1), 59_990).lock(2), both)
    assert_broken(GroupLockOnce, world().lock(1).unlock(1, "failed").lock(2), both)
    assert_vacuous(GroupLockOnce, world().lock(1).lock(1).lock(2, held=False))


def test_a_lock_that_may_be_over_is_no_lock() -> None:
    assert_holds(GroupLockOnce, passed(world().lock(1), 60_000).lock(2))
    assert_holds(GroupLockOnce, world().lock(1).unlock(1, "unknown").lock(2))
    assert_vacuous(GroupLockOnce, restarted(world().lock(1)).lock(2))
    cut = world().lock(1)
    cut.add("clock", node="master", value=90_000)
    assert_vacuous(GroupLockOnce, cut.lock(2))


def test_answers_that_cross_accuse_the_member_that_asked_first() -> None:
    def crossing(back: bool) -> L:
        history = world()
        first, second = history.ask(1), history.ask(2)
        history.noted(1, "lock", first, "answered")
        if back:
            history.unlock(1)
        return history.noted(2, "lock", second, "answered")

    assert_broken(GroupLockOnce, crossing(back=False), "both hold the lock")
    assert_holds(GroupLockOnce, crossing(back=True))


def test_an_answer_from_before_a_restart_says_nothing_of_the_time_behind_it() -> None:
    history = world()
    op = history.ask(1)
    restarted(history).noted(1, "lock", op, "answered")
    assert_vacuous(GroupLockOnce, history.lock(2))


# group-lock-given


def test_a_member_is_refused_only_what_another_may_hold() -> None:
    nobody = "master refuses c2 of G the lock of T/0, which nobody else holds"
    assert_holds(GroupLockGiven, world().lock(1).lock(2, held=False))
    assert_vacuous(GroupLockGiven, world().lock(1).unlock(1).lock(2))
    assert_broken(GroupLockGiven, world().lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, world().lock(2).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, world().lock(1).unlock(1).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, passed(world().lock(1), 61_001).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, world().lock(1, held=False, status="failed").lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, passed(restarted(world().lock(1)), 1_001).lock(2, held=False), nobody)


def test_what_nobody_knows_may_be_anothers_lock() -> None:
    assert_holds(GroupLockGiven, passed(world().lock(1), 60_500).lock(2, held=False))
    assert_holds(GroupLockGiven, passed(world().lock(1, status="unknown"), 90_000).lock(2, held=False))
    assert_holds(GroupLockGiven, passed(world().lock(1).unlock(1, "unknown"), 1).lock(2, held=False))
    under_way = world()
    under_way.ask(1)
    assert_holds(GroupLockGiven, passed(under_way, 90_000).lock(2, held=False))
    set_back = world()
    set_back.add("clock", node="master", value=-90_000)
    assert_vacuous(GroupLockGiven, set_back.lock(2, held=False))


# deliver-orderly


def consuming(*messages: str, f: str = "orderly") -> L:
    history = world()
    for message in messages:
        history.store(message)
    history.come(f=f)
    return history


def test_a_member_consumes_what_it_holds_the_lock_of() -> None:
    history = consuming("m0", "m1").lock(1)
    assert_holds(DeliverOrderly, history.take(None).pull(0, "m0", "m1"))
    without = "T/0 at 0 came to process 1 of G, which does not hold the queue's lock"
    assert_broken(DeliverOrderly, consuming("m0").take(None).pull(0, "m0"), without)
    refused = consuming("m0").lock(1).lock(1, held=False)
    assert_broken(DeliverOrderly, refused.take(None).pull(0, "m0"), without)
    back = consuming("m0").lock(1).unlock(1)
    assert_broken(DeliverOrderly, back.take(None).pull(0, "m0"), without)
    assert_vacuous(DeliverOrderly, consuming("m0", f="clustering").take(None).pull(0, "m0"))


def test_a_lock_counts_for_half_a_minute_from_the_question() -> None:
    def late(ms: float) -> C:
        taken = consuming("m0").lock(1).take(None)
        taken.after(ms)
        return taken.pull(0, "m0")

    assert_holds(DeliverOrderly, late(29_000))
    assert_broken(DeliverOrderly, late(31_000), "which last asked for the lock 310")
    nobody_knows = consuming("m0").lock(1).lock(1, status="unknown")
    assert_holds(DeliverOrderly, nobody_knows.take(None).pull(0, "m0"))


def test_a_member_consumes_no_queue_that_it_has_given_up() -> None:
    given_up = consuming("m0").lock(1).take(None).assign(0, status="off").pull(0, "m0")
    assert_broken(DeliverOrderly, given_up, "which has not taken the queue")


def test_no_message_comes_to_an_orderly_group_behind_a_later_one() -> None:
    def skipped(*then: str) -> L:
        history = consuming("m0", "m1").lock(1)
        history.take(None, start=1).pull(1, "m1").assign(2, status="off")
        history.unlock(1).come(2)
        history.events[-1] = history.events[-1]._replace(f="orderly")
        history.lock(2).take(0, process=2).pull(0, *then, process=2)
        return history

    assert_broken(DeliverOrderly, skipped("m0"), "T/0 at 0 came to G for the first time when 1 had come")
    again = consuming("m0", "m1").lock(1)
    assert_holds(DeliverOrderly, again.take(None).pull(0, "m0", "m1").assign(0).pull(0, "m0", "m1"))
    lost = consuming("m0", "m1").lock(1)
    lost.take(None, start=1).pull(1, "m1").crash("slave", "machine")
    assert_holds(DeliverOrderly, lost.assign(0).pull(0, "m0"))


# progress-broadcast


def test_a_broadcasting_member_keeps_its_progress_to_itself() -> None:
    def member(f: str = "broadcasting") -> L:
        history = consuming("m0", f=f)
        history.take(None).pull(0, "m0")
        return history

    assert_holds(ProgressBroadcast, member())
    assert_broken(ProgressBroadcast, member().commit(1), "tells master itself that it is at 1 of T/0")
    assert_broken(ProgressBroadcast, member().commit(1, carried=True), "tells master by a pull that it is at 1")
    assert_vacuous(ProgressBroadcast, member("orderly").commit(1))
