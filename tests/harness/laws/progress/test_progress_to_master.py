"""Tests of ``progress-to-master``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import BOTH, SLAVE_ONLY, consuming, grouped

from pairproof.harness.rocketmq.laws.progress.progress_to_master import ProgressToMaster


def learned(nodes: dict[str, str]) -> Story:
    history = grouped("m0", "m1").learn(nodes)
    history.pull(0, "m0")
    return history


@pytest.mark.parametrize("nodes", [BOTH, {"0": "master"}])
def test_a_consumer_with_a_master_commits_to_it(nodes: dict[str, str]) -> None:
    assert_holds(ProgressToMaster, learned(nodes).commit(1))
    assert_holds(ProgressToMaster, learned(nodes).crash("master").commit(1, phase="info"))
    assert_broken(ProgressToMaster, learned(nodes).commit(1, "slave"), "G commits 1 of T/0 to slave; by its route")


def test_without_a_master_a_consumer_commits_to_a_slave() -> None:
    assert_holds(ProgressToMaster, learned(SLAVE_ONLY).commit(1, "slave"))
    assert_holds(ProgressToMaster, learned(BOTH).learn(SLAVE_ONLY).learn({}, status="none").commit(1, "slave"))
    # Another topic's route may name them still.
    assert_holds(ProgressToMaster, learned(BOTH).learn({}).commit(1))
    assert_broken(ProgressToMaster, learned(SLAVE_ONLY).commit(1), "to master; its route names slave")
    assert_broken(ProgressToMaster, learned(BOTH).learn(SLAVE_ONLY).learn(BOTH).commit(1, "slave"), "is the master")


@pytest.mark.parametrize("how", ["deliver", "commit", "off", "gone", "route", "end"])
def test_without_a_master_a_consumer_commits_in_time(how: str) -> None:
    def silent(ms: float) -> Story:
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


def test_a_consumer_that_commits_or_need_not_is_not_silent() -> None:
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


def test_a_consumer_without_a_route_commits_to_an_undisturbed_master() -> None:
    assert_holds(ProgressToMaster, grouped("m0").pull(0, "m0").commit(1))
    assert_broken(ProgressToMaster, grouped("m0").pull(0, "m0").commit(1, "slave"), "the master was undisturbed")
    for disturbances in (("stall", "client-master"), ("kill", "master")):
        assert_vacuous(ProgressToMaster, grouped("m0").fault(*disturbances).commit(0, "slave"))
        over = grouped("m0").fault(*disturbances).after(5).fault(*disturbances, status="off")
        assert_vacuous(ProgressToMaster, over.commit(0, "slave"))
    assert_vacuous(ProgressToMaster, grouped("m0").crash("master").commit(0, "slave"))
    returned = grouped("m0").crash("master").after(5).start("master")
    assert_vacuous(ProgressToMaster, returned.commit(0, "slave"))


def test_a_commit_rides_on_pulls_to_masters_only() -> None:
    def carried(node: str, broker: int) -> Story:
        return grouped("m0").learn(BOTH).call(
            1, "commit", node, queue_offset=0, value=1, broker=broker
        )  # fmt: skip

    assert_vacuous(ProgressToMaster, carried("master", 0))
    # A master that was a slave when its address was learned.
    assert_vacuous(ProgressToMaster, carried("slave", 0))
    assert_broken(ProgressToMaster, carried("slave", 1), "G's pull of T/0 carries 0 to slave, a slave by its id")


def parted(history: Story, offset: int) -> Story:
    return history.assign(offset, status="off")


def test_a_consumer_that_gives_a_queue_up_has_committed_its_offset() -> None:
    untold = "G gives T/0 up at 1, and has committed no more than 0"
    assert_broken(ProgressToMaster, parted(learned(BOTH), 1), untold)
    assert_holds(ProgressToMaster, parted(learned(BOTH), 0))
    for phase in ("ok", "info", "fail"):
        assert_holds(ProgressToMaster, parted(learned(BOTH).commit(1, phase=phase), 1))
    rides = learned(BOTH).commit(1, carried=True)
    assert_holds(ProgressToMaster, parted(rides, 1))
    assert_broken(ProgressToMaster, parted(learned(BOTH).commit(1), 2), "committed no more than 1")


def test_a_consumer_that_cannot_or_need_not_commit_may_give_a_queue_up() -> None:
    assert_vacuous(ProgressToMaster, parted(learned(SLAVE_ONLY), 1).add("mark", f="end"))
    assert_vacuous(ProgressToMaster, parted(grouped("m0").pull(0, "m0"), 1))
    under_way = learned(BOTH).commit(0, phase="")
    assert_holds(ProgressToMaster, parted(under_way, 1))
    for how in ("broadcasting", "orderly"):
        others = consuming().store("m0").come(f=how).take(None).learn(BOTH).pull(0, "m0")
        assert_vacuous(ProgressToMaster, parted(others, 1))
    dies = learned(BOTH).go(status="lost").come().assign(5)
    assert_holds(ProgressToMaster, parted(dies.learn(BOTH), 5))
