"""Tests of ``queue-whole-records``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, judged
from histories.queues import THREE, dispatch, entries, listed, put

from pairproof.harness.rocketmq.laws.storage.queue_whole_records import QueueWholeRecords


def test_whole_records_are_dispatched_at_once() -> None:
    history = put(dispatch(put(bare(), 100), 100), 200)
    dispatch(put(dispatch(history, 200), 1_000, f="filler"), 1_000)
    put(dispatch(put(history, 100, "slave"), 100, "slave"), 1_000, "slave")
    assert_holds(QueueWholeRecords, dispatch(history, 1_000, "slave"))


@pytest.mark.parametrize("node", ["master", "slave"])
def test_nothing_is_dispatched_before_it_is_there(node: str) -> None:
    history = put(put(put(bare(), 100), 200), 300)
    if node == "slave":
        put(history, 150, "slave")
    assert_broken(QueueWholeRecords, dispatch(history, 400, node), f"{node} dispatched up to 400; its log ends at")
    inside = put(put(put(bare(), 100), 200), 300)
    put(inside, 150, "slave")
    assert_broken(QueueWholeRecords, dispatch(inside, 150, node), f"{node} dispatched up to 150, in the middle")


def test_half_a_record_waits_for_its_rest() -> None:
    history = put(put(bare(), 100), 200)
    half = dispatch(put(dispatch(history, 200), 150, "slave"), 100, "slave").after(5_000)
    assert_holds(QueueWholeRecords, dispatch(put(half, 200, "slave"), 200, "slave"))


def test_bytes_that_complete_no_record_are_not_judged() -> None:
    history = dispatch(put(put(bare(), 100), 200), 200)
    half = put(dispatch(put(history, 100, "slave"), 100, "slave"), 150, "slave").after(5_000)
    assert_holds(QueueWholeRecords, dispatch(put(half, 200, "slave"), 200, "slave"))


def test_of_several_records_each_has_its_second() -> None:
    first = dispatch(put(put(bare(), 100), 200), 100)
    assert_broken(QueueWholeRecords, dispatch(first.after(1_001), 200), "had the record that ends at 200 for 1001 ms")


def test_a_slave_s_restart_changes_nothing_of_where_records_end() -> None:
    history = dispatch(put(put(bare(), 100), 200), 200).crash("slave").start("slave", 0)
    assert_broken(QueueWholeRecords, put(history, 200, "slave").after(1_001).mark("end"), "slave had the record")


def test_a_master_killed_during_its_last_write_did_not_trace_it() -> None:
    killed = put(bare(), 300).crash("master").start("master", 400).after(1)
    assert_holds(QueueWholeRecords, dispatch(put(killed, 400, "slave"), 400, "slave"))
    assert_broken(QueueWholeRecords, dispatch(put(killed, 450, "slave"), 450, "slave"), "in the middle of a record")


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_whole_record_waits_no_longer_than_a_second(node: str) -> None:
    def late(ms: int) -> H:
        history = put(bare(), 100)
        if node == "slave":
            put(dispatch(history, 100), 100, "slave")
        return history.after(ms)

    assert_holds(QueueWholeRecords, dispatch(late(1_000), 100, node))
    assert_broken(
        QueueWholeRecords, dispatch(late(1_001), 100, node), f"{node} had the record that ends at 100 for 1001 ms"
    )
    assert_broken(QueueWholeRecords, late(1_001).mark("end"), "for 1001 ms")
    assert_broken(QueueWholeRecords, late(1_001).crash(node), "for 1001 ms")
    assert_broken(QueueWholeRecords, late(1_001).fault("disk_full", node), "for 1001 ms")


def test_a_stopping_slave_may_dispatch_without_a_trace() -> None:
    stopped = put(dispatch(put(dispatch(put(bare(), 100), 100), 200), 200), 100, "slave").stop("slave")
    back = put(stopped, 200, "slave").start("slave", 200).after(15_000)
    dispatch(put(back, 300), 300)
    assert_holds(QueueWholeRecords, dispatch(put(back, 300, "slave"), 300, "slave"))


def test_a_node_that_cannot_work_is_excused() -> None:
    assert_holds(QueueWholeRecords, dispatch(put(bare(), 100).pause("master", 5_000).after(1_000), 100))
    full = put(bare().fault("disk_full", "master"), 100).after(5_000)
    assert_holds(QueueWholeRecords, dispatch(full.fault("disk_full", "master", "off"), 100))
    assert_vacuous(QueueWholeRecords, put(bare(), 100).crash("master").after(5_000).mark("end"))
    flushed = put(bare(rocketmqVersion="5.5.0", flushDiskType="SYNC_FLUSH"), 100).after(5_000)
    assert_holds(QueueWholeRecords, dispatch(flushed, 100))
    rolled = put(put(put(bare(), 300), 300, "slave").crash("master", "machine").start("master", 100), 500)
    assert_holds(QueueWholeRecords, dispatch(put(dispatch(rolled, 500), 500, "slave").after(5_000), 450, "slave"))


@pytest.mark.parametrize("node", ["master", "slave"])
def test_queues_may_lag_while_a_fault_holds_them_up_and_catch_up_within_two_seconds(node: str) -> None:
    def freed() -> H:
        history = put(bare(), 100)
        if node == "slave":
            dispatch(history, 100)
        history.fault("dispatch_stall", node)
        if node == "slave":
            put(history, 100, "slave")
        return history.after(60_000).fault("dispatch_stall", node, "off")

    assert_holds(QueueWholeRecords, dispatch(freed().after(2_000), 100, node))
    late = f"{node} had the record that ends at 100 for 2001 ms after the last fault there, but it was in no queue"
    assert_broken(QueueWholeRecords, dispatch(freed().after(2_001), 100, node), late)
    assert_broken(QueueWholeRecords, freed().after(2_001).mark("end"), late)
    assert_broken(QueueWholeRecords, freed().after(2_001).fault("kill", node), late)
    # Another fault there, or none of its time, excuses it as before.
    again = freed().after(500).fault("disk_full", node).after(60_000)
    assert_holds(QueueWholeRecords, dispatch(again, 100, node))
    assert_holds(QueueWholeRecords, dispatch(freed().pause(node, 5_000).after(2_000), 100, node))


def test_records_undispatched_at_a_second_fault_are_due_after_it() -> None:
    held = put(bare().fault("dispatch_stall", "master"), 100).after(500).fault("lying_flush", "master")
    ended = held.fault("dispatch_stall", "master", "off").after(500).fault("lying_flush", "master", "off")
    assert_broken(QueueWholeRecords, ended.after(2_001).mark("end"), "for 2001 ms after the last fault there")


def test_records_that_expired_undispatched_are_not_due() -> None:
    held = put(put(bare().fault("dispatch_stall", "master"), 100), 300).add("expire", node="master", lo=100)
    freed = held.fault("dispatch_stall", "master", "off").after(2_001)
    assert_broken(QueueWholeRecords, dispatch(freed, 300), "had the record that ends at 300")
    gone = put(bare().fault("dispatch_stall", "master"), 100).add("expire", node="master", lo=100)
    assert_vacuous(QueueWholeRecords, gone.fault("dispatch_stall", "master", "off").after(2_001).mark("end"))


def test_queues_that_never_catch_up_are_found_from_outside_too() -> None:
    def stopped(rest: int) -> H:
        held = put(put(put(bare().fault("dispatch_stall", "master"), 100), 200), 300)
        freed = held.after(5_000).fault("dispatch_stall", "master", "off").after(rest)
        freed.add("dispatch", node="master", hi=0)
        return entries(listed(freed, "master", *THREE), "master", 0, 1, "t/1")

    assert_broken(QueueWholeRecords, stopped(2_001), "master has no queue t/0", times=2)
    assert_holds(QueueWholeRecords, stopped(2_000))


def test_a_replaced_store_has_its_own_boundaries() -> None:
    history = put(put(bare(), 100), 200).crash("master").add("wipe", node="master", f="image").start("master", 150)
    put(history, 150, "slave").after(5_000).mark("end")
    assert_vacuous(QueueWholeRecords, history)


def audited(node: str, *held: tuple[str, int, int], dispatched: int = 300, rest: int = 0) -> H:
    """``node`` lists three records, and its queues hold [lo, hi)."""
    history = put(put(put(bare(), 100), 200), 300)
    if node == "slave":
        put(dispatch(history, 300), 300, "slave")
    if dispatched:
        dispatch(history, dispatched, node)
    listed(history.after(rest), node, *THREE)
    for queue, lo, hi in held:
        entries(history, node, lo, hi, queue)
    return history


@pytest.mark.parametrize("node", ["master", "slave"])
def test_queues_reach_the_dispatched_offset(node: str) -> None:
    assert_holds(QueueWholeRecords, audited(node, ("t/0", 0, 2), ("t/1", 0, 1)))
    assert_broken(
        QueueWholeRecords, audited(node, ("t/0", 0, 1), ("t/1", 0, 1)),
        f"{node}'s queue t/0 holds [0, 1), its log offsets 0 to 1",
    )  # fmt: skip
    assert_broken(QueueWholeRecords, audited(node, ("t/0", 1, 2), ("t/1", 0, 1)), "queue t/0 holds [1, 2)")
    assert_broken(
        QueueWholeRecords, audited(node, ("t/0", 0, 2)), f"{node} has no queue t/1; its log holds offsets 0 to 0"
    )
    assert_holds(QueueWholeRecords, audited(node, ("t/1", 0, 1), dispatched=200))


def test_queues_reach_the_log_s_end_when_nothing_came_for_a_second() -> None:
    def silent(rest: int) -> H:
        started = H().config("master").config("slave").start("master", 300).start("slave").after(rest)
        return entries(listed(started, "master", *THREE), "master", 0, 1, "t/1")

    assert_broken(QueueWholeRecords, silent(1_001), "master has no queue t/0")
    assert_vacuous(QueueWholeRecords, silent(1_000))
    # Without queues in the audit none is missing.
    assert_vacuous(QueueWholeRecords, listed(bare().after(2_000), "master", *THREE))


def test_queues_of_a_node_that_is_down_or_diverged_are_not_judged() -> None:
    down = dispatch(put(bare(), 300), 300).after(2_000).crash("master")
    assert judged(QueueWholeRecords, entries(listed(down, "master", *THREE), "master", 0, 1).events).judged == 1
    rolled = put(put(bare(), 300), 300, "slave").crash("master", "machine").start("master", 100).after(2_000)
    assert_vacuous(QueueWholeRecords, entries(listed(rolled, "slave", *THREE), "slave", 0, 1))


def test_the_next_audit_ends_the_one_before() -> None:
    twice = entries(listed(audited("master", ("t/0", 0, 2)), "master", *THREE), "master", 0, 2)
    assert_broken(QueueWholeRecords, twice, "has no queue t/1", times=2)


def test_a_broken_log_s_queues_are_not_asked_for() -> None:
    history = listed(dispatch(put(bare(), 300), 300), "master", *THREE, status="broken")
    assert_holds(QueueWholeRecords, entries(history, "master", 0, 1))


def pooled(committed: int) -> H:
    return put(bare(transientStorePoolEnable="true"), 100).commit("master", committed)


def test_nothing_in_a_pool_is_dispatched() -> None:
    assert_holds(QueueWholeRecords, dispatch(pooled(100), 100))
    assert_broken(QueueWholeRecords, dispatch(pooled(0), 100), "dispatched up to 100; it had committed up to 0")


def test_the_time_in_a_pool_does_not_count() -> None:
    assert_holds(QueueWholeRecords, dispatch(pooled(100).after(1_800), 100))
    assert_broken(QueueWholeRecords, dispatch(pooled(100).after(1_801), 100), "had the record that ends at 100")
