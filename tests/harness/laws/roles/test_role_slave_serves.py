"""Tests of ``role-slave-serves``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair
from histories.calls import begin, end

from pairproof.harness.rocketmq.laws.roles.role_slave_serves import RoleSlaveServes


def serving(**settings: object) -> H:
    """Both hold m0 to m2 in T/0, the master has delivered them, and is down."""
    history = H().config("master").config("slave", **settings).start("master").start("slave").connect().report(0)
    for message in ("m0", "m1", "m2"):
        history.sent(message)
    deliver(begin(history, "pull", "master", queue="T/0", value=0), "master", 0, 1, 2)
    end(history, "pull", "master", "ok", "PUT_OK", queue="T/0", value=0)
    return history.add("dispatch", node="slave", hi=300).crash("master")


def deliver(history: H, node: str, *offsets: int, shift: int = 0) -> H:
    for offset in offsets:
        lo = offset * 100 + shift
        history.add(
            "deliver", node=node, process=5, op=history.ops + 500, queue="T/0", queue_offset=offset, lo=lo, hi=lo + 100
        )
    return history


def pull(
    history: H, *offsets: int, asked: int = 1, phase: str = "ok", status: str = "PUT_OK", tags: str | None = None,
    **answer: object,
) -> H:  # fmt: skip
    """A pull from the slave that is answered with these offsets."""
    begin(history, "pull", "slave", queue="T/0", value=asked, detail=tags)
    deliver(history, "slave", *offsets)
    return end(history, "pull", "slave", phase, status, queue="T/0", value=asked, **answer)


BOUNDS = {"lo": 0, "hi": 3}
NONE: dict[str, int] = {}


@pytest.mark.parametrize("settings", [{}, {"slaveReadEnable": 1}, {"slaveReadEnable": "true"}])
def test_a_slave_s_messages_can_be_pulled(settings: dict[str, object]) -> None:
    for bounds in (BOUNDS, NONE):
        assert_holds(RoleSlaveServes, pull(serving(**settings), 1, 2, **bounds))
        assert_broken(RoleSlaveServes, pull(serving(**settings), **bounds), "has offset 1 of T/0, and a pull there was")
        assert_broken(RoleSlaveServes, pull(serving(**settings), 2, **bounds), "was answered with offset 2")
    # It reports a smaller queue.
    assert_broken(RoleSlaveServes, pull(serving(**settings), lo=0, hi=0), "answered with nothing")
    for status in ("SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"):
        failed = pull(serving(**settings), phase="fail", status=status)
        assert_broken(RoleSlaveServes, failed, f"slave refuses pulls while its master is down: {status}")


def test_a_pull_by_tag_may_continue_after_the_message() -> None:
    by_tag = {"tags": '{"tags": "a"}', **BOUNDS}
    assert_holds(RoleSlaveServes, pull(serving(), 2, queue_offset=3, **by_tag))
    assert_holds(RoleSlaveServes, pull(serving(), status="PULL_RETRY_IMMEDIATELY", queue_offset=2, **by_tag))
    assert_broken(RoleSlaveServes, pull(serving(), queue_offset=1, **by_tag), "was answered with nothing")


def test_missing_messages_are_not_judged() -> None:
    assert_vacuous(RoleSlaveServes, pull(serving(), asked=3, lo=0, hi=3))
    assert_vacuous(RoleSlaveServes, pull(serving(), asked=7))
    for status in ("TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST", "NO_PERMISSION", "refused"):
        assert_vacuous(RoleSlaveServes, pull(serving(), phase="fail", status=status))
    assert_vacuous(RoleSlaveServes, pull(serving(), phase="info", status="timeout"))


def test_messages_not_received_or_dispatched_are_not_judged() -> None:
    behind = serving()
    behind.recorder.events[:] = [each for each in behind.events if each.kind != "dispatch"]
    assert_vacuous(RoleSlaveServes, pull(behind))
    fresh = bare().connect().report(0).put("m0").ok("m0")
    deliver(begin(fresh, "pull", "master", queue="T/0", value=0), "master", 0)
    end(fresh, "pull", "master", "ok", queue="T/0").add("dispatch", node="slave", hi=100).crash("master")
    assert_vacuous(RoleSlaveServes, pull(fresh, asked=0))
    again = serving().crash("slave").start("slave")
    assert_broken(RoleSlaveServes, pull(again), "answered with nothing")


def test_only_pulls_that_the_whole_absence_covers_are_judged() -> None:
    overlap = begin(serving(), "pull", "slave", queue="T/0", value=1).start("master", 300)
    assert_vacuous(RoleSlaveServes, end(overlap, "pull", "slave", "ok", **BOUNDS))
    assert_vacuous(RoleSlaveServes, pull(serving().start("master", 300), **BOUNDS))
    assert_vacuous(RoleSlaveServes, pull(serving().start("master", 300), phase="fail", status="SYSTEM_BUSY"))


def test_lost_messages_and_new_stores_are_not_judged() -> None:
    lost = serving().restart("master", 100).crash("master")
    assert_vacuous(RoleSlaveServes, pull(lost, **BOUNDS))
    wiped = serving().wipe("slave").start("slave", 300)
    assert_vacuous(RoleSlaveServes, pull(wiped))
    assert_broken(RoleSlaveServes, pull(wiped, **BOUNDS), "answered with nothing")
    expired = serving().add("expire", node="slave", lo=200)
    assert_vacuous(RoleSlaveServes, pull(expired, **BOUNDS))
    two = serving().start("master", 300)
    deliver(begin(two, "pull", "master", queue="T/0", value=1), "master", 1, shift=100)
    assert_vacuous(RoleSlaveServes, pull(end(two, "pull", "master", "ok").crash("master")))


@pytest.mark.parametrize(("late", "owed"), [(False, True), (True, False)])
def test_the_master_may_lose_a_message_with_its_answer_in_flight(late: bool, owed: bool) -> None:
    """Later the slave has another message there, perhaps in another queue."""
    history = pair().sent("m0").put("m1")
    begin(history, "pull", "master", queue="T/0", value=1)
    if not late:
        deliver(history, "master", 1)
    else:
        deliver(history.crash("master").start("master", 100).connect().report(100), "master", 1)
    end(history, "pull", "master", "ok", "PUT_OK", queue="T/0", value=1)
    if late:
        history.put("m2")
    found = pull(history.replicate().add("dispatch", node="slave", hi=200).crash("master"))
    if owed:
        assert_broken(RoleSlaveServes, found, "has offset 1 of T/0, and a pull there was answered with nothing")
    else:
        assert_vacuous(RoleSlaveServes, found)


def test_with_slave_read_off_it_suggests_the_master_and_5_may_refuse() -> None:
    assert_holds(RoleSlaveServes, pull(serving(), 1, broker=0, **BOUNDS))
    assert_broken(
        RoleSlaveServes, pull(serving(), 1, broker=1, **BOUNDS), "suggests broker 1, and slaveReadEnable is off"
    )
    assert_holds(RoleSlaveServes, pull(serving(slaveReadEnable=1), 1, broker=1, **BOUNDS))
    five = {"rocketmqVersion": "5.5.0"}
    assert_holds(RoleSlaveServes, pull(serving(**five), phase="fail", status="SYSTEM_BUSY"))
    assert_holds(RoleSlaveServes, pull(serving(**five), 1, broker=0, **BOUNDS))
    assert_broken(RoleSlaveServes, pull(serving(**five), phase="fail", status="SERVICE_NOT_AVAILABLE"), "refuses pulls")
    on = pull(serving(**five, slaveReadEnable=True), phase="fail", status="SYSTEM_BUSY")
    assert_broken(RoleSlaveServes, on, "refuses pulls")
