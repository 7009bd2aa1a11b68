"""Tests of ``loss-is-suffix``."""

from histories import H, Verdict, assert_broken, assert_holds, assert_vacuous, blind, pair, trio

from pairproof.harness.rocketmq.laws.storage.loss_is_suffix import LossIsSuffix


def test_a_slave_may_lack_only_messages_behind_its_end() -> None:
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


def test_messages_before_the_slave_s_log_start_were_never_promised() -> None:
    assert_holds(LossIsSuffix, pair().sent("m0").sent("m1").audit(records={"slave": ["m1"]}, start=100))


def test_a_master_that_lost_its_tail_excuses_only_messages_above_the_truncation() -> None:
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


def test_without_a_trace_answers_show_the_master_s_messages() -> None:
    def seen(history: H) -> Verdict:
        return blind(LossIsSuffix, history, "append")

    assert seen(pair().sent("m0").audit(records={"slave": ["m0"]})) is Verdict.HOLDS
    assert seen(pair().sent("m0").audit()) is Verdict.VIOLATED
    crashed = pair().put("m0").replicate().crash("master", "machine").restart("master", 0).ok("m0")
    assert seen(crashed.audit()) is Verdict.VACUOUS
