"""Tests of ``ha-file-size``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.stores import stops, unequal

from pairproof.harness.rocketmq.laws.replication.ha_file_size import HaFileSize


def test_a_slave_that_stops_and_stays_away_keeps_the_law() -> None:
    assert_holds(HaFileSize, stops(unequal()).after(60_000).audit())


def test_a_slave_that_connects_again_and_again_is_caught() -> None:
    again = stops(unequal()).after(5_000).connect()
    why = "slave connects again after it closed ha:1: its mappedFileSizeCommitLog is 400, the master's 1000"
    assert_broken(HaFileSize, again, why)


def test_a_new_incarnation_and_an_interrupted_connection_may_try_again() -> None:
    assert_holds(HaFileSize, stops(unequal()).stop("slave").start("slave").connect().audit())
    assert_holds(HaFileSize, unequal().close("sm").after(5_000).connect().audit())
    cut = unequal().fault("down", "ha").close("s", f="local").fault("down", "ha", "off").after(5_000).connect()
    assert_holds(HaFileSize, cut.audit())
    still = unequal().pause("slave", 30_000).close("s", f="local").after(5_000).connect()
    assert_holds(HaFileSize, still.audit())


def test_a_log_that_the_slave_cannot_read_back_is_caught() -> None:
    audited = unequal().audit(hi={"slave": 2_000}, broken="slave", whole_to=300)
    assert_broken(HaFileSize, audited, "slave's log is whole only up to 300")
    assert_holds(HaFileSize, unequal().audit(hi={"slave": 350}, broken="slave", whole_to=300))


def test_slaves_with_the_master_s_file_size_are_nothing_to_judge() -> None:
    assert_vacuous(HaFileSize, stops(unequal(1_000)).after(5_000).connect().audit())
