"""Tests of ``group-lock-given``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming

from pairproof.harness.rocketmq.laws.delivery.group_lock_given import GroupLockGiven


def test_a_member_is_refused_only_locks_that_another_may_hold() -> None:
    nobody = "master refuses c2 of G the lock of T/0, which nobody else holds"
    assert_holds(GroupLockGiven, consuming().lock(1).lock(2, held=False))
    assert_vacuous(GroupLockGiven, consuming().lock(1).unlock(1).lock(2))
    assert_broken(GroupLockGiven, consuming().lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, consuming().lock(2).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, consuming().lock(1).unlock(1).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, consuming().lock(1).after(61_001).lock(2, held=False), nobody)
    assert_broken(GroupLockGiven, consuming().lock(1, held=False, status="failed").lock(2, held=False), nobody)
    assert_broken(
        GroupLockGiven,
        consuming().lock(1).after(1).crash("master").start("master").after(1_001).lock(2, held=False),
        nobody,
    )


def test_an_unanswered_request_may_hold_the_lock() -> None:
    assert_holds(GroupLockGiven, consuming().lock(1).after(60_500).lock(2, held=False))
    assert_holds(GroupLockGiven, consuming().lock(1, status="unknown").after(90_000).lock(2, held=False))
    assert_holds(GroupLockGiven, consuming().lock(1).unlock(1, "unknown").after(1).lock(2, held=False))
    under_way = consuming()
    under_way.begin_lock(1)
    assert_holds(GroupLockGiven, under_way.after(90_000).lock(2, held=False))
    set_back = consuming()
    set_back.add("clock", node="master", value=-90_000)
    assert_vacuous(GroupLockGiven, set_back.lock(2, held=False))
