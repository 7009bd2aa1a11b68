"""Tests of ``role-no-takeover``."""

import json

from histories import H, assert_broken, assert_holds, assert_vacuous, pair
from histories.calls import begin, call, end

from pairproof.harness.rocketmq.laws.roles.role_no_takeover import RoleNoTakeover


def test_no_node_accepts_messages_while_the_master_is_down() -> None:
    def down() -> H:
        return pair().sent("m0").crash("master")

    assert_holds(RoleNoTakeover, call(down(), "send", "master", "fail", "refused", message="m1"))
    assert_holds(RoleNoTakeover, call(down(), "send", "slave", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    assert_holds(RoleNoTakeover, call(down(), "send", "master", "info", "timeout", message="m1"))
    for node in ("master", "slave"):
        taken = call(down(), "send", node, "ok", "PUT_OK", message="m1")
        assert_broken(RoleNoTakeover, taken, f"{node} accepted m1 (PUT_OK) while the master was down")
    assert_vacuous(RoleNoTakeover, call(down(), "send", "other", "ok", "PUT_OK", message="m1"))
    assert_vacuous(RoleNoTakeover, call(down(), "pull", "slave", "ok", "PUT_OK"))
    stopped = pair().sent("m0").stop("master")
    assert_broken(RoleNoTakeover, call(stopped, "send", "slave", "ok", "PUT_OK", message="m1"), "slave accepted m1")


def test_sends_that_overlap_the_master_s_going_or_coming_say_nothing() -> None:
    going = begin(pair(), "send", "master", message="m1").crash("master")
    assert_vacuous(RoleNoTakeover, end(going, "send", "master", "ok", "PUT_OK", message="m1"))
    coming = begin(pair().crash("master"), "send", "master", message="m1").start("master")
    assert_vacuous(RoleNoTakeover, end(coming, "send", "master", "ok", "PUT_OK", message="m1"))
    assert_vacuous(RoleNoTakeover, call(pair(), "send", "master", "ok", "PUT_OK", message="m1"))


def test_id_0_is_never_a_slave_s() -> None:
    def routed(zero: str | None, history: H) -> H:
        nodes = {"1": "slave", **({"0": zero} if zero else {})}
        return history.add("route", process=1, status="found", detail=json.dumps(nodes))

    assert_holds(RoleNoTakeover, routed(None, pair().crash("master")))
    assert_holds(RoleNoTakeover, routed("master", pair().crash("master")))
    assert_broken(RoleNoTakeover, routed("slave", pair().crash("master")), "a client's route names slave, a slave")
    assert_broken(RoleNoTakeover, routed("slave", pair()), "as the master")
    assert_vacuous(RoleNoTakeover, pair().crash("master").add("route", process=1, status="none"))

    def listed(zero: str) -> H:
        found = json.dumps({"broker-a": {"0": zero, "1": "slave"}, "broker-b": {"0": "other"}})
        return pair().crash("master").add("table", node="names", f="brokers", detail=found)

    assert_holds(RoleNoTakeover, listed("master"))
    assert_broken(RoleNoTakeover, listed("slave"), "names's entry for broker-a names slave, a slave, as the master")


def back() -> H:
    history = pair().sent("m0").fault("kill", "master").crash("master").after(100)
    return history.start("master").fault("kill", "master", "off")


def test_a_master_that_is_back_takes_messages_again() -> None:
    assert_holds(RoleNoTakeover, call(back(), "send", "master", "ok", "PUT_OK", message="m1"))
    assert_holds(RoleNoTakeover, call(back(), "send", "master", "fail", "MESSAGE_ILLEGAL", message="m1"))
    not_ready = call(back(), "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1")
    assert_broken(RoleNoTakeover, not_ready, "the master is back, and refused m1 as if it were not ready")
    assert_vacuous(RoleNoTakeover, call(back(), "send", "master", "info", "disconnected", message="m1"))
    assert_vacuous(RoleNoTakeover, call(pair(), "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))


def test_a_master_that_something_else_touches_may_refuse() -> None:
    full = back().fault("disk_full", "master")
    assert_vacuous(RoleNoTakeover, call(full, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    over = back().fault("disk_full", "master").fault("disk_full", "master", "off")
    assert_vacuous(RoleNoTakeover, call(over, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    both = pair().fault("disk_full", "master").fault("kill", "master").crash("master").start("master")
    both.fault("kill", "master", "off").fault("disk_full", "master", "off")
    assert_vacuous(RoleNoTakeover, call(both, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
