"""Tests of ``live-progress``."""

import pytest
from histories import MS, H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.liveness.live_progress import LiveProgress


def pull(history: H, node: str, op: int = 90, process: int = 90) -> H:
    return history.add("invoke", node=node, op=op, f="pull", process=process, value=0)


def got(history: H, node: str, phase: str = "ok", op: int = 90) -> H:
    return history.add(phase, node=node, op=op, f="pull", process=90, value=0)


def struck(place: str = "ha") -> H:
    return pair().fault("stall", place)


@pytest.mark.parametrize("place", ["ha", "slave", "client-slave"])
def test_a_master_answers_sends_whatever_happens_to_its_slave(place: str) -> None:
    assert_holds(LiveProgress, struck(place).put("m0").after(6_000).ok("m0", "FLUSH_SLAVE_TIMEOUT"))
    assert_broken(LiveProgress, struck(place).put("m0").after(6_001).ok("m0"), "send of m0 took 6001 ms")
    assert_broken(LiveProgress, struck(place).put("m0").after(9).over("m0", "info", "disconnected"), "was not answered")
    assert_broken(LiveProgress, struck(place).put("m0").after(6_001).mark("end"), "was not answered")


def test_a_refusal_is_an_answer() -> None:
    assert_holds(LiveProgress, struck().put("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE"))


def test_a_pull_waits_for_no_slave() -> None:
    assert_holds(LiveProgress, got(pull(struck(), "master").after(1_000), "master"))
    assert_broken(LiveProgress, got(pull(struck(), "master").after(1_001), "master"), "a pull at 0 took 1001 ms")


def test_a_large_message_takes_as_long_as_many_small_ones() -> None:
    def sent(size: int) -> H:
        history = pair().add("lab", f="sim", value=10 * MS)
        history.add("invoke", node="master", op=50, f="send", process=0, value=0, detail=f'{{"size": {size}}}')
        return pull(history.fault("stall", "ha"), "master")

    assert_holds(LiveProgress, got(sent(40_960).after(1_110), "master"))
    assert_broken(LiveProgress, got(sent(40_960).after(1_111), "master"), "1110 ms are enough")
    assert_broken(LiveProgress, got(sent(0).after(1_011), "master"), "1010 ms are enough")


def test_a_slave_serves_while_its_master_is_down() -> None:
    assert_holds(LiveProgress, got(pull(pair().crash("master"), "slave"), "slave"))
    assert_broken(LiveProgress, got(pull(pair().crash("master"), "slave").after(9), "slave", "info"), "not answered")
    assert_broken(LiveProgress, got(pull(pair().add("pause", node="master"), "slave"), "slave", "info"), "with slave")


@pytest.mark.parametrize("place", ["master", "client-master"])
def test_calls_with_a_disturbed_broker_or_link_are_not_judged(place: str) -> None:
    lost = struck().fault("latency", place).put("m0").over("m0", "info", "timeout")
    assert_vacuous(LiveProgress, lost)
    assert_vacuous(LiveProgress, struck().put("m0").fault("latency", place).over("m0", "info", "disconnected"))
    # Its connection may have ended with that fault, unnoticed.
    first = pull(pair(), "master", op=80).fault("latency", place).fault("latency", place, "off").fault("stall", "ha")
    assert_vacuous(LiveProgress, got(pull(first, "master"), "master", "info"))
    # So may a connection of other calls.
    for kind, columns in (("decide", {"queue_offset": 0}), ("try", {})):
        used = pair().add(kind, node="master", process=90, op=8, f="ok", message="m", queue="t/0", **columns)
        used.after(1).crash("master", "machine").start("master").after(1).fault("stall", "ha")
        assert_vacuous(LiveProgress, got(pull(used, "master"), "master", "info"))


def test_calls_to_a_broker_that_is_down_are_not_judged() -> None:
    assert_vacuous(LiveProgress, got(pull(struck().crash("master"), "master"), "master", "info"))
    assert_vacuous(LiveProgress, got(pull(struck(), "master").crash("master").start("master"), "master", "info"))


def test_without_a_fault_elsewhere_other_laws_judge() -> None:
    assert_vacuous(LiveProgress, pair().put("m0").over("m0", "info", "disconnected"))


def test_sends_that_wait_in_turn_have_no_bound() -> None:
    def second(version: str) -> H:
        two = pair(rocketmqVersion=version).put("m0").fault("stall", "ha").put("m1")
        return two.after(9_502).ok("m1", "FLUSH_SLAVE_TIMEOUT")

    assert_vacuous(LiveProgress, second("4.9.2"))
    assert_broken(LiveProgress, second("4.9.7"), "6000 ms are enough")
