"""``log-grows`` on histories that keep it and that break it in one way: appends, cuts, and what a restart must keep."""

import pytest
from histories import FILE, H, Verdict, assert_broken, assert_holds, bare, blind, pair
from histories.stores import rolled_back

from pairproof.harness.event_types.node import UNKNOWN
from pairproof.harness.judging.judge import Judge
from pairproof.harness.rocketmq.laws.storage.log_grows import LogGrows


def test_appends_at_the_end_make_a_log_grow() -> None:
    assert_holds(LogGrows, pair().put("m0").append("slave", 0, 60).append("slave", 60, 100))


@pytest.mark.parametrize("lo", [50, 150])
@pytest.mark.parametrize("node", ["master", "slave"])
def test_an_append_elsewhere_is_caught(node: str, lo: int) -> None:
    astray = pair().append(node, 0, 100).append(node, lo, lo + 100)
    assert_broken(LogGrows, astray, f"{node} appended [{lo}, {lo + 100}), its log ended at 100")


def test_an_empty_slave_may_start_anywhere_and_an_empty_master_may_not() -> None:
    assert_holds(LogGrows, bare().append("slave", FILE, FILE + 50).append("slave", FILE + 50, FILE + 60))
    assert_broken(LogGrows, bare().append("master", FILE, FILE + 50), "its log ended at 0")


def test_recovery_may_cut_a_log_between_records() -> None:
    assert_holds(LogGrows, pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100))
    part = pair().put("m0").put("m1").replicate(150)
    assert_holds(LogGrows, part.crash("slave").restart("slave", 100))
    assert_holds(LogGrows, pair().put("m0").replicate().crash("slave", "machine").restart("slave", 0))


def test_a_cut_in_the_middle_of_a_record_is_caught() -> None:
    torn = pair().put("m0").put("m1").replicate(150).crash("slave", "machine")
    assert_broken(LogGrows, torn.restart("slave", 120), "middle of a record")


def test_a_log_that_is_shorter_without_a_cut_is_caught() -> None:
    lost = pair().sent("m0").sent("m1").crash("master", "machine").start("master", 100)
    assert_broken(LogGrows, lost, "instead of 200, without a cut event")
    assert_broken(LogGrows, lost.put("m2"), "instead of 200, without a cut event")


def test_a_running_node_never_truncates_its_log() -> None:
    assert_broken(LogGrows, pair().sent("m0").add("cut", node="master", lo=0, hi=100), "by its running node")


def test_a_log_may_come_back_longer_than_its_last_trace() -> None:
    assert_holds(LogGrows, pair().sent("m0").crash("master").start("master", 200))


NODES = pytest.mark.parametrize("node", ["master", "slave"])


@NODES
@pytest.mark.parametrize("end", ["crash", "stop"])
def test_a_process_that_ends_takes_no_record_with_it(node: str, end: str) -> None:
    def down() -> H:
        two = pair().sent("m0").sent("m1")
        return two.stop(node) if end == "stop" else two.crash(node)

    assert_holds(LogGrows, down().restart(node, 200))
    how = "clean stop" if end == "stop" else "process crash"
    for left in (100, 0):
        assert_broken(LogGrows, down().restart(node, left), f"records up to 200 outlive a {how}")


def test_half_a_record_does_not_outlive_a_process_and_whole_ones_before_it_do() -> None:
    def half() -> H:
        return pair().put("m0").put("m1").replicate(150).crash("slave")

    assert_holds(LogGrows, half().restart("slave", 100))
    assert_broken(LogGrows, half().restart("slave", 0), "records up to 100 outlive a process crash")


@NODES
def test_a_power_loss_removes_only_unflushed_bytes(node: str) -> None:
    def down() -> H:
        return pair().sent("m0").flush(node).sent("m1").crash(node, "machine")

    assert_holds(LogGrows, down().restart(node, 200))
    assert_holds(LogGrows, down().restart(node, 100))
    assert_broken(LogGrows, down().restart(node, 0), "records up to 100 outlive a machine crash")
    never_flushed = pair().sent("m0").crash(node, "machine")
    assert_holds(LogGrows, never_flushed.restart(node, 0))


def test_a_flush_that_ended_inside_a_record_saved_the_records_before_it() -> None:
    part = pair().put("m0").put("m1").replicate(150).flush("slave").replicate(200).crash("slave", "machine")
    assert_holds(LogGrows, part.restart("slave", 100))


def test_without_recorded_flushes_a_power_loss_may_remove_everything() -> None:
    lost = pair().sent("m0").flush("slave").crash("slave", "machine").restart("slave", 0)
    assert blind(LogGrows, lost, "flush") is Verdict.HOLDS
    assert_broken(LogGrows, lost, "outlive a machine crash")


