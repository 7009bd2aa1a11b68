"""The worst loss of each class of fault: one trial's class and loss, of histories written by hand."""

from __future__ import annotations

import pytest

from pairproof.harness import registry
from pairproof.harness.rocketmq.objectives import SEVERAL
from pairproof.harness.rocketmq.system import SYSTEM
from pairproof.harness.rocketmq.testing import H, pair
from pairproof.harness.rocketmq.worst import BOTH_BROKERS, BOTH_MACHINES, CLASSES, Loss, measure


def sent(*messages: str) -> H:
    history = pair()
    for message in messages:
        history.sent(message)
    return history


def end(history: H, master: str = "", slave: str = "") -> Loss:
    found = measure(history.audit(records={"master": master.split(), "slave": slave.split()}).events)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("fault", "place", "called"),
    [
        ("stall", "ha", "partition"),
        ("disconnect", "slave", "partition"),
        ("latency", "ha", "slow link"),
        ("disk_full", "master", "full disk"),
        ("read_only", "slave", "read-only disk"),
        ("kill", "master", "kill of the master"),
    ],
)
def test_each_fault_has_a_class_and_what_was_promised_meanwhile_counts(fault: str, place: str, called: str) -> None:
    history = sent("m0").fault(fault, place)
    history.put("m1").ok("m1").fault(fault, place, "off")
    assert end(history, "m0", "m0") == Loss(called, 2, 1, 0, 0)


def test_every_class_is_one_of_a_fault_that_there_is() -> None:
    assert CLASSES.keys() <= set(registry.names("faults"))


def test_messages_on_one_broker_only_are_told_by_where_they_are() -> None:
    found = end(sent("m0", "m1", "m2").fault("stall", "ha"), "m0 m1", "m0 m2")
    assert (found.lost, found.stranded, found.single) == (0, 1, 1)


@pytest.mark.parametrize(("how", "called"), [("machine", BOTH_MACHINES), ("process", BOTH_BROKERS)])
def test_both_at_once_is_a_class_whatever_took_them(how: str, called: str) -> None:
    history = sent("m0").fault("power_loss", "master").crash("master", how).fault("power_loss", "slave")
    history.crash("slave", how).start("master").start("slave")
    assert end(history).fault == called


def test_one_after_the_other_is_not_both_at_once() -> None:
    history = sent("m0").fault("kill", "master").crash("master").start("master").fault("kill", "master", "off")
    history.fault("kill", "slave").crash("slave").start("slave").fault("kill", "slave", "off")
    assert end(history).fault == SEVERAL


def test_a_fault_without_an_effect_has_no_class() -> None:
    history = sent("m0").fault("kill", "master")
    history.add("fault", op=sum(map(ord, "killmaster")), f="kill", status="off", node="master", value=0)
    assert measure(history.audit().events) is None


def test_where_nobody_read_the_master_no_loss_is_told() -> None:
    history = sent("m0").fault("stall", "ha")
    assert measure(history.events) == Loss("partition", 1, None, None, None) and SYSTEM.cost(history.events) is None


def test_the_system_says_it_in_words_the_worst_first() -> None:
    history = sent("m0", "m1").fault("disk_full", "master").audit(records={"master": ["m0"], "slave": []})
    assert SYSTEM.cost(history.events) == ("full disk", (1, 0, 1), "2 PUT_OK, 1 lost, 1 on the master only")
