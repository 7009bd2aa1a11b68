"""Tests of ``route-last-master``."""

from __future__ import annotations

import pytest
from histories import Story, Verdict, assert_broken, assert_holds, assert_vacuous, judged

from pairproof.harness.rocketmq.laws.routing.route_last_master import RouteLastMaster


class Two(Story):
    def read(self, zero: str | None = None, one: str = "slave") -> Two:
        """The name server's table; judged once no registration can have been in flight."""
        nodes = {"1": one} | ({"0": zero} if zero else {})
        return self.table("brokers", {"broker-a": nodes}, "names").after(8_000).table("brokers", {}, "slave")

    def routed(self, zero: str) -> Two:
        return self.route({"broker-a": {"0": zero}}).after(8_000).route({})

    def told(self, master: str) -> Two:
        return self.after(8_000).register("slave", master).after(8_000).route({})


def two(name: str = "broker-a") -> Two:
    history = Two()
    for node, its in (("master", "broker-a"), ("slave", "broker-a"), ("other", name)):
        number = int(node == "slave")
        role = "SLAVE" if number else "ASYNC_MASTER"
        history.config(node, namesrvAddr="n", brokerId=number, brokerName=its, brokerRole=role)
    history.add("start", node="names")
    history.start("master").start("slave").register("master", None).register("slave")
    return history.after(10_000).register("master", None).after(2_000)


def displaced() -> Two:
    """The other one has registered after the master."""
    return two().start("other", 0).after(3).register("other", None).after(100)


def test_the_master_that_registered_last_is_named() -> None:
    assert_holds(RouteLastMaster, displaced().read("other").routed("other").told("other"))
    says = "broker-a has master as master; other registered last"
    for bad in (displaced().read("master"), displaced().routed("master"), displaced().told("master")):
        assert_broken(RouteLastMaster, bad, says)
    assert_broken(RouteLastMaster, displaced().read(), "broker-a has no master; other registered last")


def test_the_first_one_takes_its_place_back_with_its_next_registration() -> None:
    back = displaced().after(28_000).register("master", None).after(100)
    assert_holds(RouteLastMaster, back.read("master"))
    assert_broken(
        RouteLastMaster, displaced().after(28_000).register("master", None).after(100).read("other"), "other as"
    )


def test_masters_of_two_names_have_no_place_in_common() -> None:
    history = two("broker-b").start("other", 0).after(3).register("other", None).after(100).read("master")
    assert judged(RouteLastMaster, history.events).verdict is Verdict.NOT_APPLICABLE


def test_a_registration_in_flight_may_have_been_first() -> None:
    def soon(ms: float) -> Two:
        return displaced().table("brokers", {"broker-a": {"0": "master"}}, "names").after(ms).register("master", None)

    assert_vacuous(RouteLastMaster, soon(6_900).after(8_000).route({}))
    assert_broken(RouteLastMaster, soon(7_100), "master as master")


@pytest.mark.parametrize("place", ["names-master", "names"])
def test_what_a_disturbed_link_may_bring_later_is_open(place: str) -> None:
    def mended(again: bool) -> Two:
        history = two().fault("stall", place).start("other", 0).after(3).register("other", None).after(9_000)
        history.fault("stall", place, "off").after(2_000)
        return history.register("other", None).after(100) if again else history

    assert_vacuous(RouteLastMaster, mended(False).read("master"))
    assert_broken(
        RouteLastMaster, mended(True).after(8_000).register("other", None).after(100).read("master"), "master as"
    )


def test_a_killed_master_takes_no_other_entry_with_it() -> None:
    def left(how: str, *more: str) -> Two:
        history = displaced().after(1_000).crash("master") if how == "kill" else displaced().after(1_000).stop("master")
        return history.after(1_000).read(*more)

    assert_holds(RouteLastMaster, left("kill", "other"))
    assert_broken(RouteLastMaster, left("kill"), "broker-a has no master; other registered last")
    # A stopped master unregisters the id, and so removes the other's entry.
    assert_vacuous(RouteLastMaster, left("stop"))


def test_an_ended_master_that_may_have_been_registering_is_not_judged() -> None:
    # Its next registration was due.
    due = displaced().after(26_500).crash("master").after(1_000).read()
    assert_vacuous(RouteLastMaster, due)
    calling = displaced()
    calling.add("invoke", node="master", process=7, op=900, f="topic", message="t", detail="{}")
    assert_vacuous(RouteLastMaster, calling.after(1).crash("master").after(1_000).read())


def test_a_master_may_be_missing_when_its_own_connection_was_disturbed() -> None:
    cut = displaced().fault("down", "names-other").after(1_000).read()
    assert assert_holds(RouteLastMaster, cut).judged == 1
    stale = displaced().fault("down", "names-other").after(1_000).read("master")
    assert_broken(RouteLastMaster, stale, "master as master")


def test_a_master_that_ended_while_it_held_the_place_leaves_it_empty() -> None:
    assert_holds(RouteLastMaster, displaced().crash("other").after(1_000).read())
    assert_broken(RouteLastMaster, displaced().crash("other").after(1_000).read("master"), "master as master")


def test_a_paused_master_may_have_sent_a_registration_before() -> None:
    paused = two().start("other", 0).after(3).register("other", None).after(100)
    paused.add("pause", node="master")
    assert_vacuous(RouteLastMaster, paused.after(10).read("master"))
    later = two()
    later.add("pause", node="master")
    later.after(2_000).start("other", 0).after(3).register("other", None).after(100)
    assert_broken(RouteLastMaster, later.read("master"), "master as master")


def test_a_restarted_name_server_knows_nobody() -> None:
    anew = displaced().crash("names").after(10).start("names", 0).after(100).read("master")
    assert_vacuous(RouteLastMaster, anew)
