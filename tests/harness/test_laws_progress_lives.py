"""Progress that outlives a broker: saved, found again by who comes back, gone on with by who stays."""

from __future__ import annotations

import pytest
from consuming import BOTH, SLAVE_ONLY, C, consuming, grouped

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.progress.progress_live_consumer import ProgressLiveConsumer
from pairproof.harness.rocketmq.laws.progress.progress_persisted import ProgressPersisted
from pairproof.harness.rocketmq.laws.progress.progress_recovers import ProgressRecovers
from pairproof.harness.rocketmq.testing import SIZE
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# progress-persisted


def killed(older_ms: float, *commits: int, how: str = "process") -> C:
    """Commits, one after the other; then the master is killed and starts again."""
    history = grouped("m0", "m1", "m2").pull(0, "m0", "m1", "m2")
    for offset in commits:
        history.after(older_ms).commit(offset)
    return history.after(older_ms).crash("master", how).start("master").after(2_000)


def test_a_commit_older_than_the_period_survives() -> None:
    assert_holds(ProgressPersisted, killed(6_100, 2).query(2).table(2))
    assert_broken(ProgressPersisted, killed(6_100, 2).query(0), "G had committed 2 of T/0 long enough")
    assert_broken(ProgressPersisted, killed(6_100, 2).table(None), "it came back with nothing")
    assert_broken(ProgressPersisted, killed(6_100, 1, 2).table(1), "it came back with 1")


def test_a_later_one_may_be_lost_or_not_and_then_the_one_before_is_there() -> None:
    for found in (2, 3):
        assert_holds(ProgressPersisted, killed(4_000, 1, 2, 3).query(found))
    assert_broken(ProgressPersisted, killed(4_000, 1, 2, 3).query(1), "G had committed 2 or 3 of T/0")
    assert_vacuous(ProgressPersisted, killed(4_000, 2).query(None))


def test_what_the_node_says_it_wrote_is_written() -> None:
    def wrote(offset: int | None) -> C:
        history = grouped("m0").pull(0, "m0").commit(1).after(10).add("persist", node="master", f="offsets").after(10)
        return history.crash("master").start("master").query(offset)

    assert_holds(ProgressPersisted, wrote(1))
    assert_broken(ProgressPersisted, wrote(None), "G had committed 1 of T/0")


def test_the_first_write_comes_ten_seconds_after_the_start() -> None:
    def young(older_ms: float) -> C:
        history = C().config("master").config("slave").start("master").start("slave").come().take(None)
        return history.pull(0, then=1).commit(1).after(older_ms).crash("master").start("master").query(None)

    assert_vacuous(ProgressPersisted, young(10_900))
    assert_broken(ProgressPersisted, young(11_100), "G had committed 1 of T/0")


@pytest.mark.parametrize("what", ["disk", "disk over", "pause", "machine", "wipe"])
def test_a_node_in_trouble_is_excused(what: str) -> None:
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
    def stopped() -> C:
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
    def configured(ms: int) -> C:
        history = grouped("m0", flushConsumerOffsetInterval=ms).pull(0, "m0").commit(1).after(4_000)
        return history.crash("master").start("master").query(None)

    assert_broken(ProgressPersisted, configured(2_000), "G had committed 1")
    assert_vacuous(ProgressPersisted, configured(4_000))


def test_a_clean_stop_keeps_as_much() -> None:
    stopped = grouped("m0").pull(0, "m0").commit(1).after(6_100).stop("master").start("master")
    assert_broken(ProgressPersisted, stopped.query(0), "G had committed 1")


def test_what_is_committed_after_the_return_counts_instead() -> None:
    assert_vacuous(ProgressPersisted, killed(6_100, 2).commit(1).query(1))


# progress-recovers


def returned(committed: int, to_slave: int | None = None, received: int = 3) -> C:
    """The group had so much when the master went; a slave heard of more; the consumer died, the master is back."""
    messages = [f"m{number}" for number in range(3)]
    history = grouped(*messages).pull(0, *messages[:received]).commit(committed).sync().after(6_100).crash("master")
    if to_slave is not None:
        history.commit(to_slave, "slave")
    history.go(status="lost").start("master")
    return history.come(2)


def test_a_group_repeats_what_only_the_slave_knew() -> None:
    assert_holds(ProgressRecovers, returned(1, 3).take(1, process=2))
    assert_holds(ProgressRecovers, returned(3).take(3, process=2))


def test_it_repeats_no_more_and_skips_nothing() -> None:
    assert_broken(ProgressRecovers, returned(2, 3).take(1, process=2), "goes on in T/0 at 1; the master had known of 2")
    assert_broken(
        ProgressRecovers, returned(2, received=2).take(3, process=2), "at 3; it has received nothing from 2 on"
    )


def test_a_consumer_that_goes_elsewhere_than_it_was_told_is_judged_by_where_it_goes() -> None:
    assert_broken(ProgressRecovers, returned(2).take(2, process=2, start=0), "the master had known of 2")


def test_only_the_first_time_after_the_return_is_judged() -> None:
    assert judged(ProgressRecovers, returned(1).take(1, process=2).take(1, process=2).events).judged == 1
    assert_vacuous(ProgressRecovers, grouped("m0").pull(0, "m0").commit(1).go().come(2).take(0, process=2))
    assert_vacuous(ProgressRecovers, consuming().crash("master").start("master").come().take(3))
    twice = returned(1).take(1, process=2).stop("master").start("master").come(3).take(0, process=3)
    assert_broken(ProgressRecovers, twice, "the master had known of 1")


