"""Tests of ``log-prefix``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair, trio
from histories.stores import rolled_back

from pairproof.harness.rocketmq.laws.storage.log_prefix import LogPrefix
from pairproof.harness.rocketmq.laws.storage.log_slave_behind import LogSlaveBehind

DIFFERENT = {"master": 7, "slave": 8}


@pytest.mark.parametrize("order", ["master slave", "slave master"])
def test_equal_chunks_keep_the_prefix_and_unequal_ones_break_it(order: str) -> None:
    assert_holds(LogPrefix, pair().sent("m0").audit(nodes=order))
    assert_broken(LogPrefix, pair().sent("m0").audit(nodes=order, digests=DIFFERENT), "[0, 100) of slave")


def test_chunks_of_different_audits_are_not_compared() -> None:
    apart = pair().sent("m0").audit(nodes="master").audit(nodes="slave", digests=DIFFERENT)
    assert_vacuous(LogPrefix, apart)


def test_a_diverged_slave_is_excused_only_above_the_common_part() -> None:
    for chunk in ((100, 200), (50, 150)):
        assert_vacuous(LogPrefix, rolled_back().audit(digests=DIFFERENT, chunk=chunk))
    assert_holds(LogPrefix, rolled_back().audit())
    assert_broken(LogPrefix, rolled_back().audit(digests=DIFFERENT), "[0, 100) of slave")


def test_a_rollback_above_the_slave_s_end_excuses_nothing() -> None:
    lagging = pair().sent("m0").put("m1").crash("master", "machine").restart("master", 100)
    assert_broken(LogPrefix, lagging.audit(digests=DIFFERENT), "differs from the master")


def test_a_slave_that_lost_its_extra_bytes_or_was_wiped_is_held_to_the_promise_again() -> None:
    recovered = rolled_back().crash("slave", "machine").restart("slave", 100)
    assert_broken(LogPrefix, recovered.audit(digests=DIFFERENT), "differs from the master")
    wiped = rolled_back().crash("slave").add("wipe", node="slave").start("slave", 0)
    assert_broken(LogPrefix, wiped.audit(digests=DIFFERENT), "differs from the master")


def test_bytes_under_way_from_a_dead_master_that_lost_them_are_a_rollback_too() -> None:
    late = pair().sent("m0").put("m1").frame(100, 200, "m").crash("master", "machine").restart("master", 100)
    late.frame(100, 200, "s").append("slave", 100, 200)
    assert_vacuous(LogPrefix, late.put("m2").audit(digests=DIFFERENT, chunk=(100, 200)))


def test_a_node_that_is_down_is_not_observed() -> None:
    assert_vacuous(LogPrefix, pair().sent("m0").crash("master", "machine").audit(digests=DIFFERENT))


STORES = pytest.mark.parametrize("f", ["empty", "image"])


def test_a_rollback_of_one_slave_excuses_no_other() -> None:
    three = trio().put("m0").append("slave2", 0, 100).put("m1").append("slave", 0, 200)
    three.crash("master", "machine").restart("master", 100)
    differ = {"master": 1, "slave": 2, "slave2": 2}
    assert_broken(LogPrefix, three.audit(nodes="master slave2", digests=differ), "of slave2 differs from the master")
    three.connect("slave2").report(100, peer="slave2").append("slave2", 100, 200)
    assert_broken(LogSlaveBehind, three, "slave2's log reaches 200, the master's 100")


@STORES
def test_slaves_that_hold_more_than_a_replaced_master_have_diverged(f: str) -> None:
    def replaced() -> H:
        return pair().sent("m0").sent("m1").wipe("master", f).start("master", 100)

    assert_vacuous(LogPrefix, replaced().put("m2").audit(digests=DIFFERENT, chunk=(100, 200)))
    assert_broken(LogPrefix, replaced().put("m2").audit(digests=DIFFERENT), "[0, 100) of slave")
    assert_broken(LogSlaveBehind, pair().sent("m0").wipe("slave", f).start("slave", 0).append("slave", 0, 101), "101")


def test_an_older_state_may_hold_records_lost_earlier() -> None:
    """m1 was lost and m2 written at its offset; then a state with m1 returns, on either node."""

    def lost() -> H:
        two = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
        two.crash("slave", "machine").restart("slave", 100)
        return two.connect().report(100).sent("m2")

    def seen(history: H, lo: int) -> H:
        return history.audit(digests=DIFFERENT, chunk=(lo, lo + 100))

    for node in ("slave", "master"):
        back = lost().wipe(node, "image").start(node, 200)
        assert_vacuous(LogPrefix, seen(back, 100))
        assert_broken(LogPrefix, seen(lost().wipe(node, "image").start(node, 200), 0), "[0, 100) of slave")
    assert_broken(LogPrefix, seen(lost(), 100), "[100, 200) of slave")
