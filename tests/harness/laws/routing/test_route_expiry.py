"""Tests of ``route-expiry``."""

from __future__ import annotations

import json

import pytest
from histories import H, Story, assert_broken, assert_holds, assert_unbroken, assert_vacuous

from pairproof.harness.rocketmq.laws.routing.route_expiry import RouteExpiry


class Names(Story):
    def read(self, *nodes: str, ids: dict[str, int] | None = None) -> Names:
        """The name server's table, which lists these."""
        known = {str((ids or {}).get(node, {"slave": 1}.get(node, 0))): node for node in nodes if node != "other"}
        table = {"broker-a": known} | ({"broker-b": {"0": "other"}} if "other" in nodes else {})
        self.add("table", node="names", f="brokers", detail=json.dumps(table))
        return self

    def learned(self, *nodes: str) -> Names:
        self.add("route", process=1, status="found", detail=json.dumps({str(int(n != "master")): n for n in nodes}))
        return self


def names(**settings: object) -> Names:
    history = Names()
    history.config("master", namesrvAddr="n", brokerId=0, **settings)
    history.config("slave", namesrvAddr="n", brokerId=1, **settings).add("start", node="names")
    history.start("master").start("slave")
    return history.register("master").register()


def test_a_running_broker_is_named_under_its_own_id() -> None:
    assert_holds(RouteExpiry, names().after(60_000).read("master", "slave").learned("master", "slave"))
    for bad in (names().after(60_000).read("master"), names().after(60_000).learned("master")):
        assert_broken(
            RouteExpiry, bad, "slave runs, undisturbed for 60000 ms, and is not named; it registers every 30000 ms"
        )
    swapped = names().after(60_000).read("master", "slave", ids={"master": 1, "slave": 0})
    assert_broken(RouteExpiry, swapped, "master is named as broker 1; it is 0", times=2)


@pytest.mark.parametrize(("period", "ms"), [(30_000, 40_000), (5_000, 20_000), (90_000, 70_000), ("20000", 30_000)])
def test_a_returned_broker_is_back_within_its_period(period: object, ms: int) -> None:
    def returned(after: float) -> Names:
        history = names(registerNameServerPeriod=period).after(1_000).crash("slave").after(5_000).start("slave")
        return history.after(after).read("master")

    assert_vacuous(RouteExpiry, names(registerNameServerPeriod=period).after(5_000).read("master"))
    assert_unbroken(RouteExpiry, returned(ms))
    assert_broken(RouteExpiry, returned(ms + 1), "slave runs, undisturbed for")


def lacking(history: H, ms: float, node: str = "slave") -> Names:
    return history.after(ms).read(*({"master", "slave"} - {node}))


@pytest.mark.parametrize("place", ["names-slave", "names", "slave"])
def test_a_disturbed_broker_has_two_periods(place: str) -> None:
    def mended() -> H:
        return names().after(100_000).fault("stall", place).after(10_000).fault("stall", place, "off")

    assert_unbroken(RouteExpiry, lacking(mended(), 70_000))
    assert_broken(RouteExpiry, lacking(mended(), 70_001), "slave runs, undisturbed for 70001 ms")
    going_on = names().after(100_000).fault("stall", place).after(100_000)
    assert_unbroken(RouteExpiry, lacking(going_on, 0))


@pytest.mark.parametrize("node", ["names", "slave"])
def test_a_paused_node_gives_two_periods(node: str) -> None:
    def woke() -> H:
        return names().after(100_000).pause(node, 5_000)

    assert_unbroken(RouteExpiry, lacking(woke(), 70_000))
    assert_broken(RouteExpiry, lacking(woke(), 70_001), "slave runs")


def test_a_name_server_that_was_restarted_learns_anew() -> None:
    def anew(ms: float) -> Names:
        history = names().after(100_000).crash("names").after(1_000).add("start", node="names")
        return history.after(ms).read()

    assert_vacuous(RouteExpiry, anew(70_000))
    assert_broken(RouteExpiry, anew(70_001), "master runs", times=2)
    assert_vacuous(RouteExpiry, names().after(100_000).crash("names").after(100_000).read().learned())


