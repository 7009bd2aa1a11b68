"""Tests of ``progress-persisted``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import grouped

from pairproof.harness.rocketmq.laws.progress.progress_persisted import ProgressPersisted


def killed(older_ms: float, *commits: int, how: str = "process") -> Story:
    """Commits, one after the other; then the master is killed and starts again."""
    history = grouped("m0", "m1", "m2").pull(0, "m0", "m1", "m2")
    for offset in commits:
        history.after(older_ms).commit(offset)
    return history.after(older_ms).crash("master", how).start("master").after(2_000)


def test_a_commit_older_than_the_period_survives() -> None:
    assert_holds(ProgressPersisted, killed(6_100, 2).query(2).progress(2))
    assert_broken(ProgressPersisted, killed(6_100, 2).query(0), "G had committed 2 of T/0 long enough")
    assert_broken(ProgressPersisted, killed(6_100, 2).progress(None), "it came back with nothing")
    assert_broken(ProgressPersisted, killed(6_100, 1, 2).progress(1), "it came back with 1")


def test_a_later_one_may_be_lost_or_not_and_then_the_one_before_is_there() -> None:
    for found in (2, 3):
        assert_holds(ProgressPersisted, killed(4_000, 1, 2, 3).query(found))
    assert_broken(ProgressPersisted, killed(4_000, 1, 2, 3).query(1), "G had committed 2 or 3 of T/0")
    assert_vacuous(ProgressPersisted, killed(4_000, 2).query(None))


def test_a_traced_write_of_the_table_counts() -> None:
    def wrote(offset: int | None) -> Story:
        history = grouped("m0").pull(0, "m0").commit(1).after(10).add("persist", node="master", f="offsets").after(10)
        return history.crash("master").start("master").query(offset)

    assert_holds(ProgressPersisted, wrote(1))
    assert_broken(ProgressPersisted, wrote(None), "G had committed 1 of T/0")


def test_the_first_write_comes_ten_seconds_after_the_start() -> None:
    def young(older_ms: float) -> Story:
        history = Story().config("master").config("slave").start("master").start("slave").come().take(None)
        return history.pull(0, then=1).commit(1).after(older_ms).crash("master").start("master").query(None)

    assert_vacuous(ProgressPersisted, young(10_900))
    assert_broken(ProgressPersisted, young(11_100), "G had committed 1 of T/0")


@pytest.mark.parametrize("what", ["disk", "disk over", "pause", "machine", "wipe"])
def test_a_disturbed_node_is_excused(what: str) -> None:
    history = grouped("m0").pull(0, "m0").commit(1).after(3_000)
    if what.startswith("disk"):
        history.fault("disk_full", "master").after(10)
    if what == "disk over":
        history.fault("disk_full", "master", status="off")
    if what == "pause":
        history.pause("master", 4_000)
    history.after(3_000)
    if what == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.crash("master", "machine" if what == "machine" else "process").start("master")
    assert_vacuous(ProgressPersisted, history.query(None))


def test_the_fault_that_kills_it_excuses_nothing() -> None:
    history = grouped("m0").pull(0, "m0").commit(1).after(6_100).fault("kill", "master").crash("master")
    assert_broken(ProgressPersisted, history.start("master").query(None), "G had committed 1")


@pytest.mark.parametrize("fault", ["", "restart"])
def test_an_orderly_stop_writes_all_of_it(fault: str) -> None:
    def stopped() -> Story:
        history = grouped("m0").pull(0, "m0").commit(1).after(10)
        if fault:
            history.fault(fault, "master")
        history.stop("master")
        return history

    assert_broken(ProgressPersisted, stopped().start("master").query(None), "G had committed 1")
    assert_holds(ProgressPersisted, stopped().start("master").query(1))
    # Unless it is killed in the middle of it, or had no room.
    assert_vacuous(ProgressPersisted, stopped().crash("master").start("master").query(None))
    full = grouped("m0").pull(0, "m0").commit(1).fault("disk_full", "master").fault("restart", "master")
    assert_vacuous(ProgressPersisted, full.stop("master").start("master").query(None))


def test_the_period_is_configured() -> None:
    def configured(ms: int) -> Story:
        history = grouped("m0", flushConsumerOffsetInterval=ms).pull(0, "m0").commit(1).after(4_000)
        return history.crash("master").start("master").query(None)

    assert_broken(ProgressPersisted, configured(2_000), "G had committed 1")
    assert_vacuous(ProgressPersisted, configured(4_000))


def test_a_clean_stop_keeps_as_much() -> None:
    stopped = grouped("m0").pull(0, "m0").commit(1).after(6_100).stop("master").start("master")
    assert_broken(ProgressPersisted, stopped.query(0), "G had committed 1")


def test_what_is_committed_after_the_return_counts_instead() -> None:
    assert_vacuous(ProgressPersisted, killed(6_100, 2).commit(1).query(1))


def test_a_flushed_write_outlives_a_power_loss() -> None:
    def lost(ms: float, offset: int | None, saves: str = "flushed") -> Story:
        history = grouped("m0").pull(0, "m0").config("master", tableSaves=saves).commit(1).after(10)
        history.add("persist", node="master", f="offsets").after(ms).crash("master", "machine").start("master")
        return history.query(offset)

    assert_holds(ProgressPersisted, lost(1_000, 1))
    assert_broken(ProgressPersisted, lost(1_000, None), "G had committed 1 of T/0")
    assert_vacuous(ProgressPersisted, lost(999, None))
    assert_vacuous(ProgressPersisted, lost(1_000, None, "written"))
