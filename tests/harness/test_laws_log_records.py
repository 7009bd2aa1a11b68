"""Laws about the records of a log, on histories that keep them and that break them in one way: what a recovery cut
stays away, a slave has no holes, store timestamps do not go back."""

from __future__ import annotations

import pytest

from pairproof.harness.history import kinds
from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.storage.log_no_resurrection import LogNoResurrection
from pairproof.harness.rocketmq.laws.storage.loss_is_suffix import LossIsSuffix
from pairproof.harness.rocketmq.laws.storage.store_time_ordered import StoreTimeOrdered
from pairproof.harness.rocketmq.testing import H, bare, pair, trio
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# log-no-resurrection


def cut(node: str = "master") -> H:
    """m1 was on both nodes, and a recovery took it from one of them."""
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

    assert judged(LogNoResurrection, read(again(200), "slave", "m0", "m1").events).broken == 0
    assert_broken(LogNoResurrection, read(again(199), "slave", "m0", "m1"), "nobody wrote it again")


def test_another_record_in_its_place_is_another_record() -> None:
    assert judged(LogNoResurrection, read(cut().put("m2"), "master", "m0", "m2").events).broken == 0
    gap = cut().append("master", 200, 300, "put", "m2")
    assert_broken(LogNoResurrection, read(gap, "master", "m0", "m1"), "m1 is in its log")
    # A delayed message is written twice: its second record is the shorter one.
    for hi, broken in ((150, 0), (200, 1)):
        shorter = cut().append("master", 100, 150, "put", "m1")
        shorter.add("record", node="master", op=1, message="m1", queue="T/0", queue_offset=1, lo=100, hi=hi, digest=1)
        assert judged(LogNoResurrection, shorter.events).broken == broken


def test_an_empty_slave_may_begin_behind_what_it_lost() -> None:
    emptied = pair().sent("m0").crash("slave", "machine").restart("slave", 0).append("slave", 1_000, 1_100)
    assert judged(LogNoResurrection, read(emptied, "slave").events).broken == 0


def test_an_answer_that_was_under_way_before_the_cut_brings_nothing_back() -> None:
    early = asked(pair().sent("m0").sent("m1"), "master").crash("master", "machine").restart("master", 100)
    assert_vacuous(LogNoResurrection, pulled(early, "master"))


@pytest.mark.parametrize("f", ["empty", "image"])
def test_a_replaced_store_may_hold_anything(f: str) -> None:
    assert_vacuous(LogNoResurrection, read(cut("slave").wipe("slave", f).start("slave", 200), "slave", "m0", "m1"))
    assert_vacuous(LogNoResurrection, read(pair().sent("m0").wipe("master", f).start("master", 0), "master", "m0"))


def test_each_node_loses_for_itself() -> None:
    assert_vacuous(LogNoResurrection, read(cut("slave"), "master", "m0", "m1"))


# loss-is-suffix


def test_a_slave_may_lack_what_lies_behind_its_end_and_nothing_before() -> None:
    def part(*held: str) -> H:
        return pair().sent("m0").sent("m1").put("m2").audit(records={"master": ["m0"], "slave": list(held)})

    assert_holds(LossIsSuffix, part("m0", "m1"))
    assert_broken(LossIsSuffix, part("m1"), "slave's log reaches from 0 to 200 and lacks m0 at [0, 100)")
    assert_broken(LossIsSuffix, part("m0"), "lacks m1 at [100, 200)")
    assert_broken(LossIsSuffix, part(), "lacks m0", times=2)


def test_half_a_record_is_not_expected() -> None:
    assert_holds(LossIsSuffix, pair().sent("m0").put("m1").replicate(199).audit(records={"slave": ["m0"]}))
    assert_broken(LossIsSuffix, pair().sent("m0").put("m1").replicate(200).audit(records={"slave": ["m0"]}), "lacks m1")


def test_a_record_elsewhere_does_not_fill_the_hole() -> None:
    moved = pair().sent("m0").sent("m1")
    moved.where["m0"] = (50, 150)
    assert_broken(LossIsSuffix, moved.audit(records={"slave": ["m0", "m1"]}), "lacks m0 at [0, 100)")


def test_what_lies_before_the_slave_s_log_start_was_never_promised() -> None:
    assert_holds(LossIsSuffix, pair().sent("m0").sent("m1").audit(records={"slave": ["m1"]}, start=100))


