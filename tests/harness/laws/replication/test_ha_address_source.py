"""Tests of ``ha-address-source``."""

import pytest
from histories import H, Story, Verdict, assert_broken, assert_holds, blind
from histories.calls import call

from pairproof.harness.rocketmq.laws.replication.ha_address_source import HaAddressSource


def addressed(slave: dict[str, object], **master: object) -> Story:
    return Story().config("master", **master).config("slave", **slave).start("master").start("slave")


SET: dict[str, object] = {"haMasterAddress": "ha"}
NAMES: dict[str, object] = {"namesrvAddr": "names"}


def test_a_slave_connects_to_its_address() -> None:
    assert_holds(HaAddressSource, addressed(SET).after(11_000).connect())
    assert_holds(HaAddressSource, addressed(NAMES).register().after(11_000).connect())
    assert_broken(HaAddressSource, addressed(SET).after(11_001).connect(), "for 11001 ms, and has not connected")
    assert_broken(HaAddressSource, addressed(SET).after(11_001).mark("end"), "has not connected")
    late = addressed(NAMES).after(50_000).register().after(11_001)
    assert_broken(HaAddressSource, late.mark("end"), "for 11001 ms")
    assert_broken(HaAddressSource, addressed(NAMES).register().after(11_001).register().crash("master"), "for 11001 ms")


def test_no_slave_connects_before_it_has_an_address() -> None:
    assert_holds(HaAddressSource, addressed({}).after(60_000).mark("end"))
    assert_broken(HaAddressSource, addressed({}).connect(), "opened an HA connection, and had no address")
    assert_broken(HaAddressSource, addressed(NAMES).register(master=None).connect(), "had no address")
    assert_broken(HaAddressSource, addressed(NAMES).register(status="failed").connect(), "had no address")
    again = addressed(NAMES).register().connect().crash("slave").start("slave").connect()
    assert_broken(HaAddressSource, again, "had no address")
    # The slave may keep an address that the name server no longer has.
    assert_holds(HaAddressSource, addressed(NAMES).register().connect().register(master=None).connect())
    assert_holds(HaAddressSource, addressed({}).connect("rogue_slave"))


def test_addresses_are_unknown_where_registrations_are_not_recorded() -> None:
    assert blind(HaAddressSource, addressed(NAMES).connect(), "register") is Verdict.HOLDS


@pytest.mark.parametrize("place", ["ha", "slave", "master"])
def test_a_disturbed_slave_may_need_longer(place: str) -> None:
    assert_holds(HaAddressSource, addressed(SET).fault("latency", place).after(60_000).connect())
    before = addressed(NAMES).fault("latency", place).register().after(60_000)
    assert_holds(HaAddressSource, before.connect())
    elsewhere = addressed(SET).fault("latency", "client-master").after(60_000)
    assert_broken(HaAddressSource, elsewhere.connect(), "has not connected")


def test_no_slave_connects_to_a_master_that_is_down() -> None:
    assert_holds(HaAddressSource, addressed(SET).crash("master").after(60_000).mark("end"))
    first = H().config("master").config("slave", **SET).start("slave").after(60_000).start("master").after(11_000)
    assert_broken(HaAddressSource, first.after(1).mark("end"), "has had its master's HA address for 11001 ms")
    timely = H().config("master").config("slave", **SET).start("slave").after(60_000).start("master").after(11_000)
    assert_holds(HaAddressSource, timely.connect())
    assert_holds(HaAddressSource, addressed(NAMES).register().register(master=None).after(60_000).mark("end"))
    paused = addressed(SET).add("pause", node="slave").after(60_000)
    assert_holds(HaAddressSource, paused.mark("end"))


def test_a_second_master_s_address_is_not_the_master_s() -> None:
    second = addressed(NAMES).register(master="other").after(60_000)
    assert_holds(HaAddressSource, second.register().after(11_000).connect())
    late = addressed(NAMES).register(master="other").after(60_000).register().after(11_001)
    assert_broken(HaAddressSource, late.mark("end"), "has had its master's HA address for 11001 ms")
    assert_holds(HaAddressSource, addressed(NAMES).register(master="other").connect())


