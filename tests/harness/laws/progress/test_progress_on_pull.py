"""Tests of ``progress-on-pull``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.consumers import carried, grouped

from pairproof.harness.rocketmq.laws.progress.progress_on_pull import ProgressOnPull


def test_a_master_stores_a_commit_on_a_pull() -> None:
    assert_holds(ProgressOnPull, carried(2).query(2).progress(2))
    assert_broken(ProgressOnPull, carried(2).query(0), "to the master: 2, and its table has 0")
    assert_broken(ProgressOnPull, carried(2).progress(None), "to the master: 2, and its table has nothing")
    assert_broken(
        ProgressOnPull, grouped("m0", "m1").pull(0, "m0", "m1").commit(1).commit(2, carried=True).query(1), "2"
    )


def test_what_was_under_way_beside_it_may_have_come_later() -> None:
    racing = grouped("m0", "m1").pull(0, "m0").commit(1, phase="").pull(1, "m1").commit(2, carried=True)
    assert_holds(ProgressOnPull, racing.query(1))


def test_the_last_commit_counts() -> None:
    assert_vacuous(ProgressOnPull, carried(2).commit(1).query(1))
    assert_vacuous(ProgressOnPull, carried(2).crash("master").start("master").query(None))
    refused = grouped("m0").pull(0, "m0").commit(1, phase="fail", carried=True)
    assert_vacuous(ProgressOnPull, refused.query(None))


def test_a_slave_does_not_store_it() -> None:
    assert_holds(ProgressOnPull, carried(2, "slave").query(None, "slave").progress(0, "slave"))
    assert_holds(ProgressOnPull, carried(2, "slave").commit(2).progress(2, "slave"))
    assert_holds(ProgressOnPull, carried(1, "slave").commit(2).query(2, "slave"))
    for seen in (carried(2, "slave").query(2, "slave"), carried(2, "slave").progress(2, "slave")):
        assert_broken(ProgressOnPull, seen, "slave stored G's progress in T/0, 2, which only a pull carried")
    assert_vacuous(ProgressOnPull, carried(2, "slave").query(None).call(1, "query", "slave", queue="T/1"))
