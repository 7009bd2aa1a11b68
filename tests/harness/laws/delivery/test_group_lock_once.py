"""Tests of ``group-lock-once``."""

from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming

from pairproof.harness.rocketmq.laws.delivery.group_lock_once import GroupLockOnce


def test_one_member_holds_a_lock() -> None:
    both = "c2 and c1 of G both hold the lock of T/0 at master"
    assert_holds(GroupLockOnce, consuming().lock(1).unlock(1).lock(2))
    assert_broken(GroupLockOnce, consuming().lock(1).lock(2), both)
    assert_broken(GroupLockOnce, consuming().lock(1).after(59_990).lock(2), both)
    assert_broken(GroupLockOnce, consuming().lock(1).unlock(1, "failed").lock(2), both)
    assert_vacuous(GroupLockOnce, consuming().lock(1).lock(1).lock(2, held=False))


def test_a_lock_that_may_have_expired_does_not_count() -> None:
    assert_holds(GroupLockOnce, consuming().lock(1).after(60_000).lock(2))
    assert_holds(GroupLockOnce, consuming().lock(1).unlock(1, "unknown").lock(2))
    assert_vacuous(GroupLockOnce, consuming().lock(1).after(1).crash("master").start("master").lock(2))
    cut = consuming().lock(1)
    cut.add("clock", node="master", value=90_000)
    assert_vacuous(GroupLockOnce, cut.lock(2))


def test_crossing_answers_are_judged_by_the_first_request() -> None:
    def crossing(back: bool) -> Story:
        history = consuming()
        first, second = history.begin_lock(1), history.begin_lock(2)
        history.locking(1, "lock", first, "answered")
        if back:
            history.unlock(1)
        return history.locking(2, "lock", second, "answered")

    assert_broken(GroupLockOnce, crossing(back=False), "both hold the lock")
    assert_holds(GroupLockOnce, crossing(back=True))


def test_an_answer_from_before_a_restart_proves_nothing_after_it() -> None:
    history = consuming()
    op = history.begin_lock(1)
    history.after(1).crash("master").start("master").locking(1, "lock", op, "answered")
    assert_vacuous(GroupLockOnce, history.lock(2))
