"""Tests of ``meta-as-administered``."""

from __future__ import annotations

import json

import pytest
from histories import assert_broken, assert_holds, assert_vacuous
from histories.builder import Administered

from pairproof.harness.rocketmq.laws.metadata.meta_as_administered import MetaAsAdministered

LAW = MetaAsAdministered
FOUR = {"readQueueNums": 4, "writeQueueNums": 4}
ONE = {"readQueueNums": 1, "writeQueueNums": 1}


class A(Administered):
    """A builder of administrators' calls."""

    def change(self, f: str, name: str, phase: str = "ok", saves: bool = True, **detail: int) -> A:
        """A whole call; the master saves a changed topic."""
        op = self.asks(f, name, detail)
        if saves:
            self.persist("topics" if f.endswith("topic") else "groups", "master")
        return self.ends(op, f, name, phase)

    def make(self, name: str = "X", queues: int = 4) -> A:
        return self.change("topic", name, queues=queues)

    def delete(self, name: str = "X", saves: bool = True) -> A:
        return self.change("delete-topic", name, saves=saves)

    def read(self, f: str = "topics", **content: object) -> A:
        self.table(f, content, "master", (1, 1))
        return self


def world() -> A:
    history = A()
    history.config("master", namesrvAddr="names", rocketmqVersion="4.9.7")
    history.config("slave", namesrvAddr="names", rocketmqVersion="4.9.7")
    history.start("master").start("slave")
    return history


def test_a_created_name_has_the_requested_values() -> None:
    assert_holds(LAW, world().make().read(X=FOUR, T={}))
    assert_broken(LAW, world().make().read(T={}), "have X as absent; administrators left it 4/4/6")
    assert_broken(LAW, world().make().read(X=ONE), "have X as 1/1/6")
    assert_holds(LAW, world().make().make(queues=1).read(X=ONE))
    assert_broken(LAW, world().make().delete().make(queues=1).read(X=FOUR), "administrators left it 1/1")


def test_a_deleted_name_is_gone() -> None:
    assert_holds(LAW, world().make().delete().read(T={}))
    assert_broken(LAW, world().make().delete().read(X=FOUR), "have X as 4/4/6; administrators left it absent")
    assert_broken(LAW, world().make().delete(saves=False).read(X=FOUR), "administrators left it absent")


def test_groups_are_judged_by_the_brokers_that_they_read_from() -> None:
    def group() -> A:
        return world().change("group", "GA", brokerId=1, whichBrokerWhenConsumeSlowly=0)

    right, wrong = ({"brokerId": 1, "whichBrokerWhenConsumeSlowly": each} for each in (0, 1))
    assert_holds(LAW, group().read("groups", GA=right))
    assert_broken(LAW, group().read("groups", GA=wrong), "have GA as 1/1")
    assert_broken(LAW, group().change("delete-group", "GA", progress=0).read("groups", GA=right), "left it absent")


def test_creating_or_deleting_another_name_changes_nothing() -> None:
    assert_broken(LAW, world().make().make("Y").read(Y=FOUR), "have X as absent")
    assert_broken(LAW, world().make().make("Y").delete("Y").read(T={}), "have X as absent")
    assert_holds(LAW, world().make().make("Y").delete("Y").read(X=FOUR))
    # Y's earlier presence is unknown: an unrecorded client may have deleted X.
    assert_holds(LAW, world().make().delete("Y").read(T={}))


def test_an_unrecorded_client_may_have_changed_it() -> None:
    assert_vacuous(LAW, world().make().persist("topics", "master").read(T={}))
    assert_vacuous(LAW, world().make("Y").read("groups"))
    used = world().make().client("pull", queue="X/0", group="G")
    assert_vacuous(LAW, used.read(T={}))  # type: ignore[attr-defined]


