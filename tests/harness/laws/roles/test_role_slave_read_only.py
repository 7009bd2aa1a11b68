"""Tests of ``role-slave-read-only``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, bare
from histories.calls import call
from histories.tables import named

from pairproof.harness.rocketmq.laws.roles.role_slave_read_only import RoleSlaveReadOnly


def refused(**settings: object) -> H:
    history = H().config("master").config("slave", **settings).start("master").start("slave")
    return call(history, "send", "slave", "fail", "SERVICE_NOT_AVAILABLE", message="x0", queue="T/0")


def test_a_slave_takes_no_message() -> None:
    assert_holds(RoleSlaveReadOnly, refused().put("m0").ok("m0"))
    for status in ("PUT_OK", "SLAVE_NOT_AVAILABLE"):
        taken = call(bare(), "send", "slave", "ok", status, message="x0", queue="T/0")
        assert_broken(RoleSlaveReadOnly, taken, f"slave, a slave, accepted x0 and answered {status}")
    assert_vacuous(RoleSlaveReadOnly, call(bare(), "send", "slave", "fail", "refused", message="x0", queue="T/0"))
    assert_vacuous(RoleSlaveReadOnly, call(bare(), "send", "slave", "info", "timeout", message="x0", queue="T/0"))


@pytest.mark.parametrize("node", ["slave", "master"])
def test_no_log_holds_a_refused_message(node: str) -> None:
    assert_holds(RoleSlaveReadOnly, refused().put("m0").ok("m0").audit(records={node: ["m0"]}))
    twice = refused().audit(records={node: ["x0"]}).audit(records={node: ["x0"]})
    assert_broken(RoleSlaveReadOnly, twice, f"{node} holds x0, which was sent only to slave, a slave")
    lost = call(bare(), "send", "slave", "info", "timeout", message="x0", queue="T/0")
    assert_broken(RoleSlaveReadOnly, lost.audit(records={node: ["x0"]}), "which was sent only to slave")


@pytest.mark.parametrize("f", ["topic", "group"])
def test_a_slave_takes_no_topic_and_no_group(f: str) -> None:
    def asked(phase: str, status: str, version: str = "4.9.7") -> H:
        history = H().config("master").config("slave", rocketmqVersion=version).start("master").start("slave")
        return call(history, f, "slave", phase, status, message="X")

    assert_holds(RoleSlaveReadOnly, asked("fail", "SYSTEM_ERROR"))
    assert_broken(RoleSlaveReadOnly, asked("ok", "SUCCESS"), f"slave, a slave, accepted the {f} X")
    assert_vacuous(RoleSlaveReadOnly, asked("ok", "SUCCESS", "4.9.3"))
    assert_broken(RoleSlaveReadOnly, asked("ok", "SUCCESS", "5.5.0"), "accepted the")

    def read(history: H, node: str = "slave") -> H:
        return history.add("table", node=node, f=f"{f}s", detail=json.dumps({"X": {}}))

    assert_broken(
        RoleSlaveReadOnly, read(read(asked("fail", "SYSTEM_ERROR"))), "hold X, which was created only at this slave"
    )
    assert_holds(RoleSlaveReadOnly, read(asked("fail", "SYSTEM_ERROR"), "master"))
    assert_holds(RoleSlaveReadOnly, read(call(asked("fail", "SYSTEM_ERROR"), f, "master", message="X")))
    used = call(asked("fail", "SYSTEM_ERROR"), "pull", "slave", queue="X/0", group="X")
    assert_holds(RoleSlaveReadOnly, read(used))
    came = asked("fail", "SYSTEM_ERROR").add("consumer", process=3, status="on", group="X")
    if f == "group":
        assert_holds(RoleSlaveReadOnly, read(came))
    assert_unbroken(RoleSlaveReadOnly, read(asked("ok", "SUCCESS", "4.9.3")))


@pytest.mark.parametrize("f", ["put", "filler"])
def test_a_slave_writes_nothing_of_its_own(f: str) -> None:
    assert_holds(RoleSlaveReadOnly, refused().append("slave", 0, 100).append("master", 0, 100, f))
    assert_broken(RoleSlaveReadOnly, refused().append("slave", 0, 100, f), f"[0, 100) into its log by itself ({f})")


@pytest.mark.parametrize(("version", "is_broken"), [("4.9.7", True), ("4.9.2", False)])
def test_a_slave_that_deletes_is_no_slave(version: str, is_broken: bool) -> None:
    history = named(version).client("delete-topic", "slave", message="X", queue=None)
    if is_broken:
        assert_broken(RoleSlaveReadOnly, history, "accepted the request to delete topic X")
    else:
        assert_vacuous(RoleSlaveReadOnly, history)
    assert_holds(RoleSlaveReadOnly, named().client("delete-group", "slave", "fail", "SYSTEM_ERROR", message="X"))
