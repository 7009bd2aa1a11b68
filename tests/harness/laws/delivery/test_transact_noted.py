"""Tests of ``transact-noted``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.consumers import transaction

from pairproof.harness.rocketmq.laws.delivery.transact_noted import TransactNoted


def test_each_taken_end_is_noted_once() -> None:
    for says in ("commit", "rollback"):
        assert_holds(TransactNoted, transaction().decide(says).noted().listed())
        never = "half message 0 is noted 0 times as ended; 1 of 1 ends were taken"
        assert_broken(TransactNoted, transaction().decide(says).listed(), never)
    assert_holds(TransactNoted, transaction().decide().decide().noted().noted().listed())
    assert_broken(TransactNoted, transaction().decide().noted().noted().listed(), "is noted 2 times as ended")
    assert_holds(TransactNoted, transaction().decide(phase="info").noted().listed())
    assert_holds(TransactNoted, transaction().decide(phase="info").listed())
    assert_vacuous(TransactNoted, transaction().listed())


def test_a_note_names_the_ended_half_message() -> None:
    assert_broken(
        TransactNoted, transaction().decide().noted(7).listed(), "is of no half message that was ended", times=2
    )
    assert_broken(TransactNoted, transaction().noted().listed(), "is of no half message that was ended")
    assert_broken(TransactNoted, transaction().decide().noted(tags="x").listed(), "that was ended, tagged x", times=2)


def test_a_full_disk_loses_notes_and_5_x_gathers_them() -> None:
    full = transaction()
    full.fault("disk_full", "", "on")
    assert_holds(TransactNoted, full.decide().listed())
    assert_vacuous(TransactNoted, transaction(rocketmqVersion="5.5.0").decide().listed())
