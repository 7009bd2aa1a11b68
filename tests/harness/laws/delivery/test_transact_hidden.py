"""Tests of ``transact-hidden``."""

from histories import G, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import transaction

from pairproof.harness.rocketmq.laws.delivery.transact_hidden import TransactHidden


def test_a_pending_or_rolled_back_message_is_in_no_queue_and_not_delivered() -> None:
    assert_holds(TransactHidden, transaction().listed())
    assert_holds(TransactHidden, transaction().decide().committed().came().listed().listed(node="slave"))
    assert_broken(TransactHidden, transaction().came(), "delivered m0 from T/0, whose transaction nobody has ended")
    assert_broken(
        TransactHidden,
        transaction().committed().listed(node="slave"),
        "slave holds m0 in T/0, whose transaction nobody",
    )
    assert_broken(TransactHidden, transaction().decide("rollback").came(group=G), "which was only rolled back")
    assert_vacuous(TransactHidden, Story().config("master").config("slave").start("master").store("m0"))


def test_a_commit_without_an_answer_may_have_been_taken() -> None:
    assert_holds(TransactHidden, transaction().decide(phase="info").came())
    assert_holds(TransactHidden, transaction().decide("rollback").decide(phase="fail").committed().listed())


def test_after_a_loss_a_commit_may_name_another_message() -> None:
    assert_vacuous(TransactHidden, transaction().crash("master", "machine").start("master").came().committed().listed())
