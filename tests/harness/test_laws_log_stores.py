"""What laws of the log and of convergence make of several slaves, replaced stores, expired files, lies and pauses."""

from __future__ import annotations

import pytest

from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.liveness.live_converges import LiveConverges
from pairproof.harness.rocketmq.laws.replication.ha_ack_identity import HaAckIdentity
from pairproof.harness.rocketmq.laws.replication.ha_divergence_refused import HaDivergenceRefused
from pairproof.harness.rocketmq.laws.replication.ha_mismatch_closes import HaMismatchCloses
from pairproof.harness.rocketmq.laws.replication.ha_start_offset import HaStartOffset
from pairproof.harness.rocketmq.laws.storage.log_flushed_survives import LogFlushedSurvives
from pairproof.harness.rocketmq.laws.storage.log_grows import LogGrows
from pairproof.harness.rocketmq.laws.storage.log_prefix import LogPrefix
from pairproof.harness.rocketmq.laws.storage.log_records_whole import LogRecordsWhole
from pairproof.harness.rocketmq.laws.storage.log_slave_behind import LogSlaveBehind
from pairproof.harness.rocketmq.testing import FILE, H, pair, trio
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

DIFFERENT = {"master": 1, "slave": 2}
STORES = pytest.mark.parametrize("f", ["empty", "image"])


# Several slaves.


def test_the_audit_of_another_slave_lists_none_of_the_master_s_records() -> None:
    def killed() -> H:
        return trio().sent("m0").crash("master").start("master")

    listed = killed().audit(records={"master": ["m0"], "slave": ["m0"]})
    assert_holds(LogFlushedSurvives, listed.audit(nodes="master slave2", compare="master"))
    assert_broken(LogFlushedSurvives, killed().audit().audit(nodes="master slave2", compare="master"), "m0 was on")


def settled(mark: str = "unsettled", **hi: int) -> H:
    ends = {"master": 300, "slave": 300, "slave2": 300, **hi}
    three = trio().mark("heal").after(90_000).mark(mark)
    return three.audit(nodes="master slave", hi=ends).audit(nodes="master slave2", hi=ends, compare="master")


def test_each_slave_has_to_converge() -> None:
    assert_broken(LiveConverges, settled(slave2=200), "slave2 did not catch up in 90000 ms, and nobody said why")
    assert_broken(LiveConverges, settled(slave=200, slave2=200), "slave did not catch up", times=2)
    assert_broken(LiveConverges, settled(), "did not come to rest")


def test_naming_one_slave_excuses_no_other() -> None:
    def named(**hi: int) -> H:
        three = trio().put("m0").put("m1").mark("heal").connect("slave").report(900, peer="slave")
        three.add("diverged", node="master", link=three.link, hi=900, value=200).close(link="ha:1")
        three.after(90_000).mark("unsettled").audit(nodes="master slave", hi={"slave": 900})
        return three.audit(nodes="master slave2", hi={"slave2": 200, **hi}, compare="master")

    assert_holds(LiveConverges, named())
    assert_broken(LiveConverges, named(slave2=100), "slave2 did not catch up")


def test_a_rollback_of_one_slave_excuses_no_other() -> None:
    three = trio().put("m0").append("slave2", 0, 100).put("m1").append("slave", 0, 200)
    three.crash("master", "machine").restart("master", 100)
    differ = {"master": 1, "slave": 2, "slave2": 2}
    assert_broken(LogPrefix, three.audit(nodes="master slave2", digests=differ), "of slave2 is not what the master")
    three.connect("slave2").report(100, peer="slave2").append("slave2", 100, 200)
    assert_broken(LogSlaveBehind, three, "slave2's log reaches 200, the master's 100")


def test_a_slave_that_is_ahead_of_what_its_master_lost_may_never_come_to_rest() -> None:
    def settled(hi: int) -> H:
        history = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", hi)
        history.mark("heal").after(90_000).mark("unsettled")
        return history.audit(nodes="master slave", hi={"master": 300, "slave": 300})

    assert_broken(LiveConverges, settled(200), "did not come to rest")
    assert_holds(LiveConverges, settled(100))


# Replaced stores.


@STORES
@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_replaced_store_is_a_new_log(node: str, f: str) -> None:
    replaced = pair().sent("m0").sent("m1").wipe(node, f)
    assert_holds(LogGrows, replaced.start(node, 0).append(node, 0, 100).append(node, 100, 200))
    unreplaced = pair().sent("m0").sent("m1").crash(node)
    assert_broken(LogGrows, unreplaced.restart(node, 0), "outlive a process crash")


def test_after_a_replacement_restarts_are_judged_again() -> None:
    again = pair().sent("m0").wipe("slave").start("slave", 0).append("slave", 0, 100).crash("slave")
    assert_broken(LogGrows, again.restart("slave", 0), "records up to 100 outlive a process crash")


@STORES
def test_slaves_that_hold_more_than_a_replaced_master_are_rolled_back(f: str) -> None:
    def replaced() -> H:
        return pair().sent("m0").sent("m1").wipe("master", f).start("master", 100)

    assert_vacuous(LogPrefix, replaced().put("m2").audit(digests=DIFFERENT, chunk=(100, 200)))
    assert_broken(LogPrefix, replaced().put("m2").audit(digests=DIFFERENT), "[0, 100) of slave")
    assert_broken(LogSlaveBehind, pair().sent("m0").wipe("slave", f).start("slave", 0).append("slave", 0, 101), "101")


