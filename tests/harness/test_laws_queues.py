"""What a log's queues promise: dense offsets, nothing dispatched too early or too late, the same on every node."""

from __future__ import annotations

import pytest

from pairproof.harness.rocketmq.laws.queue_dense import QueueDense
from pairproof.harness.rocketmq.laws.queue_derived_equal import QueueDerivedEqual
from pairproof.harness.rocketmq.laws.queue_shows_dispatched import QueueShowsDispatched
from pairproof.harness.rocketmq.laws.queue_whole_records import QueueWholeRecords
from pairproof.harness.rocketmq.testing import SIZE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged
from pairproof.harness.verdict import Verdict

Records = list[tuple[str, str, int]]
"""Message, queue, queue offset; each lies behind the one before."""


def listed(history: H, node: str, *records: tuple[str, str, int], lo: int = 0, status: str = "whole") -> H:
    """An audit lists ``node``'s records, which lie at ``lo`` and behind it."""
    history.audits += 1
    at = lo
    for message, queue, offset in records:
        history.add(
            "record", node=node, op=history.audits, message=message, queue=queue, queue_offset=offset, lo=at,
            hi=at + SIZE,
        )  # fmt: skip
        at += SIZE
    return history.add("audit", node=node, op=history.audits, f="final", lo=lo, hi=at, status=status, value=at)


THREE = (("m0", "t/0", 0), ("m1", "t/1", 0), ("m2", "t/0", 1))


# queue-dense


def test_dense_offsets_hold_on_either_node() -> None:
    assert_holds(QueueDense, listed(listed(bare(), "master", *THREE), "slave", *THREE))


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize(
    ("offsets", "saying"),
    [
        ((0, 0), "m1 has offset 0 in t/0; 1 was next"),
        ((0, 2), "m1 has offset 2 in t/0; 1 was next"),
        ((1, 2), "m0 has offset 1 in t/0; 0 was next"),
    ],
)
def test_a_hole_a_repeat_and_a_late_beginning_break_it(node: str, offsets: tuple[int, int], saying: str) -> None:
    records = [(f"m{number}", "t/0", offset) for number, offset in enumerate(offsets)]
    assert_broken(QueueDense, listed(bare(), node, *records), f"{node}: {saying}")


def test_a_log_that_begins_later_may_begin_with_any_offset() -> None:
    assert_holds(QueueDense, listed(bare(), "slave", ("m7", "t/0", 7), ("m8", "t/0", 8), lo=1_000))
    expired = bare().add("expire", node="master", lo=1_000)
    assert_holds(QueueDense, listed(expired, "slave", ("m7", "t/0", 7)))


def test_the_log_of_a_rolled_slave_goes_on_behind_its_master_s_back() -> None:
    rolled = (
        bare().append("master", 0, 300, "put").append("slave", 0, 300).crash("master", "machine").start("master", 100)
    )
    assert_vacuous(QueueDense, listed(rolled, "slave", ("m0", "t/0", 0), ("m9", "t/0", 5)))


def test_an_audit_without_records_says_nothing() -> None:
    assert_vacuous(QueueDense, listed(bare(), "master"))


def begin(history: H, message: str, detail: str | None = None) -> H:
    history.ops += 1
    history.began[message] = (history.ops, 1)
    return history.add("invoke", node="master", op=history.ops, f="send", message=message, queue="t/0", detail=detail)


def finish(history: H, message: str, lo: int, queue_offset: int, phase: str = "ok") -> H:
    return history.add(
        phase, node="master", op=history.began[message][0], f="send", status="PUT_OK", message=message, queue="t/0",
        queue_offset=queue_offset, lo=lo, hi=lo + SIZE,
    )  # fmt: skip


def answered(history: H, message: str, lo: int, queue_offset: int, detail: str | None = None) -> H:
    return finish(begin(history, message, detail), message, lo, queue_offset)


