"""Tests of ``log-records-whole``."""

from histories import H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, pair
from histories.stores import rolled_back

from pairproof.harness.rocketmq.laws.storage.log_records_whole import LogRecordsWhole


def test_a_recovered_log_must_be_whole() -> None:
    again = pair().sent("m0").crash("slave").restart("slave", 100)
    assert_holds(LogRecordsWhole, again.audit("recovery"))
    assert_broken(LogRecordsWhole, again.audit("recovery", broken="slave"), "slave's log is whole only up to 100")


def test_a_running_slave_may_hold_half_a_record() -> None:
    half = pair().put("m0").replicate(60).crash("master").restart("master", 100)
    assert_holds(LogRecordsWhole, half.audit("recovery", broken="slave"))
    assert_holds(LogRecordsWhole, half.audit("final", broken="slave"))


def test_at_the_end_the_master_is_whole_and_so_is_a_slave_that_ends_with_it() -> None:
    done = pair().sent("m0")
    assert_holds(LogRecordsWhole, done.audit())
    assert_broken(LogRecordsWhole, pair().sent("m0").audit(broken="master"), "master's log")
    assert_broken(LogRecordsWhole, pair().sent("m0").audit(broken="slave"), "slave's log")


def test_a_diverged_slave_s_boundaries_are_lost() -> None:
    assert_holds(LogRecordsWhole, rolled_back().replicate().audit(broken="slave"))


def test_a_node_that_is_down_is_not_judged() -> None:
    down = pair().sent("m0").crash("master", "machine")
    assert_vacuous(LogRecordsWhole, down.audit("recovery", nodes="master", broken="master"))


def test_a_diverged_slave_s_log_is_whole_below_the_common_end() -> None:
    def rolled(whole_to: int) -> H:
        two = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100).put("m2")
        return two.audit(broken="slave", hi={"slave": 200}, whole_to=whole_to)

    assert_unbroken(LogRecordsWhole, rolled(100))
    assert_broken(LogRecordsWhole, rolled(50), "slave's log is whole only up to 50")