def test_a_name_server_answers_with_the_slave_s_own_master() -> None:
    assert_holds(HaAddressSource, addressed(NAMES).register().connect())
    assert_broken(
        HaAddressSource, addressed(NAMES).register(master="slave"), "answered slave that slave is its master", times=2
    )
    other = Story().config("master", brokerName="a").config("slave", brokerName="a", **NAMES)
    other.config("other", brokerName="b")
    for node in ("master", "slave", "other"):
        other.end[node] = 0
        other.start(node)
    assert_broken(HaAddressSource, other.register(master="other"), "answered slave that other is its master", times=2)
    # A text that is not a node's name is not checked.
    assert_holds(HaAddressSource, addressed(SET).register(master="10.0.0.1:10912").connect())


ONE: dict[str, object] = {"brokerIP1": "127.0.0.1", "brokerIP2": "", "listenPort": 10_911}
TWO: dict[str, object] = {**ONE, "brokerIP2": "10.1.0.1"}
FIVE: dict[str, object] = {"haListenPort": 10_914, "rocketmqVersion": "5.5.0"}


@pytest.mark.parametrize(
    ("settings", "address", "other"),
    [
        (ONE, ":+1", ":+3"),
        ({**ONE, "brokerIP2": "127.0.0.1"}, ":+1", "127.0.0.1:+1"),
        (TWO, "10.1.0.1:+1", ":+1"),
        ({**TWO, **FIVE}, "10.1.0.1:+3", "10.1.0.1:+1"),
        ({**TWO, **FIVE, "rocketmqVersion": "5.1.0"}, "10.1.0.1:+1", "10.1.0.1:+3"),
        ({**ONE, **FIVE, "rocketmqVersion": "4.9.7"}, ":+1", ":+3"),
        ({**ONE, **FIVE, "haListenPort": 0}, ":+1", ":+0"),
    ],
)
def test_the_registered_address_is_that_of_the_settings(settings: dict[str, object], address: str, other: str) -> None:
    for node in ("master", "slave"):
        history = addressed(NAMES | (settings if node == "slave" else {}), **(settings if node == "master" else {}))
        assert_holds(HaAddressSource, history.register(node, address=address).register().connect())
        expects = f"{node} registered its HA address as {other}, and its settings say {address}"
        assert_broken(HaAddressSource, history.register(node, address=other), expects)


def test_a_registration_that_failed_or_whose_address_is_unknown_is_not_judged() -> None:
    history = addressed(NAMES, **TWO).register("master", None, "failed", ":+1").register("master")
    assert_holds(HaAddressSource, history.register().connect())
    # A captured broker chooses an address of its machine.
    assert_holds(HaAddressSource, addressed(NAMES).register("master", address="10.9.9.9:+1").register().connect())


def test_without_an_address_a_slave_serves() -> None:
    assert_holds(HaAddressSource, call(addressed({}), "pull", "slave", status="PUT_OK"))
    assert_holds(HaAddressSource, call(addressed({}), "pull", "slave", "fail", "TOPIC_NOT_EXIST"))
    for status in ("SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"):
        assert_broken(HaAddressSource, call(addressed({}), "pull", "slave", "fail", status), f"refuses pulls: {status}")
        assert_holds(HaAddressSource, call(addressed(SET).connect(), "pull", "slave", "fail", status))
    five: dict[str, object] = {"rocketmqVersion": "5.5.0"}
    assert_holds(HaAddressSource, call(addressed(five), "pull", "slave", "fail", "SYSTEM_BUSY"))
    on = call(addressed({**five, "slaveReadEnable": 1}), "pull", "slave", "fail", "SYSTEM_BUSY")
    assert_broken(HaAddressSource, on, "refuses pulls")