def test_a_sender_is_told_the_offset_that_its_message_has() -> None:
    assert_holds(QueueDense, listed(answered(bare(), "m0", 0, 0), "master", *THREE))
    told = "m0 has offset 0 in t/0; its sender was told 7"
    assert_broken(QueueDense, listed(answered(bare(), "m0", 0, 7), "master", *THREE), told)
    # What was told of a message that was lost is not told of the one in its place.
    assert_holds(QueueDense, listed(answered(bare(), "lost", 0, 7), "master", *THREE))
    assert_holds(QueueDense, listed(answered(bare(), "m0", 0, 7, detail='{"level": 3}'), "master", *THREE))
    refused = finish(begin(bare(), "m0"), "m0", 0, 7, phase="fail")
    assert_holds(QueueDense, listed(refused, "master", *THREE))


def test_no_two_senders_are_told_the_same_offset() -> None:
    twice = answered(answered(bare(), "m0", 0, 0), "m1", 100, 0)
    assert_broken(QueueDense, twice, "offset 0 of t/0 went to m1; m0 has it, and was not lost")
    late = finish(begin(bare(), "m0").crash("master", "machine").start("master"), "m0", 0, 0)
    assert_vacuous(QueueDense, answered(late, "m1", 0, 0))
    expired = answered(bare(), "m0", 0, 0).add("expire", node="master", lo=1_000)
    assert_broken(QueueDense, answered(expired, "m9", 1_000, 0), "offset 0 of t/0 went to m9; m0 has it")


def test_an_offset_goes_to_another_message_only_when_the_first_was_lost() -> None:
    before = listed(bare(), "master", *THREE)
    moved = listed(before, "master", ("m0", "t/0", 0), ("m3", "t/0", 1))
    assert_broken(QueueDense, moved, "offset 1 of t/0 went to m3; m2 has it, and was not lost")
    lost = listed(bare(), "master", *THREE).crash("master", "machine").start("master", 100)
    assert_holds(QueueDense, listed(lost, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)))
    kept = listed(bare(), "master", *THREE).crash("master").start("master", 300)
    assert_broken(QueueDense, listed(kept, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)), "went to m3")


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_offsets_that_a_lying_disk_has_lost_are_given_again(f: str, owes: bool) -> None:
    history = listed(bare(), "master", *THREE).add("stop", node="master")
    history.add("crash", node="master", f="machine", value=300, status="lied")
    history.add("start", node="master", f=f, lo=0, hi=300)
    again = answered(history, "m9", 300, 0)
    if owes:
        assert_broken(QueueDense, again, "offset 0 of t/0 went to m9; m0 has it, and was not lost")
    else:
        assert_holds(QueueDense, again)


def test_another_store_has_its_own_offsets() -> None:
    wiped = listed(bare(), "master", *THREE).crash("master").add("wipe", node="master", f="image").start("master", 300)
    assert_holds(QueueDense, listed(wiped, "master", ("m0", "t/0", 0), ("m3", "t/0", 1)))


def test_what_expired_keeps_its_offset_unless_the_machine_crashed() -> None:
    def anew(how: str) -> H:
        history = listed(bare(), "master", *THREE).add("expire", node="master", lo=1_000)
        history.crash("master", how).start("master", 2_000, lo=1_000)
        return listed(history, "master", ("m9", "t/0", 0), lo=1_900)

    assert_broken(QueueDense, anew("process"), "offset 0 of t/0 went to m9; m0 has it, and was not lost")
    assert_holds(QueueDense, anew("machine"))


# queue-whole-records


def put(history: H, upto: int, node: str = "master", f: str = "put") -> H:
    return history.append(node, history.end[node], upto, f)


def dispatch(history: H, hi: int, node: str = "master") -> H:
    return history.add("dispatch", node=node, hi=hi)


def entries(
    history: H, node: str, lo: int, hi: int, queue: str = "t/0", digest: int = 7, start: int | None = None
) -> H:
    return history.add(
        "entries", node=node, op=history.audits, queue=queue, lo=lo, hi=hi, digest=digest,
        queue_offset=lo if start is None else start, value=100 * hi,
    )  # fmt: skip


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


def test_bytes_that_make_no_record_whole_owe_nothing() -> None:
    history = dispatch(put(put(bare(), 100), 200), 200)
    half = put(dispatch(put(history, 100, "slave"), 100, "slave"), 150, "slave").after(5_000)
    assert_holds(QueueWholeRecords, dispatch(put(half, 200, "slave"), 200, "slave"))


