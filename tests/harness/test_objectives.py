"""RPO, RTO and catch-up of histories written by hand; each number can be another one."""

from __future__ import annotations

from pairproof.harness.rocketmq.objectives import Row, measure
from pairproof.harness.rocketmq.testing import H, pair
from pairproof.harness.testing import MS


def fault(history: H, name: str, node: str, op: int = 0, status: str = "on") -> H:
    return history.add("fault", node=node, op=op, f=name, status=status)


def only(history: H) -> Row:
    (row,) = measure(history.events)
    return row


def test_a_trial_without_a_loss_has_no_row() -> None:
    assert measure(pair().sent("m0").audit().events) == []


def test_rpo_is_what_no_slave_held_and_zero_if_all_was_held() -> None:
    held = only(pair().sent("m0").after(5).crash("master"))
    assert (held.answered, held.rpo_messages, held.rpo_bytes, held.rpo_ns) == (1, 0, 0, 0)
    bare = only(pair().sent("m0").put("m1").ok("m1").after(3).put("m2").ok("m2").after(4).crash("master"))
    assert (bare.answered, bare.rpo_messages, bare.rpo_bytes, bare.rpo_ns) == (3, 2, 200, 7 * MS)


def test_a_send_that_nobody_was_told_of_is_not_at_stake() -> None:
    row = only(pair().put("m0").crash("master"))
    assert (row.answered, row.rpo_messages) == (0, 0)
    late = pair().put("m0").crash("master").ok("m0").start("master").crash("master")
    assert [each.answered for each in measure(late.events)] == [0, 0]


def test_one_of_several_slaves_is_enough() -> None:
    history = pair().put("m0").ok("m0")
    assert only(history.crash("master")).rpo_messages == 1
    history = pair().put("m0").add("append", node="slave2", lo=0, hi=100, f="replicate").ok("m0").crash("master")
    assert only(history).rpo_messages == 0


def test_rpo_is_unknown_where_no_slave_s_log_was_seen() -> None:
    history = H().config("master").start("master").put("m0").ok("m0").crash("master")
    assert only(history).rpo_messages is None


def test_rto_ends_with_the_first_ok_of_a_send_that_began_later() -> None:
    history = pair().put("m0").after(1).crash("master").after(2).ok("m0").after(3).restart("master", 0)
    assert only(history).rto_ns is None, "an answer on its way says nothing of the time after"
    assert only(history.put("m1").after(4).ok("m1").put("m2").after(9).ok("m2")).rto_ns == 9 * MS


def test_a_refused_send_does_not_end_it() -> None:
    history = pair().crash("master").after(1).start("master").invoke("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE")
    assert only(history).rto_ns is None


def test_what_an_earlier_loss_took_is_not_counted_again() -> None:
    history = pair().sent("m0").put("m1").ok("m1").crash("master", "machine").restart("master", 100).crash("master")
    assert [(row.answered, row.rpo_messages) for row in measure(history.events)] == [(2, 1), (1, 0)]


def test_a_slave_with_a_history_of_its_own_holds_nothing_new_until_it_is_cut() -> None:
    history = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100)
    history.put("m2").ok("m2").crash("master")
    assert [row.rpo_messages for row in measure(history.events)] == [0, 1]
    healed = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100)
    healed.crash("slave").restart("slave", 100).sent("m2").crash("master")
    assert [row.rpo_messages for row in measure(healed.events) if row.node == "master"] == [0, 0]


def test_a_slave_s_crash_takes_the_bytes_that_it_says() -> None:
    history = pair().sent("m0").add("crash", node="slave", f="machine", value=40)
    assert only(history.crash("master")).rpo_messages == 1
    assert only(pair().sent("m0").crash("slave").crash("master")).rpo_messages == 0


