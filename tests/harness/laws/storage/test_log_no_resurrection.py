"""Tests of ``log-no-resurrection``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, judged, pair

from pairproof.harness.rocketmq.laws.storage.log_no_resurrection import LogNoResurrection


def cut(node: str = "master") -> H:
    """m1 was on both nodes, and a recovery truncated it on one of them."""
    return pair().sent("m0").sent("m1").crash(node, "machine").restart(node, 100)


def read(history: H, node: str, *messages: str) -> H:
    return history.audit("recovery", nodes=node, records={node: list(messages)})


def pulled(history: H, node: str, op: int = 90, message: str = "m1", lo: int = 100) -> H:
    return history.add("deliver", node=node, op=op, message=message, lo=lo, hi=lo + 100)


def asked(history: H, node: str, op: int = 90) -> H:
    return history.add("invoke", node=node, op=op, f="pull", process=9, value=0)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_record_that_recovery_cut_stays_away(node: str) -> None:
    assert_holds(LogNoResurrection, read(cut(node), node, "m0"))
    assert_broken(LogNoResurrection, read(cut(node), node, "m0", "m1"), f"m1 is in its log on {node}")
    assert_holds(LogNoResurrection, pulled(asked(cut(node), node), node, message="m0", lo=0))
    assert_broken(LogNoResurrection, pulled(asked(cut(node), node), node), f"m1 was delivered on {node}")


def test_a_record_is_back_when_it_was_replicated_again_and_not_when_half_of_it_was() -> None:
    def again(upto: int) -> H:
        return cut("slave").append("slave", 100, upto).crash("slave").start("slave", 200)

    assert_unbroken(LogNoResurrection, read(again(200), "slave", "m0", "m1"))
    assert_broken(LogNoResurrection, read(again(199), "slave", "m0", "m1"), "no new write followed")


def test_another_record_in_its_place_is_another_record() -> None:
    assert_unbroken(LogNoResurrection, read(cut().put("m2"), "master", "m0", "m2"))
    gap = cut().append("master", 200, 300, "put", "m2")
    assert_broken(LogNoResurrection, read(gap, "master", "m0", "m1"), "m1 is in its log")
    # A delayed message is written twice: its second record is the shorter one.
    for hi, broken in ((150, 0), (200, 1)):
        shorter = cut().append("master", 100, 150, "put", "m1")
        shorter.add("record", node="master", op=1, message="m1", queue="T/0", queue_offset=1, lo=100, hi=hi, digest=1)
        assert judged(LogNoResurrection, shorter.events).broken == broken


def test_an_empty_slave_may_start_behind_the_lost_records() -> None:
    emptied = pair().sent("m0").crash("slave", "machine").restart("slave", 0).append("slave", 1_000, 1_100)
    assert_unbroken(LogNoResurrection, read(emptied, "slave"))


def test_an_answer_that_was_under_way_before_the_cut_brings_nothing_back() -> None:
    early = asked(pair().sent("m0").sent("m1"), "master").crash("master", "machine").restart("master", 100)
    assert_vacuous(LogNoResurrection, pulled(early, "master"))


@pytest.mark.parametrize("f", ["empty", "image"])
def test_a_replaced_store_may_hold_anything(f: str) -> None:
    assert_vacuous(LogNoResurrection, read(cut("slave").wipe("slave", f).start("slave", 200), "slave", "m0", "m1"))
    assert_vacuous(LogNoResurrection, read(pair().sent("m0").wipe("master", f).start("master", 0), "master", "m0"))


def test_each_node_loses_for_itself() -> None:
    assert_vacuous(LogNoResurrection, read(cut("slave"), "master", "m0", "m1"))


@pytest.mark.parametrize(("status", "broken"), [("lied", 0), (None, 1)])
def test_a_disk_that_lied_about_the_truncation_may_undo_it(status: str | None, broken: int) -> None:
    again = cut("slave").add("crash", node="slave", f="machine", status=status, value=1).start("slave", 200)
    assert judged(LogNoResurrection, read(again, "slave", "m0", "m1").events).broken == broken