def test_of_several_records_each_has_its_second() -> None:
    first = dispatch(put(put(bare(), 100), 200), 100)
    assert_broken(QueueWholeRecords, dispatch(first.after(1_001), 200), "had the record that ends at 200 for 1001 ms")


def test_a_slave_s_restart_changes_nothing_of_where_records_end() -> None:
    history = dispatch(put(put(bare(), 100), 200), 200).crash("slave").start("slave", 0)
    assert_broken(QueueWholeRecords, put(history, 200, "slave").after(1_001).mark("end"), "slave had the record")


def test_a_master_that_was_killed_as_it_wrote_its_last_record_told_nobody_of_it() -> None:
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


def test_what_a_slave_takes_in_while_it_is_being_stopped_may_have_been_dispatched_unheard() -> None:
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
    late = f"{node} had the record that ends at 100 for 2001 ms after the last fault there, and it was in no queue"
    assert_broken(QueueWholeRecords, dispatch(freed().after(2_001), 100, node), late)
    assert_broken(QueueWholeRecords, freed().after(2_001).mark("end"), late)
    assert_broken(QueueWholeRecords, freed().after(2_001).fault("kill", node), late)
    # Another fault there, or none of its time, excuses it as before.
    again = freed().after(500).fault("disk_full", node).after(60_000)
    assert_holds(QueueWholeRecords, dispatch(again, 100, node))
    assert_holds(QueueWholeRecords, dispatch(freed().pause(node, 5_000).after(2_000), 100, node))


def test_what_a_second_fault_meets_undispatched_is_owed_when_that_has_ended() -> None:
    held = put(bare().fault("dispatch_stall", "master"), 100).after(500).fault("lying_flush", "master")
    ended = held.fault("dispatch_stall", "master", "off").after(500).fault("lying_flush", "master", "off")
    assert_broken(QueueWholeRecords, ended.after(2_001).mark("end"), "for 2001 ms after the last fault there")


def test_what_expired_before_it_was_dispatched_is_owed_no_more() -> None:
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


def test_a_store_that_was_replaced_has_borders_of_its_own() -> None:
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
def test_queues_reach_as_far_as_their_node_said(node: str) -> None:
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
    # Where nobody read queues, none is missing.
    assert_vacuous(QueueWholeRecords, listed(bare().after(2_000), "master", *THREE))


def test_queues_of_a_node_that_is_down_or_rolled_are_not_asked_for() -> None:
    down = dispatch(put(bare(), 300), 300).after(2_000).crash("master")
    assert judged(QueueWholeRecords, entries(listed(down, "master", *THREE), "master", 0, 1).events).judged == 1
    rolled = put(put(bare(), 300), 300, "slave").crash("master", "machine").start("master", 100).after(2_000)
    assert_vacuous(QueueWholeRecords, entries(listed(rolled, "slave", *THREE), "slave", 0, 1))


def test_the_next_audit_ends_the_one_before() -> None:
    twice = entries(listed(audited("master", ("t/0", 0, 2)), "master", *THREE), "master", 0, 2)
    assert_broken(QueueWholeRecords, twice, "has no queue t/1", times=2)


def test_a_broken_log_s_queues_are_not_asked_for() -> None:
    history = listed(dispatch(put(bare(), 300), 300), "master", *THREE, status="broken")
    assert judged(QueueWholeRecords, entries(history, "master", 0, 1).events).verdict is Verdict.HOLDS


# queue-shows-dispatched