def test_a_rival_has_the_place_until_it_ends_and_two_periods_later() -> None:
    def rivals(ms: float, second: str = "broker-a") -> Names:
        history = Names()
        for node, name, number in (("master", "broker-a", 0), ("slave", "broker-a", 1), ("other", second, 0)):
            history.config(node, namesrvAddr="n", brokerId=number, brokerName=name)
        history.add("start", node="names").start("master").start("slave").register("master").register()
        history.after(100_000).start("other", 0).after(100_000)
        history.read("slave").crash("other").after(ms)
        return history.read("slave")

    assert_unbroken(RouteExpiry, rivals(71_000))
    assert_broken(RouteExpiry, rivals(71_001), "master runs, undisturbed for 70001 ms, and is not named")
    assert_broken(RouteExpiry, rivals(0, "broker-b"), "master runs", times=3)


@pytest.mark.parametrize("how", ["process", "stop"])
def test_a_killed_or_stopped_broker_leaves_the_routes_immediately(how: str) -> None:
    def dead(ms: float) -> Names:
        history = names().after(60_000)
        return (history.stop("slave") if how == "stop" else history.crash("slave", how)).after(ms)

    assert_holds(RouteExpiry, dead(1_000).read("master", "slave"))
    assert_holds(RouteExpiry, dead(1_001).read("master"))
    assert_broken(
        RouteExpiry, dead(1_001).read("master", "slave"), "slave is down for 1001 ms and still named; 1000 ms"
    )
    assert_broken(RouteExpiry, dead(1_001).learned("master", "slave"), "slave is down for 1001 ms and still named")


def test_a_stopping_broker_may_be_named_until_it_has_ended() -> None:
    def stopped(took_ms: int) -> Names:
        return names().after(60_000).add("stop", node="slave", value=took_ms).after(3_000).read("master", "slave")

    assert_holds(RouteExpiry, stopped(2_000))
    assert_broken(RouteExpiry, stopped(1_999), "slave is down for 1001 ms and still named; 1000 ms")


def test_a_machine_that_loses_power_as_its_broker_stops_closes_nothing() -> None:
    def dead(after: float) -> Names:
        history = names().after(60_000).stop("slave").after(after).crash("slave", "machine")
        return history.after(2_000).read("master", "slave")

    assert_holds(RouteExpiry, dead(0))
    assert_broken(RouteExpiry, dead(1), "slave is down for 2001 ms and still named")


def test_routes_name_a_slave_only_once_its_master_has_registered_the_topics() -> None:
    def lone(*registers: str) -> Names:
        """The name server restarts while the master is down."""
        history = names().after(60_000).crash("master").crash("names").add("start", node="names")
        for node in registers:
            history = history.after(1_000).add("register", node=node, status="ok")
        return history.after(99_000)

    assert_holds(RouteExpiry, lone("slave").learned("other"))
    assert_broken(RouteExpiry, lone("slave").read("other"), "slave runs")
    back = lone("slave").start("master").add("register", node="master", status="ok")
    assert_broken(RouteExpiry, back.after(1_000).learned("master"), "slave runs, undisturbed for")


@pytest.mark.parametrize("lost", ["process", "link"])
def test_topics_are_forgotten_with_a_master_that_left_before_its_slave_was_there(lost: str) -> None:
    def alone(*registers: str) -> Names:
        """The name server restarts, receives these registrations in turn, and loses the master."""
        history = names().after(60_000).crash("names").add("start", node="names")
        for node in registers:
            if node == "slave" and registers[0] == "master":
                lose(history)
            history = history.after(1_000).add("register", node=node, status="ok")
        if registers[0] == "slave":
            lose(history)
        return history.after(99_000)

    def lose(history: H) -> None:
        if lost == "process":
            history.crash("master")
        else:
            history.add("fault", link="names-master", f="down", status="on")

    assert_unbroken(RouteExpiry, alone("master", "slave").learned("other"))
    assert_broken(RouteExpiry, alone("slave", "master").learned("other"), "slave runs, undisturbed for")