def test_a_master_that_lost_its_tail_excuses_what_lies_above_the_cut_only() -> None:
    def rolled(*held: str) -> H:
        lost = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100).put("m2")
        return lost.audit(records={"slave": list(held)})

    assert_holds(LossIsSuffix, rolled("m0", "m1"))
    assert_broken(LossIsSuffix, rolled("m1"), "lacks m0")


def test_every_slave_is_looked_at() -> None:
    three = trio().put("m0").append("slave", 0, 100).append("slave2", 0, 100)
    assert_holds(LossIsSuffix, three.audit(nodes="master slave2", records={"slave2": ["m0"]}, compare="master"))
    assert_broken(LossIsSuffix, three.audit(nodes="master slave2", compare="master"), "slave2's log")


def test_a_slave_that_is_down_or_read_for_comparison_only_lists_nothing() -> None:
    assert_vacuous(LossIsSuffix, pair().sent("m0").crash("slave").audit())
    assert_vacuous(LossIsSuffix, pair().sent("m0").audit("recovery", compare="slave"))


def test_without_a_trace_answers_say_what_the_master_had() -> None:
    def seen(history: H) -> Verdict:
        judge = Judge((LossIsSuffix,), frozenset(kinds()) - {"append"})
        judge.feed_all(each for each in history.events if each.kind != "append")
        return judge.finish()[0].verdict

    assert seen(pair().sent("m0").audit(records={"slave": ["m0"]})) is Verdict.HOLDS
    assert seen(pair().sent("m0").audit()) is Verdict.VIOLATED
    crashed = pair().put("m0").replicate().crash("master", "machine").restart("master", 0).ok("m0")
    assert seen(crashed.audit()) is Verdict.VACUOUS


# store-time-ordered


def times(history: H, *values: int, node: str = "master", op: int = 1) -> H:
    for number, value in enumerate(values):
        history.add(
            "record", node=node, op=op, message=f"m{number}", lo=100 * number, hi=100 * number + 100, value=value
        )
    return history


@pytest.mark.parametrize("node", ["master", "slave"])
def test_store_times_may_stand_still_and_not_go_back(node: str) -> None:
    assert_holds(StoreTimeOrdered, times(bare(), 5, 5, 7, node=node))
    assert_broken(StoreTimeOrdered, times(bare(), 5, 7, 6, node=node), "m2 at 200 was stored at 6 ms")
    rolled = bare().append("master", 0, 300, "put").append("slave", 0, 300).crash("master", "machine")
    assert (judged(StoreTimeOrdered, times(rolled.start("master", 100), 5, 7, 6, node=node).events).broken == 1) is (
        node == "master"
    )


def test_each_reading_begins_anew() -> None:
    assert_holds(StoreTimeOrdered, times(times(bare(), 5, 7), 5, 7, op=2))
    assert_holds(StoreTimeOrdered, times(times(bare(), 5, 7, node="slave"), 5, 7, node="master"))


def clocked(node: str, back: int) -> H:
    """m0, then somebody sets a clock, then m1 (which may have taken its time before that), m2 and m3."""
    history = pair().put("m0").add("clock", node=node, value=-5_000)
    return times(history.put("m1").put("m2").put("m3"), 9_000, 8_000, 4_000, back)


def test_a_clock_that_was_set_excuses_the_step_across_it_only() -> None:
    assert_holds(StoreTimeOrdered, clocked("master", 4_001))
    assert_broken(StoreTimeOrdered, clocked("master", 3_999), "m3 at 300")


@pytest.mark.parametrize("slave", ["slave", None])
def test_a_promotion_brings_another_clock_s_times(slave: str | None) -> None:
    history = pair().put("m0").crash("master").add("wipe", node="master", f="image", detail=slave)
    history = times(history.start("master", 100).put("m1"), 9_000, 4_000)
    if slave:
        assert_vacuous(StoreTimeOrdered, history)
    else:
        assert_broken(StoreTimeOrdered, history, "m1 at 100 was stored at 4000 ms")


def test_a_slave_s_clock_excuses_nothing() -> None:
    assert_broken(StoreTimeOrdered, clocked("slave", 4_001), "m1 at 100", times=2)


@pytest.mark.parametrize("law", [LogNoResurrection, LossIsSuffix, StoreTimeOrdered])
def test_record_laws_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())
    assert_vacuous(law, bare())