def test_calls_in_flight_or_lost_leave_it_open() -> None:
    history = world().make()
    op = history.asks("delete-topic", "X", {})
    assert_vacuous(LAW, history.read(X=FOUR).ends(op, "delete-topic", "X", "info").read(T={}))
    failed = world().make().change("delete-topic", "X", "fail", saves=False)
    assert_holds(LAW, failed.read(X=FOUR).read(T={}))
    two = world().make()
    first, second = two.asks("topic", "X", {"queues": 1}), two.asks("delete-topic", "X", {})
    two.persist("topics", "master").persist("topics", "master")
    two.ends(first, "topic", "X").ends(second, "delete-topic", "X")
    assert_holds(LAW, two.read(X=ONE).read(T={}))
    assert_broken(LAW, two.read(X=FOUR), "administrators left it 1/1/6 or absent")


def test_an_answer_about_a_replaced_store_proves_nothing_about_the_new_one() -> None:
    for gone in ("wipe", "crash"):
        history = world()
        op = history.asks("topic", "X", {"queues": 4})
        history.persist("topics", "master")
        history.add(gone, node="master", f="image" if gone == "wipe" else "machine")
        assert_vacuous(LAW, history.ends(op, "topic", "X").read(T={}))


def test_a_restart_undoes_nothing_but_a_machine_crash_may() -> None:
    deleted = world().make().delete()
    assert_broken(LAW, deleted.killed("master").read(X=FOUR), "left it absent")  # type: ignore[attr-defined]
    machine = world().make().delete().killed("master", "machine")
    assert_vacuous(LAW, machine.read(X=FOUR))  # type: ignore[attr-defined]
    full = world().make()
    full.fault("disk_full", "master")
    full.delete(saves=False).fault("disk_full", "master", "off")
    full.killed("master")
    assert_vacuous(LAW, full.read(X=FOUR))


def flushing(saves: str = "flushed") -> A:
    history = A()
    for node in ("master", "slave"):
        history.config(node, namesrvAddr="names", rocketmqVersion="4.9.7", tableSaves=saves)
    history.start("master").start("slave").after(1)
    return history


def dark(history: A, ms: float = 1_000, **loss: object) -> A:
    """The master's machine loses power, and is back."""
    history.after(ms).add("crash", node="master", f="machine", **loss)
    return history.start("master").after(100)


def test_what_a_broker_promises_to_flush_outlives_a_power_loss() -> None:
    assert_holds(LAW, dark(flushing().make()).read(X=FOUR))
    assert_broken(LAW, dark(flushing().make()).read(T={}), "have X as absent; administrators left it 4/4")
    assert_broken(LAW, dark(flushing().make().delete()).read(X=FOUR), "administrators left it absent")
    assert_vacuous(LAW, dark(flushing("written").make()).read(T={}))


def test_a_change_that_was_not_flushed_yet_may_be_lost_and_no_earlier_one() -> None:
    def twice(ms: float) -> A:
        return dark(flushing().make().after(2_000).make(queues=1), ms)

    for found in (FOUR, ONE):
        assert_holds(LAW, twice(900).read(X=found))
    assert_broken(LAW, twice(900).read(T={}), "have X as absent; administrators left it 1/1/6 or 4/4/6")
    assert_broken(LAW, twice(1_001).read(X=FOUR), "have X as 4/4/6; administrators left it 1/1/6")
    # A change of another topic replaces the table, not its backup.
    busy = flushing().make().after(1_000)
    for number in range(5):
        busy.make(f"Y{number}").after(500)
    assert_broken(LAW, dark(busy, 400).read(T={}), "have X as absent", times=1)


@pytest.mark.parametrize("what", ["slow flush", "disk", "lied"])
def test_a_flush_that_takes_longer_or_fails_saves_nothing(what: str) -> None:
    history = flushing()
    if what == "slow flush":
        history.add("lab", value=0, detail=json.dumps({"lab.flushMicros": 1_000_000, "lab.spread": 2}))
    if what == "disk":
        history.fault("slow_disk", "master")
    loss = {"status": "lied"} if what == "lied" else {}
    lost = dark(history.make(), 2_900, **loss).read(T={})
    if what == "slow flush":
        assert_holds(LAW, lost)
    else:
        assert_vacuous(LAW, lost)
