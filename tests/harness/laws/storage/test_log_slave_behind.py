"""Tests of ``log-slave-behind``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair
from histories.stores import rolled_back

from pairproof.harness.rocketmq.laws.storage.log_slave_behind import LogSlaveBehind


def test_a_slave_with_as_much_as_the_master_is_behind_and_one_byte_more_is_ahead() -> None:
    assert_holds(LogSlaveBehind, pair().put("m0").append("slave", 0, 100))
    assert_broken(LogSlaveBehind, pair().put("m0").append("slave", 0, 101), "reaches 101, the master's 100")


def test_a_slave_without_a_trace_is_judged_by_its_reports() -> None:
    assert_holds(LogSlaveBehind, pair().put("m0").report(100))
    assert_broken(LogSlaveBehind, pair().put("m0").report(101), "reaches 101")


@pytest.mark.parametrize("order", ["master slave", "slave master"])
def test_audits_show_a_slave_ahead(order: str) -> None:
    assert_holds(LogSlaveBehind, bare().audit(nodes=order, hi={"slave": 100, "master": 100}))
    assert_broken(LogSlaveBehind, bare().audit(nodes=order, hi={"slave": 100}), "reaches 100, the master's 0")


def test_an_empty_log_that_begins_beyond_the_master_s_end_holds_nothing() -> None:
    ended = bare().audit(nodes="master", hi={"master": 1_017})
    empty = ended.add("audit", node="slave", op=ended.audits, f="final", lo=4_096, hi=4_096, status="whole")
    assert_vacuous(LogSlaveBehind, empty)
    ahead = bare().audit(hi={"slave": 4_196, "master": 4_096}, start=4_096)
    assert_broken(LogSlaveBehind, ahead, "reaches 4196, the master's 4096")


def test_only_a_diverged_slave_may_be_ahead() -> None:
    assert_holds(LogSlaveBehind, rolled_back().audit(hi={"slave": 500}))
    killed = pair().sent("m0").crash("master").start("master")
    assert_broken(LogSlaveBehind, killed.audit(hi={"slave": 500}), "reaches 500")


def test_bytes_under_way_from_a_dead_master_that_lost_them_may_reach_beyond() -> None:
    late = pair().sent("m0").put("m1").frame(100, 200, "m").crash("master", "machine").restart("master", 100)
    assert_holds(LogSlaveBehind, late.frame(100, 200, "s").append("slave", 100, 200).audit())


def test_reports_of_rogue_peers_are_not_judged() -> None:
    assert_vacuous(LogSlaveBehind, bare().connect("rogue_slave").report(500, peer="rogue_slave"))


def test_a_slave_holds_only_what_left_the_master_s_pool() -> None:
    def held(committed: int) -> H:
        stored = pair(transientStorePoolEnable="true").put("m0").commit("master", committed)
        return stored.append("slave", 0, 100)

    assert_holds(LogSlaveBehind, held(100))
    assert_broken(LogSlaveBehind, held(99), "reaches 100, the master's 99")
