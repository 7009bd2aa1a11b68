"""How far groups got, by themselves and by their brokers: never ahead, where it belongs, and not forgotten."""

from __future__ import annotations

import pytest
from consuming import BOTH, SLAVE_ONLY, C, G, Q, consuming, grouped

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.progress.progress_kept import ProgressKept
from pairproof.harness.rocketmq.laws.progress.progress_never_ahead import ProgressNeverAhead
from pairproof.harness.rocketmq.laws.progress.progress_on_pull import ProgressOnPull
from pairproof.harness.rocketmq.laws.progress.progress_to_master import ProgressToMaster
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# progress-never-ahead


def test_a_group_commits_what_it_was_told_to_go_on_from() -> None:
    assert_holds(ProgressNeverAhead, grouped("m0", "m1").pull(0, "m0", "m1").commit(2).query(2).table(2).table(1))
    assert_holds(ProgressNeverAhead, grouped("m0").pull(0, then=1).commit(1))
    assert_holds(ProgressNeverAhead, consuming().come().take(None, start=7).commit(7))


def test_who_commits_more_is_ahead() -> None:
    assert_broken(
        ProgressNeverAhead, grouped("m0", "m1").pull(0, "m0").commit(2),
        "G commits 2 of T/0, and was told to go on from 1 at most",
    )  # fmt: skip