def test_an_older_state_may_hold_what_an_earlier_crash_took() -> None:
    """m1 was lost and m2 written in its place; then a state with m1 comes back, on either node."""

    def lost() -> H:
        two = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
        two.crash("slave", "machine").restart("slave", 100)
        return two.connect().report(100).sent("m2")

    def seen(history: H, lo: int) -> H:
        return history.audit(digests=DIFFERENT, chunk=(lo, lo + 100))

    for node in ("slave", "master"):
        back = lost().wipe(node, "image").start(node, 200)
        assert_vacuous(LogPrefix, seen(back, 100))
        assert_broken(LogPrefix, seen(lost().wipe(node, "image").start(node, 200), 0), "[0, 100) of slave")
    assert_broken(LogPrefix, seen(lost(), 100), "[100, 200) of slave")


def test_a_master_s_lost_store_takes_every_promise_with_it() -> None:
    def lost(f: str | None) -> H:
        answered = pair(flushDiskType="SYNC_FLUSH").sent("m0").put("m1")
        answered = answered.wipe("master", f) if f else answered.crash("master")
        return answered.start("master", 0).ok("m1")

    assert_vacuous(LogFlushedSurvives, lost("empty").audit())
    assert_vacuous(LogFlushedSurvives, lost("image").audit())
    assert_broken(LogFlushedSurvives, lost(None).audit(), "m0", times=2)


def test_a_disk_that_lied_takes_what_it_promised() -> None:
    def lost(status: str | None) -> H:
        history = pair(flushDiskType="SYNC_FLUSH").sent("m0").flush("master")
        history.add("crash", node="master", f="machine", status=status, value=100)
        return history.restart("master", 0)

    assert_vacuous(LogFlushedSurvives, lost("lied").audit())
    assert_broken(LogFlushedSurvives, lost(None).audit(), "m0 was on the master")
    assert_holds(LogGrows, lost("lied"))
    assert_broken(LogGrows, lost(None), "outlive a machine crash")


def test_a_rolled_back_slave_s_log_is_whole_below_the_common_point() -> None:
    def rolled(whole_to: int) -> H:
        two = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100).put("m2")
        return two.audit(broken="slave", hi={"slave": 200}, whole_to=whole_to)

    assert judged(LogRecordsWhole, rolled(100).events).broken == 0
    assert_broken(LogRecordsWhole, rolled(50), "slave's log stops being whole at 50")


# Expired files.


def test_what_expired_is_not_lost() -> None:
    def killed() -> H:
        return pair().sent("m0").sent("m1").add("expire", node="master", lo=100).crash("master").start("master", lo=100)

    assert_holds(LogFlushedSurvives, killed().audit(records={"master": ["m1"]}, start=100))
    assert_broken(LogFlushedSurvives, killed().audit(start=100), "m1 was on the master")


def test_a_report_from_before_the_expired_files_gets_nothing() -> None:
    def asks(at: int, lo: int) -> H:
        two = pair().put("m0").put("m1").add("expire", node="master", lo=100).close().connect().report(at)
        return two.frame(lo, lo + 10)

    assert_holds(HaStartOffset, asks(100, 100))
    assert_broken(HaStartOffset, asks(50, 50), "outside the log")


# Pauses, push modes, promises that wait for nobody.


def test_a_node_that_was_killed_while_it_was_paused_stands_still_until_it_starts() -> None:
    killed = pair().add("pause", node="slave").crash("slave").after(5).add("resume", node="slave").after(5)
    judge = Judge((LogGrows,))
    (known,) = judge.models
    judge.feed_all(killed.events)
    assert known.trouble.is_still("slave")
    for each in killed.start("slave").events[-1:]:
        judge.feed(each)
    assert not known.trouble.is_still("slave")
    assert known.trouble.still_ns("slave", 0, killed.t) == 10_000_000


def test_a_slave_that_stands_still_closes_when_it_goes_on() -> None:
    def mismatch(paused: bool) -> H:
        two = pair().put("m0").frame(50, 60).frame(0, 100).frame(300, 310, "s")
        if paused:
            two.add("pause", node="slave").after(9_000).add("resume", node="slave")
        return two.after(999).mark("end") if paused else two.after(1_001).mark("end")

    assert_holds(HaMismatchCloses, mismatch(True))
    assert_broken(HaMismatchCloses, mismatch(False), "kept the connection")


def test_a_copy_of_flushed_bytes_starts_at_the_last_flushed_file() -> None:
    def joins(pushes: str, lo: int) -> H:
        history = H().config("master", haPushes=pushes).config("slave").start("master").start("slave")
        for at in range(0, FILE + 500, 100):
            history.append("master", at, at + 100, "put", f"m{at}")
        return history.flush("master", 500).connect().report(0).frame(lo, lo + 100)

    assert_holds(HaStartOffset, joins("flushed", 0))
    assert_holds(HaStartOffset, joins("written", FILE))
    assert_broken(HaStartOffset, joins("written", 0), "starts at 0")


@pytest.mark.parametrize("law", [HaAckIdentity, HaDivergenceRefused])
def test_a_master_that_waits_for_nobody_rests_no_answer_on_a_slave(law: type[Law]) -> None:
    def claimed(**settings: object) -> H:
        two = pair(**settings).connect("hostile").report(900, peer="hostile")
        two.add("diverged", node="master", link=two.link, hi=900, value=0)
        return two.put("m0").ok("m0")

    assert_broken(law, claimed(), "m0")
    assert judged(law, claimed(rocketmqVersion="5.5.0").events).broken == 0
