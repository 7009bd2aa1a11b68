"""Tests of ``log-flushed-survives``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, pair, trio

from pairproof.harness.rocketmq.laws.storage.log_flushed_survives import LogFlushedSurvives
from pairproof.harness.rocketmq.laws.storage.log_grows import LogGrows

POOLED = {"transientStorePoolEnable": "true"}
BOTH = {"master": ["m0"], "slave": ["m0"]}


def power_loss(status: str = "PUT_OK", wait: bool = True, flush: str = "SYNC_FLUSH") -> H:
    answered = pair(flushDiskType=flush).put("m0", wait).replicate().ok("m0", status)
    return answered.crash("master", "machine").restart("master", 0)


@pytest.mark.parametrize("f", ["recovery", "final"])
def test_flushed_messages_survive_a_power_loss(f: str) -> None:
    assert_holds(LogFlushedSurvives, power_loss().audit(f, records=BOTH))
    assert_broken(
        LogFlushedSurvives, power_loss().audit(f, records={"slave": ["m0"]}), "m0 was on the master and is gone"
    )


def test_messages_that_expired_before_a_power_loss_are_not_lost() -> None:
    def expired(new_start: int) -> H:
        answered = pair(flushDiskType="SYNC_FLUSH").put("m0").replicate().ok("m0", "PUT_OK")
        gone = answered.add("expire", node="master", lo=new_start).crash("master", "machine").restart("master", 0)
        return gone.audit("recovery").audit("final")

    assert_broken(LogFlushedSurvives, expired(0), "m0 was on the master and is gone")
    assert_unbroken(LogFlushedSurvives, expired(100))


def test_messages_that_expired_with_their_answer_in_flight_are_not_lost() -> None:
    def expired(new_start: int) -> H:
        put = pair(flushDiskType="SYNC_FLUSH").put("m0").replicate().add("expire", node="master", lo=new_start)
        return put.ok("m0", "PUT_OK").crash("master", "machine").restart("master", 0).audit("recovery")

    assert_broken(LogFlushedSurvives, expired(0), "m0 was on the master and is gone")
    assert_unbroken(LogFlushedSurvives, expired(100))


def test_a_loss_is_reported_once() -> None:
    assert_broken(LogFlushedSurvives, power_loss().audit("recovery").audit("final"), "gone", times=1)


@pytest.mark.parametrize(
    ("status", "wait", "flush"),
    [
        ("PUT_OK", False, "SYNC_FLUSH"),
        ("PUT_OK", True, "ASYNC_FLUSH"),
        ("FLUSH_DISK_TIMEOUT", True, "SYNC_FLUSH"),
        ("FLUSH_SLAVE_TIMEOUT", True, "SYNC_FLUSH"),
        ("SLAVE_NOT_AVAILABLE", True, "SYNC_FLUSH"),
    ],
)
def test_nothing_else_was_promised_to_survive_a_power_loss(status: str, wait: bool, flush: str) -> None:
    assert_vacuous(LogFlushedSurvives, power_loss(status, wait, flush).audit())


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
def test_everything_stored_survives_a_killed_process(status: str) -> None:
    killed = pair().put("m0", wait=False).ok("m0", status).crash("master").start("master")
    assert_holds(LogFlushedSurvives, killed.audit(records=BOTH))
    killed = pair().put("m0", wait=False).ok("m0", status).crash("master").start("master")
    assert_broken(LogFlushedSurvives, killed.audit(), "gone after a process crash")


def test_a_killed_process_loses_its_transient_store_pool() -> None:
    def killed(**settings: str) -> H:
        return pair(**settings).put("m0").ok("m0", "SLAVE_NOT_AVAILABLE").crash("master").start("master").audit()

    assert_unbroken(LogFlushedSurvives, killed(**POOLED))
    assert_broken(LogFlushedSurvives, killed(), "gone after a process crash")
    sync = {**POOLED, "flushDiskType": "SYNC_FLUSH"}
    assert_broken(LogFlushedSurvives, killed(**sync), "gone after a process crash")
    assert_unbroken(LogFlushedSurvives, killed(**sync, rocketmqVersion="5.5.0"))


def test_messages_that_left_the_pool_survive_a_killed_process() -> None:
    def killed(committed: int) -> H:
        stored = pair(**POOLED).put("m0").ok("m0", "SLAVE_NOT_AVAILABLE").commit("master", committed)
        return stored.crash("master").start("master").audit()

    assert_unbroken(LogFlushedSurvives, killed(0))
    assert_broken(LogFlushedSurvives, killed(100), "m0 was on the master and is gone after a process crash")


def test_delivered_messages_had_left_the_pool() -> None:
    stored = pair(**POOLED).put("m0").ok("m0", "SLAVE_NOT_AVAILABLE").add("invoke", op=9, f="pull", node="master")
    stored.add("deliver", op=9, node="master", message="m0", lo=0, hi=100)
    assert_broken(LogFlushedSurvives, stored.crash("master").start("master").audit(), "m0")


def test_delivered_messages_survive_a_killed_process() -> None:
    read = (
        pair().put("m0").add("invoke", op=9, f="pull", node="master").add("deliver", op=9, node="master", message="m0")
    )
    assert_broken(LogFlushedSurvives, read.crash("master").start("master").audit(), "m0")


def test_everything_stored_survives_a_clean_stop() -> None:
    def stopped() -> H:
        return pair().put("m0", wait=False).ok("m0").stop("master").start("master")

    assert_holds(LogFlushedSurvives, stopped().audit(records=BOTH))
    assert_broken(LogFlushedSurvives, stopped().audit(), "gone after a clean stop")


def test_an_audit_at_the_slave_s_restart_lists_no_records_of_the_master() -> None:
    later = pair().sent("m0").crash("master").start("master").audit("recovery", records=BOTH)
    later.crash("slave").start("slave").audit("recovery", records={"slave": ["m0"]})
    assert_holds(LogFlushedSurvives, later)


def test_an_answer_in_flight_during_a_power_loss_promises_only_flushed_data() -> None:
    for flush, check in (("ASYNC_FLUSH", assert_vacuous), ("SYNC_FLUSH", None)):
        late = pair(flushDiskType=flush).put("m0").crash("master", "machine").restart("master", 0).ok("m0")
        late.crash("master").start("master").audit()
        if check is not None:
            check(LogFlushedSurvives, late)
        else:
            assert_broken(LogFlushedSurvives, late, "m0")


def test_without_a_crash_nothing_is_at_stake() -> None:
    assert_vacuous(LogFlushedSurvives, pair().sent("m0").audit())


def test_the_audit_of_another_slave_lists_none_of_the_master_s_records() -> None:
    def killed() -> H:
        return trio().sent("m0").crash("master").start("master")

    listed = killed().audit(records={"master": ["m0"], "slave": ["m0"]})
    assert_holds(LogFlushedSurvives, listed.audit(nodes="master slave2", compare="master"))
    assert_broken(LogFlushedSurvives, killed().audit().audit(nodes="master slave2", compare="master"), "m0 was on")


def test_a_master_s_lost_store_takes_every_promise_with_it() -> None:
    def lost(f: str | None) -> H:
        answered = pair(flushDiskType="SYNC_FLUSH").sent("m0").put("m1")
        answered = answered.wipe("master", f) if f else answered.crash("master")
        return answered.start("master", 0).ok("m1")

    assert_vacuous(LogFlushedSurvives, lost("empty").audit())
    assert_vacuous(LogFlushedSurvives, lost("image").audit())
    assert_broken(LogFlushedSurvives, lost(None).audit(), "m0", times=2)


def test_a_lying_disk_may_lose_promised_messages() -> None:
    def lost(status: str | None) -> H:
        history = pair(flushDiskType="SYNC_FLUSH").sent("m0").flush("master")
        history.add("crash", node="master", f="machine", status=status, value=100)
        return history.restart("master", 0)

    assert_vacuous(LogFlushedSurvives, lost("lied").audit())
    assert_broken(LogFlushedSurvives, lost(None).audit(), "m0 was on the master")
    assert_holds(LogGrows, lost("lied"))
    assert_broken(LogGrows, lost(None), "outlive a machine crash")


def test_expired_messages_are_not_lost() -> None:
    def killed() -> H:
        return pair().sent("m0").sent("m1").add("expire", node="master", lo=100).crash("master").start("master", lo=100)

    assert_holds(LogFlushedSurvives, killed().audit(records={"master": ["m1"]}, start=100))
    assert_broken(LogFlushedSurvives, killed().audit(start=100), "m1 was on the master")