def test_a_power_loss_after_the_process_was_gone_hurts_the_store_too() -> None:
    def both(first: str) -> H:
        one = pair().sent("m0")
        one = one.stop("slave") if first == "stop" else one.crash("slave")
        return one.crash("slave", "machine").restart("slave", 0)

    assert_holds(LogGrows, both("kill"))
    assert_broken(LogGrows, both("stop"), "outlive a machine crash")


def test_a_stop_that_was_cut_short_saves_nothing() -> None:
    hit = pair().sent("m0").crash("slave", "machine").stop("slave").restart("slave", 0)
    assert_holds(LogGrows, hit)


def test_recovered_records_are_durable() -> None:
    twice = pair().sent("m0").crash("slave").restart("slave", 100).crash("slave", "machine")
    assert_broken(LogGrows, twice.restart("slave", 0), "records up to 100 outlive a machine crash")


def test_what_rocketmq_recovered_is_durable_only_after_a_flush() -> None:
    def again(flushed: bool) -> H:
        killed = pair().sent("m0").crash("slave")
        back = killed.add("start", node="slave", incarnation=2, f=UNKNOWN, lo=0, hi=100)
        return (back.flush("slave") if flushed else back).crash("slave", "machine")

    assert_holds(LogGrows, again(flushed=False).restart("slave", 0))
    assert_broken(LogGrows, again(flushed=True).restart("slave", 0), "records up to 100 outlive a machine crash")


def test_a_filler_that_nothing_follows_may_be_dropped() -> None:
    assert_holds(
        LogGrows, bare().put("m0").append("master", 100, FILE, "filler").crash("master").restart("master", 100)
    )
    filled = bare().put("m0").append("master", 100, FILE, "filler").put("m1").crash("master")
    assert_broken(LogGrows, filled.restart("master", 100), "records up to 1100")


def test_a_slave_need_not_have_records_from_before_its_log_start() -> None:
    def late() -> H:
        joined = bare().put("m0").append("master", 100, FILE, "filler").put("m1").flush("master").connect().report(0)
        joined.frame(FILE, FILE + 100).append("slave", FILE, FILE + 100)
        return joined

    assert_holds(LogGrows, late().crash("slave", "machine").restart("slave", 0))
    assert_broken(LogGrows, late().crash("slave").restart("slave", 0), "records up to 1100")


def test_of_a_slave_s_log_that_begins_inside_a_file_nothing_can_be_kept() -> None:
    inside = bare().put("m0").put("m1").connect().report(0).frame(100, 200).append("slave", 100, 200)
    assert_holds(LogGrows, inside.crash("slave").restart("slave", 0))


def test_boundaries_of_lost_records_do_not_count_in_the_new_log() -> None:
    again = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100)
    again.append("master", 100, 350, "put", "m9").crash("master", "machine")
    assert_broken(LogGrows, again.restart("master", 200), "truncated at 200, in the middle of a record")


def test_a_diverged_slave_keeps_the_boundaries_of_lost_records() -> None:
    def holding() -> H:
        rolled = pair().sent("m0").sent("m1").put("m2").replicate(250).crash("master", "machine")
        return (
            rolled.close("s").restart("master", 100).append("master", 100, 350, "put", "m9").crash("slave", "machine")
        )

    assert_holds(LogGrows, holding().restart("slave", 200))
    assert_holds(LogGrows, holding().restart("slave", 100))
    assert_broken(LogGrows, holding().restart("slave", 150), "truncated at 150, in the middle of a record")


def test_a_diverged_slave_keeps_the_common_part() -> None:
    assert_holds(LogGrows, rolled_back().crash("slave").restart("slave", 100))
    assert_broken(LogGrows, rolled_back().crash("slave").restart("slave", 0), "records up to 100 outlive")


def test_a_new_store_need_not_have_the_old_one_s_records() -> None:
    swapped = pair().sent("m0").flush("slave").crash("slave").add("wipe", node="slave").start("slave", 0)
    assert_holds(LogGrows, swapped)


STORES = pytest.mark.parametrize("f", ["empty", "image"])


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


def test_a_node_that_was_killed_while_it_was_paused_stands_still_until_it_starts() -> None:
    killed = pair().add("pause", node="slave").crash("slave").after(5).add("resume", node="slave").after(5)
    judge = Judge((LogGrows,))
    (known,) = judge.models
    judge.feed_all(killed.events)
    assert known.disturbances.is_unavailable("slave")
    for each in killed.start("slave").events[-1:]:
        judge.feed(each)
    assert not known.disturbances.is_unavailable("slave")
    assert known.disturbances.unavailable_ns("slave", 0, killed.t) == 10_000_000


@pytest.mark.parametrize("what", ["commit", "flush"])
def test_a_killed_process_loses_only_its_pool(what: str) -> None:
    def killed(upto: int) -> H:
        stored = pair(transientStorePoolEnable="true").put("m0").put("m1")
        return stored.add(what, node="master", hi=upto).crash("master").restart("master", 0)

    assert_holds(LogGrows, killed(0))
    assert_broken(LogGrows, killed(100), "records up to 100 outlive a process crash")