@pytest.mark.parametrize("node", ["master", "slave"])
def test_no_broker_says_more_than_was_committed(node: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(1)
    assert_broken(
        ProgressNeverAhead, history.query(2, node), f"{node} says that G is at 2 of T/0; it committed 1 at most"
    )
    tabled = grouped("m0", "m1").pull(0, "m0", "m1").table(2, node)
    assert_broken(ProgressNeverAhead, tabled, f"{node} says that G is at 2 of T/0; it committed nothing")


def test_a_group_that_never_committed_is_at_0_or_nowhere() -> None:
    assert_holds(ProgressNeverAhead, grouped("m0").query(0).table(0))
    assert_broken(ProgressNeverAhead, consuming().come().query(3), "G is at 3 of T/0; it committed nothing")
    assert_vacuous(ProgressNeverAhead, grouped("m0").query(None).table(None).table(5, group="unheard-of"))


def test_another_broker_name_s_progress_is_another_one() -> None:
    assert_vacuous(ProgressNeverAhead, grouped("m0").commit(9, "other").query(9, "other").table(9, "other"))


# progress-to-master


def learned(nodes: dict[str, str]) -> C:
    history = grouped("m0", "m1").learn(nodes)
    history.pull(0, "m0")
    return history


@pytest.mark.parametrize("nodes", [BOTH, {"0": "master"}])
def test_who_knows_the_master_commits_to_it(nodes: dict[str, str]) -> None:
    assert_holds(ProgressToMaster, learned(nodes).commit(1))
    assert_holds(ProgressToMaster, learned(nodes).crash("master").commit(1, phase="info"))
    assert_broken(ProgressToMaster, learned(nodes).commit(1, "slave"), "G commits 1 of T/0 to slave; by its route")


def test_who_knows_a_slave_only_commits_to_it() -> None:
    assert_holds(ProgressToMaster, learned(SLAVE_ONLY).commit(1, "slave"))
    assert_holds(ProgressToMaster, learned(BOTH).learn(SLAVE_ONLY).learn({}, status="none").commit(1, "slave"))
    # Another topic's route may name them still.
    assert_holds(ProgressToMaster, learned(BOTH).learn({}).commit(1))
    assert_broken(ProgressToMaster, learned(SLAVE_ONLY).commit(1), "to master; its route names slave")
    assert_broken(ProgressToMaster, learned(BOTH).learn(SLAVE_ONLY).learn(BOTH).commit(1, "slave"), "is the master")


@pytest.mark.parametrize("how", ["deliver", "commit", "off", "gone", "route", "end"])
def test_who_knows_slaves_only_does_not_sit_on_its_progress(how: str) -> None:
    def silent(ms: float) -> C:
        history = learned(SLAVE_ONLY).after(ms)
        return {
            "deliver": lambda: history.pull(1, "m1", node="slave"),
            "commit": lambda: history.commit(1, "slave"),
            "off": lambda: history.assign(1, status="off"),
            "gone": lambda: history.go(),
            "route": lambda: history.learn(BOTH),
            "end": lambda: history.mark("end"),
        }[how]()

    assert_broken(ProgressToMaster, silent(25_010), "committed nothing; its route names slave")
    assert_holds(ProgressToMaster, silent(24_900))


def test_who_commits_or_has_nothing_to_commit_or_knows_the_master_is_not_silent() -> None:
    assert_holds(ProgressToMaster, learned(SLAVE_ONLY).commit(1, "slave").after(24_900).commit(1, "slave").mark("end"))
    unchanged = learned(SLAVE_ONLY).commit(1, "slave").after(25_010).mark("end")
    assert_broken(ProgressToMaster, unchanged, "committed nothing; its route names slave")
    assert_holds(ProgressToMaster, learned(SLAVE_ONLY).after(9_000).learn(BOTH).after(60_000).mark("end"))
    assert_vacuous(ProgressToMaster, learned(BOTH).after(60_000).mark("end"))
    assert_vacuous(ProgressToMaster, grouped("m0").learn(SLAVE_ONLY).after(60_000).mark("end"))
    recent = learned(BOTH).after(60_000).learn(SLAVE_ONLY).after(5_000).mark("end")
    assert_holds(ProgressToMaster, recent)
    broadcasting = consuming().store("m0").come(f="broadcasting").assign(0).learn(SLAVE_ONLY).pull(0, "m0")
    assert_vacuous(ProgressToMaster, broadcasting.after(60_000).mark("end"))


def test_who_was_told_no_route_commits_to_a_master_to_which_nothing_has_happened() -> None:
    assert_holds(ProgressToMaster, grouped("m0").pull(0, "m0").commit(1))
    assert_broken(
        ProgressToMaster, grouped("m0").pull(0, "m0").commit(1, "slave"), "nothing has happened to the master"
    )
    for trouble in (("stall", "client-master"), ("kill", "master")):
        assert_vacuous(ProgressToMaster, grouped("m0").fault(*trouble).commit(0, "slave"))
        over = grouped("m0").fault(*trouble).after(5).fault(*trouble, status="off")
        assert_vacuous(ProgressToMaster, over.commit(0, "slave"))
    assert_vacuous(ProgressToMaster, grouped("m0").crash("master").commit(0, "slave"))
    returned = grouped("m0").crash("master").after(5).start("master")
    assert_vacuous(ProgressToMaster, returned.commit(0, "slave"))


def test_a_commit_rides_on_pulls_to_masters_only() -> None:
    def carried(node: str, broker: int) -> C:
        return grouped("m0").learn(BOTH).call(
            1, "commit", node, queue_offset=0, value=1, broker=broker
        )  # fmt: skip

    assert_vacuous(ProgressToMaster, carried("master", 0))
    # A master that was a slave when its address was learned.
    assert_vacuous(ProgressToMaster, carried("slave", 0))
    assert_broken(ProgressToMaster, carried("slave", 1), "G's pull of T/0 carries 0 to slave, a slave by its id")


def parted(history: C, offset: int) -> C:
    return history.assign(offset, status="off")


def test_who_gives_a_queue_up_has_told_how_far_it_has_come() -> None:
    untold = "G gives T/0 up at 1, and has told no broker more than 0"
    assert_broken(ProgressToMaster, parted(learned(BOTH), 1), untold)
    assert_holds(ProgressToMaster, parted(learned(BOTH), 0))
    for phase in ("ok", "info", "fail"):
        assert_holds(ProgressToMaster, parted(learned(BOTH).commit(1, phase=phase), 1))
    rides = learned(BOTH).commit(1, carried=True)
    assert_holds(ProgressToMaster, parted(rides, 1))
    assert_broken(ProgressToMaster, parted(learned(BOTH).commit(1), 2), "told no broker more than 1")


def test_who_cannot_tell_or_need_not_gives_a_queue_up_in_silence() -> None:
    assert_vacuous(ProgressToMaster, parted(learned(SLAVE_ONLY), 1).add("mark", f="end"))
    assert_vacuous(ProgressToMaster, parted(grouped("m0").pull(0, "m0"), 1))
    under_way = learned(BOTH).commit(0, phase="")
    assert_holds(ProgressToMaster, parted(under_way, 1))
    for how in ("broadcasting", "orderly"):
        others = consuming().store("m0").come(f=how).take(None).learn(BOTH).pull(0, "m0")
        assert_vacuous(ProgressToMaster, parted(others, 1))
    dies = learned(BOTH).go(status="lost").come().assign(5)
    assert_holds(ProgressToMaster, parted(dies.learn(BOTH), 5))


# progress-kept


def committed(*offsets: int, node: str = "master") -> C:
    """One after the other."""
    history = grouped("m0", "m1", "m2").pull(0, "m0", "m1", "m2")
    for offset in offsets:
        history.commit(offset, node)
    return history.after(2_000)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_broker_keeps_what_was_committed_last_be_it_smaller(node: str) -> None:
    # And before it took its queue the group had committed nothing.
    assert assert_holds(ProgressKept, committed(1, 3, node=node).query(3, node).table(3, node)).judged == 3
    assert_holds(ProgressKept, committed(3, 2, node=node).query(2, node).table(2, node))
    larger = committed(3, 2, node=node)
    assert_broken(ProgressKept, larger.query(3, node), f"G committed 2 of T/0 to {node}, which says 3")
    assert_broken(ProgressKept, committed(1, 2, node=node).table(1, node), f"G committed 2 of T/0 to {node}")
    assert_broken(ProgressKept, committed(2, node=node).table(None, node), "which says nothing")


def test_progress_that_somebody_may_have_deleted_need_not_be_there() -> None:
    saved = committed(1, 2).add("persist", node="master", f="groups")
    assert isinstance(saved, C)
    assert_holds(ProgressKept, saved.table(None).table(2))
    assert_broken(ProgressKept, saved.table(1), "G committed nothing or 2 of T/0 to master, which says 1")
    assert_broken(ProgressKept, committed(1, 2).table(None), "G committed 2 of T/0 to master, which says nothing")


def test_what_is_under_way_may_have_arrived_or_not() -> None:
    assert_holds(ProgressKept, committed(1).commit(2, phase="info").query(1).query(2))
    neither = committed(1).commit(3, phase="fail").query(2)
    assert_broken(ProgressKept, neither, "G committed 1 or 3 of T/0 to master, which says 2")
    assert_broken(ProgressKept, grouped("m0").pull(0, "m0").commit(1, phase="fail").table(2), "nothing or 1")


def test_a_sync_brings_a_slave_the_master_s_progress() -> None:
    assert_holds(ProgressKept, committed(2).sync().after(2_000).table(2, "slave"))
    assert_holds(ProgressKept, committed(2).commit(3, "slave").sync().after(2_000).table(2, "slave"))
    kept = committed(2).commit(3, "slave").sync().after(2_000).table(3, "slave")
    assert_broken(ProgressKept, kept, "G committed 2 of T/0 to slave, which says 3")


def test_a_slave_whose_syncs_nobody_sees_it_take_over_may_say_anything() -> None:
    for progress in (2, 3):
        unseen = committed(2).commit(3, "slave").sync("asked", "answered").after(2_000)
        assert judged(ProgressKept, unseen.table(progress, "slave").events).verdict is not Verdict.VIOLATED
        # Nor has it to keep what it is told from then on: the next sync may come at any time.
        told = committed(2).sync("asked", "answered").commit(3, "slave").table(progress, "slave")
        assert judged(ProgressKept, told.events).verdict is not Verdict.VIOLATED


def test_a_broker_that_went_down_may_have_lost_it_until_it_is_told_again() -> None:
    assert assert_holds(ProgressKept, committed(2).crash("master").start("master").query(None)).judged == 1
    assert assert_holds(ProgressKept, committed(2).crash("master", "machine").start("master").table(1)).judged == 1
    assert_broken(ProgressKept, committed(2).crash("master").start("master").commit(3).query(2), "G committed 3")


def test_a_commit_that_waits_for_a_connection_may_reach_the_broker_s_next_life() -> None:
    def outlived(phase: str, status: str) -> C:
        history = committed(2)
        told = {"node": "master", "process": 1, "op": history.ops, "f": "commit", "queue": Q, "group": G}
        history.commit(1, phase="").crash("master").start("master")
        if phase == "info":
            history.add("info", status=status, queue_offset=1, **told)
        history.commit(3)
        if phase == "ok":
            history.add("ok", status=status, queue_offset=1, **told)
        return history.query(1)

    assert_holds(ProgressKept, outlived("ok", "PUT_OK"))
    assert_holds(ProgressKept, outlived("info", "timeout"))
    assert_broken(ProgressKept, outlived("info", "disconnected"), "G committed 3 of T/0 to master, which says 1")


# progress-on-pull


def carried(offset: int, node: str = "master") -> C:
    return grouped("m0", "m1").pull(0, "m0", "m1").commit(offset, node, carried=True).after(2_000)


def test_a_master_stores_what_a_pull_carries() -> None:
    assert_holds(ProgressOnPull, carried(2).query(2).table(2))
    assert_broken(ProgressOnPull, carried(2).query(0), "to the master: 2, and its table says 0")
    assert_broken(ProgressOnPull, carried(2).table(None), "to the master: 2, and its table says nothing")
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
    assert_holds(ProgressOnPull, carried(2, "slave").query(None, "slave").table(0, "slave"))
    assert_holds(ProgressOnPull, carried(2, "slave").commit(2).table(2, "slave"))
    assert_holds(ProgressOnPull, carried(1, "slave").commit(2).query(2, "slave"))
    for seen in (carried(2, "slave").query(2, "slave"), carried(2, "slave").table(2, "slave")):
        assert_broken(ProgressOnPull, seen, "slave stored G's progress in T/0, 2, which only a pull carried")
    assert_vacuous(ProgressOnPull, carried(2, "slave").query(None).call(1, "query", "slave", queue="T/1"))
