"""The laws of logs and stores, each on histories that keep it and that break it in one way."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.storage.log_flush_prompt import LogFlushPrompt
from pairproof.harness.rocketmq.laws.storage.log_flushed_survives import LogFlushedSurvives
from pairproof.harness.rocketmq.laws.storage.log_grows import LogGrows
from pairproof.harness.rocketmq.laws.storage.log_prefix import LogPrefix
from pairproof.harness.rocketmq.laws.storage.log_records_whole import LogRecordsWhole
from pairproof.harness.rocketmq.laws.storage.log_slave_behind import LogSlaveBehind
from pairproof.harness.rocketmq.testing import H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged


def rolled_back() -> H:
    """The master lost m1, which its slave holds, and wrote something else in its place."""
    lost = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
    return lost.put("m2").put("m3")


DIFFERENT = {"master": 7, "slave": 8}

# log-prefix


@pytest.mark.parametrize("order", ["master slave", "slave master"])
def test_equal_chunks_keep_the_prefix_and_unequal_ones_break_it(order: str) -> None:
    assert_holds(LogPrefix, pair().sent("m0").audit(nodes=order))
    assert_broken(LogPrefix, pair().sent("m0").audit(nodes=order, digests=DIFFERENT), "[0, 100) of slave")


def test_chunks_of_different_audits_are_not_compared() -> None:
    apart = pair().sent("m0").audit(nodes="master").audit(nodes="slave", digests=DIFFERENT)
    assert_vacuous(LogPrefix, apart)


def test_a_master_that_rolled_back_excuses_the_slave_that_holds_more_above_the_common_part_only() -> None:
    for chunk in ((100, 200), (50, 150)):
        assert_vacuous(LogPrefix, rolled_back().audit(digests=DIFFERENT, chunk=chunk))
    assert_holds(LogPrefix, rolled_back().audit())
    assert_broken(LogPrefix, rolled_back().audit(digests=DIFFERENT), "[0, 100) of slave")


def test_a_rollback_above_the_slave_s_end_excuses_nothing() -> None:
    lagging = pair().sent("m0").put("m1").crash("master", "machine").restart("master", 100)
    assert_broken(LogPrefix, lagging.audit(digests=DIFFERENT), "not what the master holds")


def test_a_slave_that_lost_its_extra_bytes_or_was_wiped_is_held_to_the_promise_again() -> None:
    recovered = rolled_back().crash("slave", "machine").restart("slave", 100)
    assert_broken(LogPrefix, recovered.audit(digests=DIFFERENT), "not what the master holds")
    wiped = rolled_back().crash("slave").add("wipe", node="slave").start("slave", 0)
    assert_broken(LogPrefix, wiped.audit(digests=DIFFERENT), "not what the master holds")


def test_bytes_under_way_from_a_dead_master_that_lost_them_are_a_rollback_too() -> None:
    late = pair().sent("m0").put("m1").frame(100, 200, "m").crash("master", "machine").restart("master", 100)
    late.frame(100, 200, "s").append("slave", 100, 200)
    assert_vacuous(LogPrefix, late.put("m2").audit(digests=DIFFERENT, chunk=(100, 200)))


def test_a_node_that_is_down_is_not_observed() -> None:
    assert_vacuous(LogPrefix, pair().sent("m0").crash("master", "machine").audit(digests=DIFFERENT))


# log-slave-behind


def test_a_slave_with_as_much_as_the_master_is_behind_and_one_byte_more_is_ahead() -> None:
    assert_holds(LogSlaveBehind, pair().put("m0").append("slave", 0, 100))
    assert_broken(LogSlaveBehind, pair().put("m0").append("slave", 0, 101), "reaches 101, the master's 100")


def test_a_slave_without_a_trace_is_judged_by_its_reports() -> None:
    assert_holds(LogSlaveBehind, pair().put("m0").report(100))
    assert_broken(LogSlaveBehind, pair().put("m0").report(101), "reaches 101")


@pytest.mark.parametrize("order", ["master slave", "slave master"])
def test_audits_show_a_slave_ahead(order: str) -> None:
    assert_holds(LogSlaveBehind, bare().audit(nodes=order, hi={"slave": 100, "master": 100}))
    assert_broken(LogSlaveBehind, bare().audit(nodes=order, hi={"slave": 100}), "reaches 100, the master's 0")


def test_an_empty_log_that_begins_beyond_the_master_s_end_holds_nothing() -> None:
    ended = bare().audit(nodes="master", hi={"master": 1_017})
    empty = ended.add("audit", node="slave", op=ended.audits, f="final", lo=4_096, hi=4_096, status="whole")
    assert_vacuous(LogSlaveBehind, empty)
    ahead = bare().audit(hi={"slave": 4_196, "master": 4_096}, start=4_096)
    assert_broken(LogSlaveBehind, ahead, "reaches 4196, the master's 4096")


def test_a_slave_may_be_ahead_of_a_master_that_rolled_back_only() -> None:
    assert judged(LogSlaveBehind, rolled_back().audit(hi={"slave": 500}).events).verdict is Verdict.HOLDS
    killed = pair().sent("m0").crash("master").start("master")
    assert_broken(LogSlaveBehind, killed.audit(hi={"slave": 500}), "reaches 500")


def test_bytes_under_way_from_a_dead_master_that_lost_them_may_reach_beyond() -> None:
    late = pair().sent("m0").put("m1").frame(100, 200, "m").crash("master", "machine").restart("master", 100)
    assert_holds(LogSlaveBehind, late.frame(100, 200, "s").append("slave", 100, 200).audit())


def test_strangers_claims_are_no_log() -> None:
    assert_vacuous(LogSlaveBehind, bare().connect("hostile").report(500, peer="hostile"))


# log-records-whole


def test_a_recovered_log_must_be_whole() -> None:
    again = pair().sent("m0").crash("slave").restart("slave", 100)
    assert_holds(LogRecordsWhole, again.audit("recovery"))
    assert_broken(LogRecordsWhole, again.audit("recovery", broken="slave"), "slave's log stops being whole at 100")


def test_a_running_slave_may_hold_half_a_record() -> None:
    half = pair().put("m0").replicate(60).crash("master").restart("master", 100)
    assert_holds(LogRecordsWhole, half.audit("recovery", broken="slave"))
    assert_holds(LogRecordsWhole, half.audit("final", broken="slave"))


def test_at_the_end_the_master_is_whole_and_so_is_a_slave_that_ends_with_it() -> None:
    done = pair().sent("m0")
    assert_holds(LogRecordsWhole, done.audit())
    assert_broken(LogRecordsWhole, pair().sent("m0").audit(broken="master"), "master's log")
    assert_broken(LogRecordsWhole, pair().sent("m0").audit(broken="slave"), "slave's log")


def test_a_rolled_back_slave_s_borders_are_lost() -> None:
    assert_holds(LogRecordsWhole, rolled_back().replicate().audit(broken="slave"))


def test_a_node_that_is_down_owes_no_whole_log() -> None:
    down = pair().sent("m0").crash("master", "machine")
    assert_vacuous(LogRecordsWhole, down.audit("recovery", nodes="master", broken="master"))


# log-flushed-survives

BOTH = {"master": ["m0"], "slave": ["m0"]}


def power_loss(status: str = "PUT_OK", wait: bool = True, flush: str = "SYNC_FLUSH") -> H:
    answered = pair(flushDiskType=flush).put("m0", wait).replicate().ok("m0", status)
    return answered.crash("master", "machine").restart("master", 0)


@pytest.mark.parametrize("f", ["recovery", "final"])
def test_what_is_flushed_survives_a_power_loss(f: str) -> None:
    assert_holds(LogFlushedSurvives, power_loss().audit(f, records=BOTH))
    assert_broken(
        LogFlushedSurvives, power_loss().audit(f, records={"slave": ["m0"]}), "m0 was on the master and is gone"
    )


def test_what_expired_before_a_power_loss_is_not_lost_by_it() -> None:
    def expired(new_start: int) -> H:
        answered = pair(flushDiskType="SYNC_FLUSH").put("m0").replicate().ok("m0", "PUT_OK")
        gone = answered.add("expire", node="master", lo=new_start).crash("master", "machine").restart("master", 0)
        return gone.audit("recovery").audit("final")

    assert_broken(LogFlushedSurvives, expired(0), "m0 was on the master and is gone")
    assert judged(LogFlushedSurvives, expired(100).events).broken == 0


def test_what_expired_while_its_answer_was_on_its_way_is_not_lost_by_a_power_loss() -> None:
    def expired(new_start: int) -> H:
        put = pair(flushDiskType="SYNC_FLUSH").put("m0").replicate().add("expire", node="master", lo=new_start)
        return put.ok("m0", "PUT_OK").crash("master", "machine").restart("master", 0).audit("recovery")

    assert_broken(LogFlushedSurvives, expired(0), "m0 was on the master and is gone")
    assert judged(LogFlushedSurvives, expired(100).events).broken == 0


def test_a_loss_is_told_once() -> None:
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


def test_what_the_master_delivered_survives_a_killed_process() -> None:
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


def test_an_answer_that_was_under_way_during_a_power_loss_promises_only_what_was_flushed() -> None:
    for flush, check in (("ASYNC_FLUSH", assert_vacuous), ("SYNC_FLUSH", None)):
        late = pair(flushDiskType=flush).put("m0").crash("master", "machine").restart("master", 0).ok("m0")
        late.crash("master").start("master").audit()
        if check is not None:
            check(LogFlushedSurvives, late)
        else:
            assert_broken(LogFlushedSurvives, late, "m0")


def test_without_a_crash_nothing_is_at_stake() -> None:
    assert_vacuous(LogFlushedSurvives, pair().sent("m0").audit())


LOG_LAWS = (LogPrefix, LogSlaveBehind, LogGrows, LogRecordsWhole, LogFlushedSurvives)


@pytest.mark.parametrize("law", LOG_LAWS, ids=lambda law: law.id)
def test_log_laws_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())


# log-flush-prompt


def written(**settings: object) -> H:
    """A master that has written 100 bytes, and had time to start; files are of 1,000 bytes."""
    return H().config("master", mappedFileSizeCommitLog=1_000, **settings).start("master").put("m0")


def test_what_is_written_is_durable_after_the_thorough_interval_at_the_latest() -> None:
    assert_holds(LogFlushPrompt, written().after(11_500).flush("master"))
    assert_broken(
        LogFlushPrompt, written().after(11_501).flush("master"), "up to 100 for 11501 ms; that is due within 11"
    )
    assert_broken(LogFlushPrompt, written().after(11_501).mark("end"), "master has not flushed its log up to 100")
    assert_broken(LogFlushPrompt, written().after(11_501).crash("master"), "master has not flushed its log up to 100")


def test_a_flush_of_a_part_leaves_the_rest_waiting() -> None:
    def rest() -> H:
        return written().after(1).put("m1").after(6_000).flush("master", 100).after(5_500)

    assert_holds(LogFlushPrompt, rest().flush("master", 200))
    assert_broken(LogFlushPrompt, rest().after(1).flush("master", 200), "up to 200 for 11501 ms")


def test_with_synchronous_flushes_it_is_durable_at_once() -> None:
    assert_holds(LogFlushPrompt, written(flushDiskType="SYNC_FLUSH").after(1_000).flush("master"))
    assert_broken(LogFlushPrompt, written(flushDiskType="SYNC_FLUSH").after(1_001).flush("master"), "within 1000 ms")


def test_each_file_before_it_takes_another_look() -> None:
    def far() -> H:
        story = written(flushCommitLogThoroughInterval=0)
        for number in range(1, 21):
            story.put(f"m{number}")
        return story.flush("master", 1_000)

    assert_holds(LogFlushPrompt, far().after(2_000).flush("master"))
    assert_broken(LogFlushPrompt, far().after(2_001).flush("master"), "within 2000 ms")


def test_a_node_that_was_paused_or_whose_disk_had_trouble_is_not_late() -> None:
    paused = written().pause("master", 5_000).after(11_000).flush("master")
    assert_holds(LogFlushPrompt, paused)
    assert_holds(LogFlushPrompt, written().fault("stall_disk", "master").after(20_000).flush("master"))
    again = written().crash("master").restart("master", 100).after(20_000)
    assert_vacuous(LogFlushPrompt, again.mark("end"))


def test_what_waits_behind_a_flush_that_a_fault_held_up_waits_from_then_on() -> None:
    def behind(ms: int) -> H:
        slow = written(flushDiskType="SYNC_FLUSH").fault("slow_disk", "master").fault("slow_disk", "master", "off")
        slow.after(1).put("m1").after(1_500).flush("master", 100)
        return slow.after(ms).flush("master", 200)

    assert_holds(LogFlushPrompt, behind(1_000))
    assert_broken(LogFlushPrompt, behind(1_001), "up to 200 for 1001 ms")


def test_where_time_is_real_a_disk_may_be_slow() -> None:
    def real(ms: int) -> H:
        story = H().add("lab", f="process", value=0, detail='{"instantNs": 1000000}')
        story.recorder.events += written(flushDiskType="SYNC_FLUSH").after(ms).flush("master").events
        return story

    assert_holds(LogFlushPrompt, real(6_000))
    assert_broken(LogFlushPrompt, real(6_001), "within 6000 ms")