def pulled(history: H, *messages: tuple[str, int], high: int = 0, node: str = "master", phase: str = "ok") -> H:
    """A reader pulls t/0 from ``node``: messages with the log offsets behind them, and the queue's end as answered."""
    op = 900 + len(history.events)
    history.add("invoke", node=node, op=op, f="pull", queue="t/0", value=0)
    for message, hi in messages:
        history.add("deliver", node=node, op=op, message=message, queue="t/0", lo=hi - SIZE, hi=hi)
    return history.add(phase, node=node, op=op, f="pull", status="FOUND", queue="t/0", lo=0, hi=high)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_reader_sees_what_is_dispatched_and_nothing_that_waits(node: str) -> None:
    def lagging() -> H:
        history = put(answered(put(answered(bare(), "m0", 0, 0), 100), "m1", 100, 1), 200)
        if node == "slave":
            put(dispatch(history, 200), 200, "slave")
        return dispatch(history, 100, node)

    assert_holds(QueueShowsDispatched, pulled(lagging(), ("m0", 100), high=1, node=node))
    said = f"{node} delivered m1, which ends at 200 of its log; it had dispatched up to 100"
    assert_broken(QueueShowsDispatched, pulled(lagging(), ("m0", 100), ("m1", 200), high=1, node=node), said)
    shown = pulled(lagging(), ("m0", 100), high=2, node=node)
    assert_broken(QueueShowsDispatched, shown, f"{node} says that t/0 goes up to 1, which ends at 200")
    assert_broken(QueueShowsDispatched, dispatch(shown.after(1), 200, node), f"{node} says that t/0 goes up to 1")
    assert_holds(QueueShowsDispatched, pulled(dispatch(lagging(), 200, node), ("m1", 200), high=2, node=node))


def test_a_pull_may_be_answered_a_moment_before_the_broker_says_that_it_dispatched() -> None:
    def early(instant_ms: int) -> H:
        history = H().real(instant_ms) if instant_ms else H()
        history.config("master").config("slave").start("master").start("slave")
        return pulled(put(history, 100), ("m0", 100))

    assert_holds(QueueShowsDispatched, dispatch(early(0), 100))
    assert_holds(QueueShowsDispatched, dispatch(early(5).after(5), 100))
    assert_broken(QueueShowsDispatched, dispatch(early(5).after(6), 100), "master delivered m0")
    assert_broken(QueueShowsDispatched, dispatch(early(5).after(5), 50), "master delivered m0")
    assert_holds(QueueShowsDispatched, early(5).crash("master"))
    assert_broken(QueueShowsDispatched, early(5).after(6).crash("master"), "master delivered m0")


def test_what_a_start_found_is_dispatched_and_an_answer_from_before_says_nothing() -> None:
    assert_holds(QueueShowsDispatched, pulled(put(bare(), 100).crash("master").start("master"), ("m0", 100)))
    began = bare().start("master", 300).add("invoke", node="master", op=5, f="pull", queue="t/0", value=0)
    late = began.crash("master", "machine").start("master", 100)
    assert_vacuous(QueueShowsDispatched, late.add("deliver", node="master", op=5, message="m2", lo=200, hi=300))


def test_offsets_that_nobody_can_place_are_not_judged() -> None:
    lagging = dispatch(put(put(bare(), 100), 200), 100)
    assert_vacuous(QueueShowsDispatched, pulled(lagging, high=2))
    delayed = answered(dispatch(put(put(bare(), 100), 200), 100), "m1", 100, 1, detail='{"level": 3}')
    assert_vacuous(QueueShowsDispatched, pulled(delayed, high=2))
    twice = answered(answered(lagging, "m1", 100, 1), "m2", 300, 1)
    assert_vacuous(QueueShowsDispatched, pulled(twice, high=2))
    other = answered(bare(), "m1", 100, 1).crash("master").add("wipe", node="master", f="image").start("master", 100)
    assert_vacuous(QueueShowsDispatched, pulled(other, high=2))
    assert_vacuous(QueueShowsDispatched, pulled(answered(dispatch(put(bare(), 200), 100), "m1", 100, 1), phase="fail"))


# queue-derived-equal


def both(one: int, other: int, start: int | None = None) -> H:
    history = bare()
    history.audits += 1
    return entries(entries(history, "master", 0, 2, digest=one), "slave", 0, 2, digest=other, start=start)


def test_entries_are_the_same_on_both() -> None:
    assert_holds(QueueDerivedEqual, both(7, 7))
    assert_broken(QueueDerivedEqual, both(7, 8), "the entries of t/0 from 0 on are not the same on master and slave")
    assert_broken(QueueDerivedEqual, both(7, 7, start=1), "the entries of t/0 from 1 on are not the same")


