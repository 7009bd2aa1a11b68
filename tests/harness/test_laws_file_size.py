"""The law about a pair whose mappedFileSizeCommitLog is not one, and what other laws ask of such a pair."""

from __future__ import annotations

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.liveness.live_converges import LiveConverges
from pairproof.harness.rocketmq.laws.replication.ha_file_size import HaFileSize
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged


def unequal(size: int = 400) -> H:
    """A slave of another file size has connected, and got a message."""
    story = H().config("master").config("slave", mappedFileSizeCommitLog=size).start("master").start("slave")
    return story.connect().report(0).sent("m0")


def stops(story: H) -> H:
    """The slave sees what does not fit, and closes."""
    return story.put("m1").frame(100, 200).after(1).close("s", f="local").close("m")


def test_a_slave_that_stops_and_stays_away_keeps_the_law() -> None:
    assert_holds(HaFileSize, stops(unequal()).after(60_000).audit())


def test_a_slave_that_connects_again_and_again_is_caught() -> None:
    again = stops(unequal()).after(5_000).connect()
    why = "slave connects again after it closed ha:1: its mappedFileSizeCommitLog is 400, the master's 1000"
    assert_broken(HaFileSize, again, why)


def test_a_new_life_and_an_interrupted_connection_may_try_again() -> None:
    assert_holds(HaFileSize, stops(unequal()).stop("slave").start("slave").connect().audit())
    assert_holds(HaFileSize, unequal().close("sm").after(5_000).connect().audit())
    cut = unequal().fault("down", "ha").close("s", f="local").fault("down", "ha", "off").after(5_000).connect()
    assert_holds(HaFileSize, cut.audit())
    still = unequal().pause("slave", 30_000).close("s", f="local").after(5_000).connect()
    assert_holds(HaFileSize, still.audit())


def test_a_log_that_the_slave_cannot_read_back_is_caught() -> None:
    audited = unequal().audit(hi={"slave": 2_000}, broken="slave", whole_to=300)
    assert_broken(HaFileSize, audited, "slave's log stops being whole at 300")
    assert_holds(HaFileSize, unequal().audit(hi={"slave": 350}, broken="slave", whole_to=300))


def test_slaves_with_the_master_s_file_size_are_nothing_to_judge() -> None:
    assert_vacuous(HaFileSize, stops(unequal(1_000)).after(5_000).connect().audit())


def test_a_slave_that_must_not_copy_need_not_converge() -> None:
    healed = stops(unequal()).mark("heal").after(90_000).mark("unsettled").audit(hi={"master": 200, "slave": 100})
    assert judged(LiveConverges, healed.events).verdict is Verdict.NOT_APPLICABLE
    equal = stops(unequal(1_000)).mark("heal").after(90_000).mark("unsettled")
    assert_broken(LiveConverges, equal.audit(hi={"master": 200, "slave": 100}), "slave did not catch up")
