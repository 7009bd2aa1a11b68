"""What a fault costs a deployment, of histories written by hand; each number can be another one."""

from __future__ import annotations

import pytest

from pairproof.harness.rocketmq.deployments import NAMES, Cost, deployment, measure
from pairproof.harness.rocketmq.objectives import SEVERAL
from pairproof.harness.rocketmq.testing import H, pair


def cost(history: H) -> Cost:
    found = measure(history.events)
    assert found is not None
    return found


def away(history: H, node: str = "master", fault: str = "kill") -> H:
    """A fault begins and ends the node's process."""
    return history.fault(fault, node).crash(node)


def back(history: H, *held: str, node: str = "master", fault: str = "kill", slave: tuple[str, ...] = ()) -> H:
    """The fault ends, the node is back, and at the end these messages are on the master and on the slave."""
    history.start(node).fault(fault, node, "off")
    return history.audit(records={"master": list(held), "slave": list(slave)})


def sent(*messages: str) -> H:
    history = pair()
    for message in messages:
        history.sent(message)
    return history


def read(history: H, node: str, *messages: str) -> H:
    history.add("invoke", node=node, op=900, f="pull")
    for message in messages:
        history.add("deliver", node=node, op=900, f="pull", message=message)
    return history


def test_a_trial_whose_brokers_stay_up_costs_nothing() -> None:
    assert measure(sent("m0").audit().events) is None
    assert measure(sent("m0").fault("latency", "ha").fault("latency", "ha", "off").audit().events) is None
    assert measure(sent("m0").crash("master").audit().events) is None, "no fault did it"


def test_what_no_broker_holds_at_the_end_is_lost_and_what_only_a_slave_holds_is_stranded() -> None:
    kept = cost(back(away(sent("m0", "m1")), "m0", "m1", slave=("m0", "m1")))
    assert (kept.acknowledged, kept.lost, kept.stranded) == (2, 0, 0)
    stranded = cost(back(away(sent("m0", "m1")), "m0", slave=("m0", "m1")))
    assert (stranded.lost, stranded.stranded) == (0, 1)
    lost = cost(back(away(sent("m0", "m1")), "m0", slave=("m0",)))
    assert (lost.lost, lost.stranded) == (1, 0)
    assert lost.fault == "kill of the master"


def test_only_what_was_put_ok_before_the_fault_is_at_stake() -> None:
    history = sent("m0").put("m1").ok("m1", "SLAVE_NOT_AVAILABLE").put("m2")
    history = away(history).ok("m2")
    found = cost(back(history))
    assert (found.acknowledged, found.lost, found.tried) == (1, 1, 0)


def test_without_an_audit_of_the_master_nobody_knows_what_is_lost() -> None:
    history = away(sent("m0"))
    assert [cost(history).outcome(name) for name in ("lost", "stranded", "tried")] == [None, None, 0]
    assert cost(back(history)).outcome("lost") == 1


def test_readable_is_what_was_delivered_while_the_fault_lasted() -> None:
    history = read(away(read(sent("m0", "m1", "m2"), "master", "m2")), "slave", "m0", "m0", "m1")
    found = cost(read(back(history), "master", "m2"))
    assert (found.readable, found.unavailable) == (2, 1)


def test_a_reader_that_got_nothing_is_not_the_same_as_no_reader() -> None:
    found = cost(read(away(sent("m0")), "slave"))
    assert (found.outcome("readable"), found.outcome("unavailable")) == (0, 1)
    found = cost(away(sent("m0")))
    assert (found.outcome("readable"), found.outcome("unavailable")) == (None, None)


def test_sends_of_the_meantime_are_accepted_or_only_stored_or_neither() -> None:
    history = away(sent("m0"), "slave").sent("m1").put("m2").ok("m2", "SLAVE_NOT_AVAILABLE")
    history.invoke("m3").over("m3", "info", "timeout")
    found = cost(back(history, node="slave").sent("m4"))
    assert (found.tried, found.accepted, found.stored) == (3, 1, 1)
    assert found.fault == "kill of the slave"


def test_what_another_master_took_is_kept_and_can_be_accepted_meanwhile() -> None:
    def other(history: H, message: str, op: int) -> H:
        call = {"node": "other", "op": op, "f": "send", "message": message}
        return history.add("invoke", **call).add("ok", **call, status="PUT_OK", lo=0, hi=100)

    history = other(away(other(sent("m0"), "b0", 500)), "b1", 501)
    found = cost(back(history))
    assert (found.acknowledged, found.lost, found.tried, found.accepted) == (2, 1, 1, 1)


def test_a_fault_lasts_to_its_end_or_to_the_trial_s() -> None:
    def lasting() -> H:
        return away(sent("m0")).sent("m1")

    assert cost(lasting().mark("end")).tried == 1
    assert cost(back(lasting()).sent("m2").mark("end")).tried == 1


def test_where_faults_overlap_nobody_can_tell_which_cost_what() -> None:
    history = away(sent("m0").fault("down", "ha"))
    assert cost(back(history)).fault == SEVERAL
    history = away(sent("m0").fault("down", "ha").fault("down", "ha", "off").after(1))
    assert cost(back(history)).fault == "kill of the master"
    history = back(away(back(away(sent("m0")), "m0"), "slave", "wipe"), "m0", node="slave", fault="wipe")
    assert cost(history).fault == SEVERAL


@pytest.mark.parametrize(
    ("roles", "name"),
    [
        ({"master": "ASYNC_MASTER"}, "single master"),
        ({"master": "SYNC_MASTER", "other": "ASYNC_MASTER"}, "several masters"),
        ({"master": "ASYNC_MASTER", "slave": "SLAVE", "other": "ASYNC_MASTER"}, "several masters, asynchronous slaves"),
        ({"master": "SYNC_MASTER", "slave": "SLAVE", "other": "ASYNC_MASTER"}, "several masters, synchronous slaves"),
        ({"master": "SYNC_MASTER", "slave": "SLAVE", "slave2": "SLAVE"}, "single master, synchronous slaves"),
    ],
)
def test_a_deployment_goes_by_its_brokers(roles: dict[str, str], name: str) -> None:
    assert deployment(list(roles.items())) == name
    assert name in NAMES


def test_the_deployment_and_the_flush_mode_are_those_of_the_configuration() -> None:
    found = cost(away(pair(flushDiskType="SYNC_FLUSH").sent("m0")))
    assert (found.deployment, found.mode) == ("single master, synchronous slaves", "SYNC_FLUSH")