@pytest.mark.parametrize(("f", "owes"), [("normal", False), ("abnormal", True)])
def test_a_node_that_cannot_know_that_its_disk_has_lied_is_left_out(f: str, owes: bool) -> None:
    def lied() -> H:
        history = dispatch(put(put(put(bare(), 100), 200), 300), 300)
        dispatch(put(history, 300, "slave"), 300, "slave").add("stop", node="slave")
        history.add("crash", node="slave", f="machine", value=300, status="lied")
        return history.add("start", node="slave", f=f, lo=0, hi=300).after(2_000)

    unlike = entries(entries(lied(), "master", 0, 2, digest=7), "slave", 0, 2, digest=8)
    lacking = entries(listed(lied(), "slave", *THREE), "slave", 0, 1, "t/1")
    if owes:
        assert_broken(QueueDerivedEqual, unlike, "are not the same on master and slave")
        assert_broken(QueueWholeRecords, lacking, "slave has no queue t/0")
    else:
        assert_vacuous(QueueDerivedEqual, unlike)
        assert_holds(QueueWholeRecords, lacking)


def test_what_one_node_holds_and_has_expired_on_the_other_is_not_compared() -> None:
    def began(at: int) -> H:
        history = bare().add("expire", node="master", lo=at)
        return entries(entries(history, "master", 0, 6, digest=7), "slave", 0, 2, digest=8)

    assert_vacuous(QueueDerivedEqual, began(200))
    assert_broken(QueueDerivedEqual, began(100), "are not the same on master and slave")


def test_queues_of_other_names_and_other_audits_are_not_compared() -> None:
    history = both(7, 7)
    entries(history, "master", 0, 1, "t/1", digest=5)
    history.audits += 1
    assert_holds(QueueDerivedEqual, entries(history, "slave", 0, 1, "t/1", digest=6))


def test_nodes_that_are_down_or_rolled_are_not_compared() -> None:
    down = bare().crash("slave")
    assert_vacuous(QueueDerivedEqual, entries(entries(down, "master", 0, 2), "slave", 0, 2, digest=8))
    rolled = put(put(bare(), 300), 300, "slave").crash("master", "machine").start("master", 100)
    assert_vacuous(QueueDerivedEqual, entries(entries(rolled, "master", 0, 2), "slave", 0, 2, digest=8))


def asked(history: H, one: int = 7, other: int = 7) -> H:
    history.audits += 1
    for node, digest in (("master", one), ("slave", other)):
        history.add("keys", node=node, op=history.audits, message="k0", digest=digest)
    return history


def dispatched(**settings: object) -> H:
    return dispatch(put(dispatch(put(pair(**settings), 100), 100), 100, "slave"), 100, "slave")


def test_the_index_answers_alike() -> None:
    assert_holds(QueueDerivedEqual, asked(dispatched()))
    assert_broken(
        QueueDerivedEqual, asked(dispatched(), 7, 8), "the key k0 leads to other messages on master than on slave"
    )
    rested = put(put(pair(), 100), 100, "slave").after(1_001)
    assert_broken(QueueDerivedEqual, asked(rested, 7, 8), "the key k0")


def test_the_index_is_not_asked_while_a_node_may_have_something_to_dispatch() -> None:
    assert_vacuous(QueueDerivedEqual, asked(put(dispatched(), 200), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(put(put(pair(), 100), 100, "slave").after(1_000), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(put(put(pair(), 100), 100, "slave").pause("slave", 5_000), 7, 8))
    assert_vacuous(QueueDerivedEqual, asked(dispatched().crash("slave").start("slave"), 7, 8))
    full = put(put(pair(), 100), 100, "slave").fault("disk_full", "slave").after(5_000)
    assert_vacuous(QueueDerivedEqual, asked(full, 7, 8))


@pytest.mark.parametrize("off", [False, "false"])
def test_a_node_without_an_index_is_not_asked(off: object) -> None:
    assert_vacuous(QueueDerivedEqual, asked(dispatched(messageIndexEnable=off), 7, 8))
