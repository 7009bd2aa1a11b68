"""Tests of ``meta-one-way``."""

import pytest
from histories import Story, assert_broken, assert_holds, assert_vacuous, judged
from histories.tables import named

from pairproof.harness.rocketmq.laws.metadata.meta_one_way import MetaOneWay


def test_progress_committed_only_at_a_slave_stays_there() -> None:
    def read(master: int, *commits: tuple[int, str]) -> Story:
        history = named()
        for offset, node in commits:
            history.client_commit(offset, node)
        return history.table("offsets", {"T@G": {"0": master}}, "master")

    assert_holds(MetaOneWay, read(3, (3, "master"), (5, "slave")))
    assert_broken(MetaOneWay, read(5, (3, "master"), (5, "slave")), "has G at 5 of T/0, committed at slave only")
    assert_holds(MetaOneWay, read(5, (5, "slave"), (5, "master"), (6, "slave")))
    assert_vacuous(MetaOneWay, read(5, (5, "master"), (5, "slave")))
    assert_holds(MetaOneWay, named().client_commit(5, "slave").table("offsets", {}, "master"))
    # After a kill, lost progress may come only from a slave.
    for saves, how in ((False, "process"), (True, "process"), (False, "machine")):
        killed = named().client_commit(5)
        killed.persist("offsets", "master") if saves else killed
        killed.client_commit(5, "slave").killed("master", how).table("offsets", {"T@G": {"0": 5}}, "master")
        assert bool(judged(MetaOneWay, killed.events).broken) is not saves
    stopped = named().client_commit(5).client_commit(5, "slave")
    stopped.stop("master").start("master")
    assert_vacuous(MetaOneWay, stopped.table("offsets", {"T@G": {"0": 5}}, "master"))
    # A commit that never left its client did not arrive; one lost in flight may have.
    for phase, status, tells in (("fail", "refused", False), ("fail", "SYSTEM_ERROR", True), ("info", "timeout", True)):
        tried = named().client("commit", "master", phase, status, offset=5, group="G").client_commit(5, "slave")
        found = judged(MetaOneWay, tried.table("offsets", {"T@G": {"0": 5}}, "master").events)
        assert bool(found.broken) is not tells, (phase, status)
    assert_vacuous(MetaOneWay, named().client_commit(5, "slave").table("offsets", {"T@G": {"0": 5}}, "slave"))


def test_a_promoted_slave_brings_its_progress_on_its_disk() -> None:
    def killed(promoted: bool) -> Story:
        history = named().client_commit(5, "slave").crash("master")
        history.add("wipe", node="master", f="image", detail="slave") if promoted else history
        return history.start("master").killed("master").table("offsets", {"T@G": {"0": 5}}, "master")

    assert_vacuous(MetaOneWay, killed(promoted=True))
    assert_broken(MetaOneWay, killed(promoted=False), "has G at 5 of T/0, committed at slave only")


def test_a_promoted_slave_brings_progress_that_it_had_copied() -> None:
    def killed(synced: str) -> Story:
        history = named()
        call = {"node": "master", "op": 50, "f": "commit", "queue": "T/0", "group": "G", "queue_offset": 5}
        history.add("invoke", **call)
        history.sync(f=synced)
        history.crash("master").add("wipe", node="master", f="image", detail="slave").start("master")
        history.add("info", **call, status="disconnected").client_commit(5, "slave")
        return history.killed("master").table("offsets", {"T@G": {"0": 5}}, "master")

    assert_vacuous(MetaOneWay, killed("offsets"))
    assert_broken(MetaOneWay, killed("topics"), "has G at 5 of T/0, committed at slave only")


def test_a_commit_that_waits_for_a_connection_may_reach_the_next_incarnation_of_the_master() -> None:
    def answered(node: str, restarts: bool) -> Story:
        history = named()
        call = {"node": node, "process": 1, "op": 50, "f": "commit", "queue": "T/0", "group": "G", "queue_offset": 5}
        history.client_commit(5, "slave")
        history.add("invoke", **call)
        if restarts:
            history.crash("master").start("master")
        history.after(5).add("ok", **call, status="PUT_OK")
        return history.table("offsets", {"T@G": {"0": 5}}, "master")

    def lost(saves: bool, real_ms: int = 0) -> Story:
        history = named()
        history.real(real_ms) if real_ms else history
        call = {
            "node": "master",
            "process": 1,
            "op": 50,
            "f": "commit",
            "queue": "T/0",
            "group": "G",
            "queue_offset": 5,
        }
        history.add("invoke", **call)
        history.persist("offsets", "master") if saves else history
        history.crash("master").add("info", **call, status="disconnected")
        history.client_commit(5, "slave").start("master")
        return history.table("offsets", {"T@G": {"0": 5}}, "master")

    assert_broken(MetaOneWay, lost(saves=False), "has G at 5 of T/0, committed at slave only")
    assert_vacuous(MetaOneWay, lost(saves=True))
    # In real time a save may be recorded after the kill.
    assert_vacuous(MetaOneWay, lost(saves=False, real_ms=5))
    assert_vacuous(MetaOneWay, answered("master", restarts=False))
    assert_vacuous(MetaOneWay, answered("master", restarts=True))
    assert_broken(MetaOneWay, answered("slave", restarts=True), "has G at 5 of T/0, committed at slave only")


@pytest.mark.parametrize("f", ["topic", "group"])
def test_names_created_only_at_a_slave_stay_there(f: str) -> None:
    def refused() -> Story:
        return named().create(f, "X", "slave", "fail", "SYSTEM_ERROR")

    assert_holds(MetaOneWay, refused().table(f"{f}s", {"Y": {}}, "master"))
    assert_broken(MetaOneWay, refused().table(f"{f}s", {"X": {}}, "master"), "has X among its")
    wrapped: dict[str, object] = {"topicConfigTable": {"X": {}}, "subscriptionGroupTable": {"X": {}}}
    assert_broken(
        MetaOneWay,
        refused().table(f"{f}s", wrapped, "master"),
        "has X among its",
    )
    assert_vacuous(MetaOneWay, refused().create(f, "X").table(f"{f}s", {"X": {}}, "master"))
    used = refused().client("pull", queue="X/0", group="X")
    assert_vacuous(MetaOneWay, used.table(f"{f}s", {"X": {}}, "master"))


def test_a_consumer_creates_its_group_everywhere() -> None:
    history = named().create("group", "X", "slave", "fail", "SYSTEM_ERROR")
    history.add("consumer", process=3, status="on", group="X", f="clustering")
    assert_vacuous(MetaOneWay, history.table("groups", {"X": {}}, "master"))
