"""Queues and index are derived from the log alone: the same on every node."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair
from histories.queues import THREE, dispatch, entries, listed, put

from pairproof.harness.rocketmq.laws.storage.queue_derived_equal import QueueDerivedEqual
from pairproof.harness.rocketmq.laws.storage.queue_whole_records import QueueWholeRecords


def both(one: int, other: int, start: int | None = None) -> H:
    history = bare()
    history.audits += 1
    return entries(entries(history, "master", 0, 2, digest=one), "slave", 0, 2, digest=other, start=start)


def test_entries_are_the_same_on_both() -> None:
    assert_holds(QueueDerivedEqual, both(7, 7))
    assert_broken(QueueDerivedEqual, both(7, 8), "the entries of t/0 from 0 on differ between master and slave")
    assert_broken(QueueDerivedEqual, both(7, 7, start=1), "the entries of t/0 from 1 on differ")


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_a_node_with_an_undetected_loss_is_not_judged(f: str, owes: bool) -> None:
    def lied() -> H:
        history = dispatch(put(put(put(bare(), 100), 200), 300), 300)
        dispatch(put(history, 300, "slave"), 300, "slave").add("stop", node="slave")
        history.add("crash", node="slave", f="machine", value=300, status="lied")
        return history.add("start", node="slave", f=f, lo=0, hi=300).after(2_000)

    unlike = entries(entries(lied(), "master", 0, 2, digest=7), "slave", 0, 2, digest=8)
    lacking = entries(listed(lied(), "slave", *THREE), "slave", 0, 1, "t/1")
    if owes:
        assert_broken(QueueDerivedEqual, unlike, "differ between master and slave")
        assert_broken(QueueWholeRecords, lacking, "slave has no queue t/0")
    else:
        assert_vacuous(QueueDerivedEqual, unlike)
        assert_holds(QueueWholeRecords, lacking)


def test_queues_that_expired_on_the_other_node_are_not_compared() -> None:
    def began(at: int) -> H:
        history = bare().add("expire", node="master", lo=at)
        return entries(entries(history, "master", 0, 6, digest=7), "slave", 0, 2, digest=8)

    assert_vacuous(QueueDerivedEqual, began(200))
    assert_broken(QueueDerivedEqual, began(100), "differ between master and slave")


def test_queues_of_other_names_and_other_audits_are_not_compared() -> None:
    history = both(7, 7)
    entries(history, "master", 0, 1, "t/1", digest=5)
    history.audits += 1
    assert_holds(QueueDerivedEqual, entries(history, "slave", 0, 1, "t/1", digest=6))


def test_nodes_that_are_down_or_diverged_are_not_compared() -> None:
    down = bare().crash("slave")
    assert_vacuous(QueueDerivedEqual, entries(entries(down, "master", 0, 2), "slave", 0, 2, digest=8))
    rolled = put(put(bare(), 300), 300, "slave").crash("master", "machine").start("master", 100)
    assert_vacuous(QueueDerivedEqual, entries(entries(rolled, "master", 0, 2), "slave", 0, 2, digest=8))


def asked(history: H, one: int = 7, other: int = 7) -> H:
    history.audits += 1
    for node, digest in (("master", one), ("slave", other)):
        history.add("keys", node=node, op=history.audits, message="k0", digest=digest)
    return history


def dispatched(**settings: object) -> H:
    return dispatch(put(dispatch(put(pair(**settings), 100), 100), 100, "slave"), 100, "slave")


def test_the_index_answers_alike() -> None:
    assert_holds(QueueDerivedEqual, asked(dispatched()))
    assert_broken(
        QueueDerivedEqual, asked(dispatched(), 7, 8), "the key k0 leads to other messages on master than on slave"
    )
    rested = put(put(pair(), 100), 100, "slave").after(1_001)
    assert_broken(QueueDerivedEqual, asked(rested, 7, 8), "the key k0")


def test_the_index_is_not_asked_while_a_node_may_have_something_to_dispatch() -> None:
    assert_vacuous(QueueDerivedEqual, asked(put(dispatched(), 200), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(put(put(pair(), 100), 100, "slave").after(1_000), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(put(put(pair(), 100), 100, "slave").pause("slave", 5_000), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(dispatched().crash("slave").start("slave"), 7, 8))
    full = put(put(pair(), 100), 100, "slave").fault("disk_full", "slave").after(5_000)
    assert_vacuous(QueueDerivedEqual, asked(full, 7, 8))


@pytest.mark.parametrize("off", [False, "false"])
def test_a_node_without_an_index_is_not_asked(off: object) -> None:
    assert_vacuous(QueueDerivedEqual, asked(dispatched(messageIndexEnable=off), 7, 8))