def test_what_a_slave_says_or_the_consumer_chooses_is_not_the_master_s_word() -> None:
    assert_vacuous(ProgressRecovers, returned(2).take(0, "slave", process=2))
    assert_vacuous(ProgressRecovers, returned(2).take(None, process=2, start=3))
    later = returned(2).take(0, "slave", process=2).take(0, process=2)
    assert_broken(ProgressRecovers, later, "the master had known of 2")


@pytest.mark.parametrize("lost", ["cut", "expire", "wipe"])
def test_a_master_that_lost_messages_is_excused(lost: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).after(6_100)
    if lost == "cut":
        history.cut(1)
    elif lost == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.add("expire", node="master", lo=SIZE).crash("master").start("master")
    assert_vacuous(ProgressRecovers, history.come(2).take(0, process=2))


# progress-live-consumer


def lived(*more: str, down: bool = True) -> C:
    """A consumer that has m0 of many goes on while the master goes down."""
    history = grouped("m0", *more).learn(BOTH).pull(0, "m0").commit(1)
    return history.crash("master") if down else history


def test_who_lives_through_it_receives_one_after_the_other() -> None:
    history = lived("m1", "m2").learn(SLAVE_ONLY).pull(1, "m1", node="slave").start("master").pull(2, "m2")
    assert assert_holds(ProgressLiveConsumer, history).judged == 2


def test_it_neither_skips_nor_repeats() -> None:
    skipped = lived("m1", "m2").pull(1, "m2", node="slave", then=3)
    assert_broken(ProgressLiveConsumer, skipped, "lived through the master's loss, and skipped from 1 to 2 in T/0")
    again = lived("m1").pull(1, "m1", node="slave").start("master").pull(0, "m0").pull(1, "m1")
    assert_broken(ProgressLiveConsumer, again, "and went back from 2 to 0 in T/0")


def test_only_an_assignment_that_goes_on_is_judged() -> None:
    assert_vacuous(ProgressLiveConsumer, lived(down=False).pull(0, "m0"))
    anew = lived().assign(1, status="off").start("master").take(0).pull(0, "m0")
    assert_vacuous(ProgressLiveConsumer, anew)
    assert_vacuous(ProgressLiveConsumer, lived().go(status="lost").come(2).take(0, "slave", 2).pull(0, "m0", process=2))


def test_a_master_that_lost_messages_lets_nobody_live_through_it() -> None:
    assert_vacuous(ProgressLiveConsumer, lived("m1", "m2", down=False).cut(1).pull(1, "m2"))
    expired = lived("m1", "m2").add("expire", node="slave", lo=SIZE).pull(1, "m2", node="slave")
    assert_vacuous(ProgressLiveConsumer, expired)


def back(heard_ms: float) -> C:
    """The consumer went on with the slave; the master is back, and the consumer has known it for so long."""
    history = lived("m1").learn(SLAVE_ONLY).pull(1, "m1", node="slave").commit(2, "slave").after(60_000)
    return history.start("master").learn(BOTH).after(heard_ms)


def test_the_master_hears_how_far_it_got() -> None:
    assert_holds(ProgressLiveConsumer, back(16_000).commit(2).table(2))
    assert_holds(ProgressLiveConsumer, back(16_000).commit(2).query(2))
    assert assert_holds(ProgressLiveConsumer, back(14_000).table(1)).judged == 1
    for seen in (back(16_000).table(1), back(16_000).query(1)):
        assert_broken(ProgressLiveConsumer, seen, "G stood at 2 of T/0 15000 ms ago; the master, back since")


def test_who_held_the_queue_too_may_have_told_less() -> None:
    def shared(rest_ms: float, left: str) -> C:
        history = back(16_000).commit(2).come(2).take(2, process=2).commit(1, process=2)
        history = history.assign(1, status="off", process=2) if left == "off" else history.go(2, status=left)
        return history.after(rest_ms).table(1)

    for left in ("off", "lost"):
        assert_holds(ProgressLiveConsumer, shared(14_900, left))
        assert_broken(ProgressLiveConsumer, shared(15_100, left), "G stood at 2 of T/0")


def test_what_came_since_need_not_have_been_heard() -> None:
    fresh = back(0).store("m2").after(10_000).pull(2, "m2").commit(2).after(10_000)
    assert_holds(ProgressLiveConsumer, fresh.table(2))
    assert_broken(ProgressLiveConsumer, fresh.after(10_000).table(2), "G stood at 3")


@pytest.mark.parametrize("what", ["link", "link over", "pause", "route", "shared", "left", "slave"])
def test_what_keeps_it_from_telling_excuses_it(what: str) -> None:
    history = back(10_000)
    node = "slave" if what == "slave" else "master"
    if what.startswith("link"):
        history.fault("stall", "client-master").after(10)
    if what == "link over":
        history.fault("stall", "client-master", status="off")
    if what == "pause":
        history.pause("master", 5_000)
    if what == "route":
        history.learn(SLAVE_ONLY)
    if what == "shared":
        history.come(2).take(1, process=2)
    if what == "left":
        history.go(status="lost")
    assert assert_holds(ProgressLiveConsumer, history.after(10_000).table(1, node)).judged == 1


@pytest.mark.parametrize("law", [ProgressRecovers, ProgressLiveConsumer])
def test_a_slave_that_sends_consumers_elsewhere_promises_nothing(law: type[Law]) -> None:
    history = grouped("m0", slave={"offsetCheckInSlave": "true"}).pull(0, "m0")
    assert judged(law, history.events).verdict is Verdict.NOT_APPLICABLE
