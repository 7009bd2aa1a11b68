"""Tests of ``transact-committed``."""

import json

from histories import SIZE, Q, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import transaction

from pairproof.harness.rocketmq.laws.delivery.transact_committed import TransactCommitted
from pairproof.harness.rocketmq.laws.delivery.transact_noted import TransactNoted
from pairproof.harness.texts.content import content


def test_a_half_message_is_stored_as_often_as_it_was_committed() -> None:
    assert_holds(TransactCommitted, transaction().decide().committed().listed())
    assert_holds(TransactCommitted, transaction().decide().decide().committed().committed(offset=1).listed())
    assert_broken(TransactCommitted, transaction().decide().listed(), "m0 was committed 1 times and is stored 0 times")
    twice = transaction().decide().committed().committed(offset=1)
    assert_broken(TransactCommitted, twice.listed(), "m0 is stored 2 times; 1 commits asked for that")
    for phase in ("info", "fail"):
        assert_holds(TransactCommitted, transaction().decide(phase=phase).listed())
        assert_holds(TransactCommitted, transaction().decide(phase=phase).committed().listed())
    assert_vacuous(TransactCommitted, transaction().decide("rollback").listed())


def test_a_committed_message_is_in_its_queue_marked_with_its_half_s_offset() -> None:
    assert_broken(
        TransactCommitted, transaction().decide().committed("T/1").listed(), "is in T/1; its half was sent to T/0"
    )
    unmarked = transaction().decide().record(Q, content(b"", "", 0, real=Q))
    assert_broken(TransactCommitted, unmarked.listed(), "is marked as of no transaction")
    assert_broken(
        TransactCommitted, transaction().decide().committed(kind="rollback").listed(), "is marked as rollback"
    )
    elsewhere = transaction().decide().committed(prepared=SIZE).listed()
    assert_broken(TransactCommitted, elsewhere, f"says that its half is at {SIZE}; it is at 0")


def test_copies_that_consumers_send_back_are_not_commits() -> None:
    back = content(b"", "", 0, real="%RETRY%G/0", times=1, type="commit", prepared=0)
    assert_holds(TransactCommitted, transaction().decide().committed().record("SCHEDULE_TOPIC_XXXX/2", back).listed())


def test_after_a_loss_neither_commits_nor_notes_are_judged() -> None:
    for law in (TransactCommitted, TransactNoted):
        assert_vacuous(law, transaction().decide().crash("master", "machine").start("master").listed())
    # The commit was in flight when the master went down.
    assert_holds(TransactCommitted, killed(transaction()).listed())


def killed(history: Story) -> Story:
    op = history.ops
    call = {"process": 0, "op": op, "node": "master", "message": "m0", "queue": Q, "queue_offset": 0}
    history.add("decide", **call, f="asked", detail=json.dumps({"says": "commit", "at": 0}))
    history.crash("master").start("master", history.end["master"])
    history.add("decide", **call, f="ok", status="SUCCESS")
    return history