def test_a_broker_without_a_new_registration_may_be_named_by_an_older_connection() -> None:
    def dead(status: str, ms: float) -> Names:
        history = names().after(60_000).crash("slave", "machine").after(1_000).start("slave")
        history.add("register", node="slave", status=status).after(1_000).crash("slave")
        return history.after(ms).read("master", "slave")

    assert_broken(RouteExpiry, dead("ok", 1_001), "slave is down for 1001 ms and still named")
    assert_holds(RouteExpiry, dead("failed", 130_000))
    assert_broken(RouteExpiry, dead("failed", 130_001), "slave is down for 130001 ms")
    # It was answered at the moment at which it died and was started.
    at_once = names().after(60_000).add("register", node="slave", status="ok").crash("slave", "machine").start("slave")
    assert_holds(RouteExpiry, at_once.crash("slave").after(130_000).read("master", "slave"))


@pytest.mark.parametrize("why", ["machine", "names-slave", "names", "pause"])
def test_a_broker_whose_end_went_unnoticed_expires(why: str) -> None:
    def dead(ms: float) -> Names:
        history = names().after(60_000)
        if why.startswith("names"):
            history.fault("stall", why)
        history.crash("slave", "machine" if why == "machine" else "process")
        if why == "pause":
            history.pause("names", 3_000)
        return history.after(ms)

    assert_unbroken(RouteExpiry, dead(130_000).read("master", "slave"))
    assert_unbroken(RouteExpiry, dead(130_001).read("master"))
    assert_broken(
        RouteExpiry, dead(130_001).read("master", "slave"), "slave is down for 130001 ms and still named; 130000"
    )


def test_other_tables_are_not_judged() -> None:
    for node, f in (("names", "topics"), ("master", "brokers")):
        assert_vacuous(RouteExpiry, names().after(60_000).add("table", node=node, f=f, detail="{}"))


def test_a_route_learned_over_a_disturbed_link_may_be_an_old_one() -> None:
    def learned(history: H, ms: float) -> Names:
        return history.after(ms).learned("master", "slave")

    stalled = names().after(60_000).crash("slave").fault("stall", "names-client").after(20_000)
    stalled.fault("stall", "names-client", "off")
    assert_vacuous(RouteExpiry, learned(stalled, 10_000))
    assert_broken(RouteExpiry, learned(stalled, 1), "still named")
    paused = names().after(60_000).crash("slave").pause("names", 1_000)
    assert_vacuous(RouteExpiry, learned(paused, 9_000))


def test_a_route_need_not_name_a_master_whose_topic_may_be_gone() -> None:
    assert_broken(RouteExpiry, names().after(60_000).learned("slave"), "master runs")
    deleted = names().add("invoke", node="master", f="delete-topic", process="a", op=3, message="pairproof")
    assert_vacuous(RouteExpiry, deleted.after(60_000).learned("slave"))
    wiped = names().crash("master").add("wipe", node="master", f="wipe").start("master").register("master")
    assert_vacuous(RouteExpiry, wiped.after(60_000).learned("slave"))
    # The name server's own table names it all the same.
    assert_broken(RouteExpiry, wiped.read("slave"), "master runs")


def test_another_broker_s_name_is_in_the_table_and_in_no_pair_s_route() -> None:
    def three() -> Names:
        history = Names().config("master", namesrvAddr="n").config("other", namesrvAddr="n", brokerRole="ASYNC_MASTER")
        return history.add("start", node="names").start("master").add("start", node="other").after(60_000)

    assert_holds(RouteExpiry, three().learned("master").read("master", "other"))
    assert_broken(RouteExpiry, three().read("master"), "other runs")


def test_a_registered_broker_is_named_at_once() -> None:
    def answered(ms: float) -> Names:
        returned = names().after(1_000).crash("slave").after(5_000).start("slave").after(100).register()
        return lacking(returned, ms)

    assert_unbroken(RouteExpiry, answered(1_000))
    late = "undisturbed for 1101 ms, and is not named; it was answered 1001 ms ago"
    assert_broken(RouteExpiry, answered(1_001), late)
    for place in ("names-slave", "names"):
        for ms, is_judged in ((6_000, False), (6_001, True)):
            again = names().fault("down", place).after(9_000).fault("down", place, "off").after(ms).register()
            if is_judged:
                assert_broken(RouteExpiry, lacking(again, 1_001), "it was answered 1001 ms ago")
            else:
                # The answer may have been in flight since before the fault.
                assert_unbroken(RouteExpiry, lacking(again, 1_001))