def test_how_long_an_orderly_stop_took_is_no_loss_of_bytes() -> None:
    history = pair().sent("m0").add("stop", node="slave", value=40).add("stop", node="master", value=40)
    assert only(history).rpo_messages == 0
    again = pair().sent("m0").add("stop", node="master", value=40).restart("master", 100).crash("master")
    assert [row.answered for row in measure(again.events)] == [1, 1]


def test_a_wiped_slave_holds_nothing_and_an_older_image_what_it_reaches() -> None:
    for f, hi, missing in (("empty", 0, 2), ("image", 100, 1)):
        history = pair().sent("m0").sent("m1").stop("slave").add("wipe", node="slave", f=f, hi=hi)
        assert only(history.crash("master")).rpo_messages == missing


def test_what_retention_took_is_not_at_stake() -> None:
    history = pair().put("m0").ok("m0").put("m1").ok("m1").add("expire", node="master", lo=100).stop("master")
    row = only(history)
    assert (row.cause, row.answered, row.rpo_messages) == ("stop", 1, 1)


def test_a_row_names_cause_role_flush_mode_and_the_fault_on_the_node() -> None:
    history = fault(fault(pair(flushDiskType="SYNC_FLUSH"), "power_loss", "master"), "stall", "slave", 1)
    row = only(history.crash("master", "machine"))
    assert (row.node, row.cause, row.fault) == ("master", "machine", "power_loss")
    assert (row.role, row.flush) == ("SYNC_MASTER", "SYNC_FLUSH")
    ended = fault(fault(pair(), "power_loss", "master"), "power_loss", "master", status="off")
    assert only(ended.crash("master")).fault == "none"


def test_catch_up_lasts_until_the_slave_s_log_reaches_the_master_s() -> None:
    history = pair().sent("m0").crash("slave").put("m1").after(7).start("slave")
    assert only(history.after(2)).catch_up_ns is None
    row = only(history.replicate())
    assert (row.node, row.cause, row.catch_up_ns, row.rpo_messages) == ("slave", "process", 2 * MS, None)
    assert only(pair().sent("m0").crash("slave").after(7).start("slave")).catch_up_ns == 0


def test_a_slave_that_goes_down_again_has_not_caught_up() -> None:
    history = pair().crash("slave").put("m0").start("slave").crash("slave").start("slave").after(1).replicate()
    assert [row.catch_up_ns for row in measure(history.events)] == [None, MS]


def test_a_slave_that_holds_other_bytes_has_not_caught_up() -> None:
    history = pair().sent("m0").sent("m1").crash("slave").crash("master", "machine").restart("master", 100)
    history.start("slave")
    assert [row.catch_up_ns for row in measure(history.events) if row.node == "slave"] == [None]


def test_a_paused_slave_returns_when_it_goes_on() -> None:
    history = pair().add("pause", node="slave").put("m0").after(1).add("resume", node="slave").after(3).replicate()
    row = only(history)
    assert (row.cause, row.catch_up_ns) == ("pause", 3 * MS)


def test_losses_and_sends_of_another_broker_name_and_of_name_servers_are_none_of_the_pair_s() -> None:
    history = pair().sent("m0")
    for node in ("other", "names"):
        history.crash(node).add("start", node=node, f="empty", lo=0 if node == "other" else None)
    assert measure(history.events) == []
    call = {"node": "other", "process": 5, "op": 70, "f": "send", "message": "m9"}
    history.crash("master").add("invoke", **call, value=1).after(3)
    history.add("append", node="other", lo=0, hi=900, f="put", message="m9")
    row = only(history.add("ok", **call, status="PUT_OK", lo=0, hi=900))
    assert (row.answered, row.rpo_messages, row.rto_ns) == (1, 0, None)
    astray = history.add("invoke", **{**call, "node": "slave", "op": 71}).add(
        "ok", **{**call, "node": "slave", "op": 71}, status="PUT_OK", lo=900, hi=1_000
    )
    assert only(astray).rto_ns is None, "a slave that takes a send is not the master's return"
