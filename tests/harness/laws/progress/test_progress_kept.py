"""Tests of ``progress-kept``."""

import pytest
from histories import G, Q, Story, assert_broken, assert_holds, assert_unbroken
from histories.consumers import grouped

from pairproof.harness.rocketmq.laws.progress.progress_kept import ProgressKept


def committed(*offsets: int, node: str = "master") -> Story:
    """One after the other."""
    history = grouped("m0", "m1", "m2").pull(0, "m0", "m1", "m2")
    for offset in offsets:
        history.commit(offset, node)
    return history.after(2_000)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_broker_keeps_what_was_committed_last_be_it_smaller(node: str) -> None:
    # And before it took its queue the group had committed nothing.
    assert assert_holds(ProgressKept, committed(1, 3, node=node).query(3, node).progress(3, node)).judged == 3
    assert_holds(ProgressKept, committed(3, 2, node=node).query(2, node).progress(2, node))
    larger = committed(3, 2, node=node)
    assert_broken(ProgressKept, larger.query(3, node), f"G committed 2 of T/0 to {node}, which reports 3")
    assert_broken(ProgressKept, committed(1, 2, node=node).progress(1, node), f"G committed 2 of T/0 to {node}")
    assert_broken(ProgressKept, committed(2, node=node).progress(None, node), "which reports nothing")


def test_progress_that_somebody_may_have_deleted_need_not_be_there() -> None:
    saved = committed(1, 2).add("persist", node="master", f="groups")
    assert isinstance(saved, Story)
    assert_holds(ProgressKept, saved.progress(None).progress(2))
    assert_broken(ProgressKept, saved.progress(1), "G committed nothing or 2 of T/0 to master, which reports 1")
    assert_broken(ProgressKept, committed(1, 2).progress(None), "G committed 2 of T/0 to master, which reports nothing")


def test_what_is_under_way_may_have_arrived_or_not() -> None:
    assert_holds(ProgressKept, committed(1).commit(2, phase="info").query(1).query(2))
    neither = committed(1).commit(3, phase="fail").query(2)
    assert_broken(ProgressKept, neither, "G committed 1 or 3 of T/0 to master, which reports 2")
    assert_broken(ProgressKept, grouped("m0").pull(0, "m0").commit(1, phase="fail").progress(2), "nothing or 1")


def test_a_sync_brings_a_slave_the_master_s_progress() -> None:
    assert_holds(ProgressKept, committed(2).sync().after(2_000).progress(2, "slave"))
    assert_holds(ProgressKept, committed(2).commit(3, "slave").sync().after(2_000).progress(2, "slave"))
    kept = committed(2).commit(3, "slave").sync().after(2_000).progress(3, "slave")
    assert_broken(ProgressKept, kept, "G committed 2 of T/0 to slave, which reports 3")


def test_a_replaced_store_may_have_any_progress_even_for_groups_that_its_node_has_not_seen() -> None:
    def asked(history: Story) -> Story:
        """A commit of 0 is on its way to the slave, which reports 2."""
        return history.commit(0, "slave", phase="info").progress(2, "slave")

    assert_unbroken(ProgressKept, asked(committed(2).crash("slave").wipe("slave").start("slave", 0)))
    assert_broken(ProgressKept, asked(committed(2)), "G committed nothing or 0 of T/0 to slave, which reports 2")


def test_a_slave_with_unrecorded_syncs_may_report_anything() -> None:
    for progress in (2, 3):
        unseen = committed(2).commit(3, "slave").sync("asked", "answered").after(2_000)
        assert_unbroken(ProgressKept, unseen.progress(progress, "slave"))
        # A later commit may be overwritten, too: the next sync may come at any time.
        synced = committed(2).sync("asked", "answered").commit(3, "slave").progress(progress, "slave")
        assert_unbroken(ProgressKept, synced)


def test_a_broker_that_went_down_may_have_lost_it_until_the_next_commit() -> None:
    assert assert_holds(ProgressKept, committed(2).crash("master").start("master").query(None)).judged == 1
    assert assert_holds(ProgressKept, committed(2).crash("master", "machine").start("master").progress(1)).judged == 1
    assert_broken(ProgressKept, committed(2).crash("master").start("master").commit(3).query(2), "G committed 3")


def test_a_commit_that_waits_for_a_connection_may_reach_the_next_incarnation() -> None:
    def outlived(phase: str, status: str) -> Story:
        history = committed(2)
        call = {"node": "master", "process": 1, "op": history.ops, "f": "commit", "queue": Q, "group": G}
        history.commit(1, phase="").crash("master").start("master")
        if phase == "info":
            history.add("info", status=status, queue_offset=1, **call)
        history.commit(3)
        if phase == "ok":
            history.add("ok", status=status, queue_offset=1, **call)
        return history.query(1)

    assert_holds(ProgressKept, outlived("ok", "PUT_OK"))
    assert_holds(ProgressKept, outlived("info", "timeout"))
    assert_broken(ProgressKept, outlived("info", "disconnected"), "G committed 3 of T/0 to master, which reports 1")
