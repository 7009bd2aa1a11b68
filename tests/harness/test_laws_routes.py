"""Whom consumers ask by their routes, and whom the name server names."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.routing.route_choice import RouteChoice
from pairproof.harness.rocketmq.laws.routing.route_expiry import RouteExpiry
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# route-choice: a consumer of three brokers.

PAIR = {0: "master", 1: "slave", 2: "slave2"}


class Chooses(H):
    """Process 1 is a consumer of t/0."""

    def learns(self, route: dict[int, str], status: str = "found") -> Chooses:
        self.add("route", process=1, status=status, detail=json.dumps(route))
        return self

    def told(self, broker: int, queue: str = "t/0", node: str = "master") -> Chooses:
        self.add("ok", process=1, f="pull", status="PUT_OK", node=node, queue=queue, group="g", broker=broker)
        return self

    def asks(self, broker: int | None, node: str | None = None, f: str = "pull", queue: str = "t/0") -> Chooses:
        node = PAIR.get(-1 if broker is None else broker, "master") if node is None else node
        self.add("invoke", process=1, f=f, node=node, queue=queue, group="g", broker=broker, message="m")
        return self

    def takes(self, status: str = "on") -> Chooses:
        self.add("assign", process=1, status=status, group="g", queue="t/0", value=0)
        return self


def consumer(route: dict[int, str] | None = None, **settings: object) -> Chooses:
    history = Chooses()
    for node in ("master", "slave", "slave2"):
        history.config(node, namesrvAddr="names:9876", **settings).start(node)
    history.add("consumer", process=1, status="on", group="g", f="clustering")
    return history.learns(PAIR if route is None else route)


def test_of_a_topic_whose_route_has_nobody_left_another_s_counts_which_may_be_older() -> None:
    gone = consumer({1: "slave"}).learns({}).asks(0)
    assert isinstance(gone, Chooses)
    assert_vacuous(RouteChoice, gone)
    assert_broken(RouteChoice, gone.learns(PAIR).told(1).asks(0), "chose broker 0; 1 was suggested")


def test_the_first_pull_goes_to_the_master_and_the_next_where_it_was_told() -> None:
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1).told(2).asks(2).told(0).asks(0))
    assert_broken(
        RouteChoice, consumer().asks(1), "a pull of t/0 chose broker 1; 0 was suggested, the route has 0: master"
    )
    assert_broken(RouteChoice, consumer().told(1).asks(0), "chose broker 0; 1 was suggested")
    assert_broken(RouteChoice, consumer().told(1).asks(2), "chose broker 2; 1 was suggested")


def test_each_queue_has_a_suggestion_of_its_own() -> None:
    assert_holds(RouteChoice, consumer().told(1, "t/1").asks(0).asks(1, queue="t/1"))
    assert_broken(RouteChoice, consumer().told(1, "t/1").asks(1), "0 was suggested")


def test_for_a_missing_broker_the_next_one_stands_in_and_then_any() -> None:
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(2))
    assert_broken(RouteChoice, consumer({0: "master", 2: "slave2"}).told(1).asks(0), "chose broker 0; 1 was suggested")
    for broker in (1, 2):
        assert_holds(RouteChoice, consumer({1: "slave", 2: "slave2"}).asks(broker))
    assert_holds(RouteChoice, consumer({0: "master", 1: "slave"}).told(2).asks(0))
    assert_holds(RouteChoice, consumer({0: "master", 2: "slave2"}, rocketmqVersion="4.7.1").told(1).asks(0))


def test_what_a_client_learned_last_counts() -> None:
    assert_holds(RouteChoice, consumer().learns({1: "slave"}).asks(1).learns(PAIR).asks(0))
    assert_holds(RouteChoice, consumer({1: "slave"}).learns({}, "none").asks(1))


def test_the_node_is_the_one_of_the_route() -> None:
    assert_broken(RouteChoice, consumer().asks(0, "slave"), "chose broker 0 and asked slave; the route has 0: master")
    assert_broken(RouteChoice, consumer({0: "master"}).told(1).asks(1), "chose broker 1 and asked slave; the route has")


def test_a_queue_just_taken_may_start_anew() -> None:
    assert_holds(RouteChoice, consumer().told(1).takes("off").takes().asks(0))
    assert_holds(RouteChoice, consumer().told(1).takes("off").takes().asks(1))
    assert_broken(RouteChoice, consumer().told(1).takes().asks(2), "chose broker 2; 1 was suggested")
    assert_broken(RouteChoice, consumer().takes().told(1).asks(0), "chose broker 0; 1 was suggested")


def fixing(broker: int, route: dict[int, str] | None = None) -> Chooses:
    """The consumer's user has fixed a broker."""
    history = consumer(route)
    history.add("consumer", process=1, status="on", group="g", f="clustering", broker=broker)
    return history


def test_who_has_a_fixed_broker_asks_it_whatever_is_suggested() -> None:
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).asks(1).told(2).asks(1))
    assert_holds(RouteChoice, fixing(0).asks(0).told(1).asks(0))
    ignored = "a pull of t/0 chose broker 0; 1 is fixed by its user, the route has 0: master"
    assert_broken(RouteChoice, fixing(1).asks(0), ignored)
    assert_broken(RouteChoice, fixing(1).asks(1).told(0).asks(0), ignored)
    assert_broken(RouteChoice, fixing(0).told(1).asks(1), "chose broker 1; 0 is fixed by its user")
    # To be led is right for others only.
    assert_holds(RouteChoice, consumer().asks(0).told(1).asks(1))
    assert_broken(RouteChoice, consumer().asks(0).told(1).asks(0), "1 was suggested")


def test_a_fixed_broker_that_is_missing_is_replaced_as_a_suggested_one_is() -> None:
    assert_holds(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(2))
    assert_broken(RouteChoice, fixing(1, {0: "master", 2: "slave2"}).asks(0), "1 is fixed by its user")
    assert_holds(RouteChoice, fixing(1, {0: "master"}).asks(0).learns(PAIR).asks(1))
    assert_broken(RouteChoice, fixing(1, {0: "master"}).asks(0).learns(PAIR).asks(0), "1 is fixed by its user")


def test_a_queue_just_taken_excuses_nobody_from_the_user_s_choice() -> None:
    assert_broken(RouteChoice, fixing(1).asks(1).told(0).takes("off").takes().asks(0), "1 is fixed by its user")
    assert_holds(RouteChoice, fixing(1).asks(1).told(0).takes("off").takes().asks(1))


def test_a_user_s_choice_ends_with_its_consumer() -> None:
    gone = fixing(1).asks(1)
    gone.add("consumer", process=1, status="off", group="g", f="clustering")
    gone.add("consumer", process=1, status="on", group="g", f="clustering")
    assert_holds(RouteChoice, gone.asks(0))


def test_only_what_pulls_were_told_counts() -> None:
    commit = consumer().told(1).add("ok", process=1, f="commit", node="master", queue="t/0", group="g", broker=0)
    assert isinstance(commit, Chooses)
    assert_holds(RouteChoice, commit.asks(1))
    silent = consumer().told(1).add("ok", process=1, f="pull", node="slave", queue="t/0", group="g")
    assert isinstance(silent, Chooses)
    assert_holds(RouteChoice, silent.asks(1))
    assert_broken(RouteChoice, consumer().told(1).takes("off").asks(0), "chose broker 0; 1 was suggested")


def test_sends_go_to_the_master() -> None:
    assert_holds(RouteChoice, consumer().asks(0, f="send"))
    assert_broken(RouteChoice, consumer().asks(1, f="send"), "a send of m chose broker 1; only 0 takes messages")


def test_who_did_not_choose_is_not_judged() -> None:
    assert_vacuous(RouteChoice, consumer().asks(None))
    assert_vacuous(RouteChoice, consumer().asks(1, f="commit"))
    assert_vacuous(RouteChoice, consumer().asks(0, "other"))
    gone = consumer()
    gone.add("consumer", process=1, status="lost", group="g")
    assert_vacuous(RouteChoice, gone.asks(1))
    blind = Chooses().config("master", namesrvAddr="names").start("master").add("consumer", process=1, status="on")
    assert isinstance(blind, Chooses)
    assert_vacuous(RouteChoice, blind.asks(1))


@pytest.mark.parametrize("law", [RouteChoice, RouteExpiry])
def test_without_a_name_server_there_are_no_routes(law: type[RouteChoice] | type[RouteExpiry]) -> None:
    assert judged(law, H().config("master").start("master").events).verdict is Verdict.NOT_APPLICABLE


# route-expiry


class Names(H):
    def read(self, *nodes: str, ids: dict[str, int] | None = None) -> Names:
        """The name server's table, which names these."""
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
    for node in ("master", "slave"):
        history.add("register", node=node, status="ok")
    return history


def later(history: H, ms: float) -> Names:
    assert isinstance(history, Names)
    history.after(ms)
    return history


def test_who_runs_is_named_under_its_own_id() -> None:
    assert_holds(RouteExpiry, later(names(), 60_000).read("master", "slave").learned("master", "slave"))
    for bad in (later(names(), 60_000).read("master"), later(names(), 60_000).learned("master")):
        assert_broken(
            RouteExpiry, bad, "slave runs, untouched for 60000 ms, and is not named; it registers every 30000 ms"
        )
    swapped = later(names(), 60_000).read("master", "slave", ids={"master": 1, "slave": 0})
    assert_broken(RouteExpiry, swapped, "master is named as broker 1; it is 0", times=2)


@pytest.mark.parametrize(("period", "ms"), [(30_000, 40_000), (5_000, 20_000), (90_000, 70_000), ("20000", 30_000)])
def test_who_returned_is_back_within_its_period(period: object, ms: int) -> None:
    def returned(after: float) -> Names:
        history = later(names(registerNameServerPeriod=period), 1_000).crash("slave").after(5_000).start("slave")
        return later(history, after).read("master")

    assert_vacuous(RouteExpiry, later(names(registerNameServerPeriod=period), 5_000).read("master"))
    assert judged(RouteExpiry, returned(ms).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, returned(ms + 1), "slave runs, untouched for")


def lacking(history: H, ms: float, node: str = "slave") -> Names:
    return later(history, ms).read(*({"master", "slave"} - {node}))


@pytest.mark.parametrize("place", ["names-slave", "names", "slave"])
def test_after_trouble_who_was_touched_has_two_periods(place: str) -> None:
    def mended() -> H:
        return later(names(), 100_000).fault("stall", place).after(10_000).fault("stall", place, "off")

    assert judged(RouteExpiry, lacking(mended(), 70_000).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, lacking(mended(), 70_001), "slave runs, untouched for 70001 ms")
    going_on = later(names(), 100_000).fault("stall", place).after(100_000)
    assert judged(RouteExpiry, lacking(going_on, 0).events).verdict is not Verdict.VIOLATED


@pytest.mark.parametrize("node", ["names", "slave"])
def test_who_stood_still_has_two_periods_too(node: str) -> None:
    def woke() -> H:
        return later(names(), 100_000).pause(node, 5_000)

    assert judged(RouteExpiry, lacking(woke(), 70_000).events).verdict is not Verdict.VIOLATED
    assert_broken(RouteExpiry, lacking(woke(), 70_001), "slave runs")


def test_a_name_server_that_was_restarted_learns_anew() -> None:
    def anew(ms: float) -> Names:
        history = later(names(), 100_000).crash("names").after(1_000).add("start", node="names")
        return later(history, ms).read()

    assert_vacuous(RouteExpiry, anew(70_000))
    assert_broken(RouteExpiry, anew(70_001), "master runs", times=2)
    assert_vacuous(RouteExpiry, later(later(names(), 100_000).crash("names"), 100_000).read().learned())


@pytest.mark.parametrize("how", ["process", "stop"])
def test_who_was_killed_or_stopped_is_not_named_a_moment_later(how: str) -> None:
    def dead(ms: float) -> Names:
        history = later(names(), 60_000)
        return later(history.stop("slave") if how == "stop" else history.crash("slave", how), ms)

    assert_holds(RouteExpiry, dead(1_000).read("master", "slave"))
    assert_holds(RouteExpiry, dead(1_001).read("master"))
    assert_broken(
        RouteExpiry, dead(1_001).read("master", "slave"), "slave is down for 1001 ms and still named; 1000 ms"
    )
    assert_broken(RouteExpiry, dead(1_001).learned("master", "slave"), "slave is down for 1001 ms and still named")


def test_who_is_told_to_stop_is_named_as_long_as_that_takes() -> None:
    def stopped(took_ms: int) -> Names:
        return later(later(names(), 60_000).add("stop", node="slave", value=took_ms), 3_000).read("master", "slave")

    assert_holds(RouteExpiry, stopped(2_000))
    assert_broken(RouteExpiry, stopped(1_999), "slave is down for 1001 ms and still named; 1000 ms")


def test_a_machine_that_loses_power_as_its_broker_stops_closes_nothing() -> None:
    def dead(after: float) -> Names:
        history = later(names(), 60_000).stop("slave").after(after).crash("slave", "machine")
        return later(history, 2_000).read("master", "slave")

    assert_holds(RouteExpiry, dead(0))
    assert_broken(RouteExpiry, dead(1), "slave is down for 2001 ms and still named")


def test_routes_name_a_slave_only_once_its_master_has_told_the_topics() -> None:
    def lone(*registers: str) -> Names:
        """The name server is started anew while the master is down."""
        history = later(names(), 60_000).crash("master").crash("names").add("start", node="names")
        for node in registers:
            history = later(history, 1_000).add("register", node=node, status="ok")
        return later(history, 99_000)

    assert_holds(RouteExpiry, lone("slave").learned("other"))
    assert_broken(RouteExpiry, lone("slave").read("other"), "slave runs")
    back = lone("slave").start("master").add("register", node="master", status="ok")
    assert_broken(RouteExpiry, later(back, 1_000).learned("master"), "slave runs, untouched for")


@pytest.mark.parametrize("lost", ["process", "link"])
def test_topics_are_forgotten_with_a_master_that_left_before_its_slave_was_there(lost: str) -> None:
    def alone(*registers: str) -> Names:
        """The name server is started anew, hears of these in turn, and loses the master."""
        history = later(names(), 60_000).crash("names").add("start", node="names")
        for node in registers:
            if node == "slave" and registers[0] == "master":
                lose(history)
            history = later(history, 1_000).add("register", node=node, status="ok")
        if registers[0] == "slave":
            lose(history)
        return later(history, 99_000)

    def lose(history: H) -> None:
        if lost == "process":
            history.crash("master")
        else:
            history.add("fault", link="names-master", f="down", status="on")

    assert not judged(RouteExpiry, alone("master", "slave").learned("other").events).broken
    assert_broken(RouteExpiry, alone("slave", "master").learned("other"), "slave runs, untouched for")


def test_who_did_not_register_since_may_be_named_by_an_older_connection() -> None:
    def dead(status: str, ms: float) -> Names:
        history = later(names(), 60_000).crash("slave", "machine").after(1_000).start("slave")
        history.add("register", node="slave", status=status).after(1_000).crash("slave")
        return later(history, ms).read("master", "slave")

    assert_broken(RouteExpiry, dead("ok", 1_001), "slave is down for 1001 ms and still named")
    assert_holds(RouteExpiry, dead("failed", 130_000))
    assert_broken(RouteExpiry, dead("failed", 130_001), "slave is down for 130001 ms")
    # It was answered at the moment at which it died and was started.
    at_once = later(names(), 60_000).add("register", node="slave", status="ok").crash("slave", "machine").start("slave")
    assert_holds(RouteExpiry, later(at_once.crash("slave"), 130_000).read("master", "slave"))


@pytest.mark.parametrize("why", ["machine", "names-slave", "names", "pause"])
def test_whose_end_nobody_heard_expires(why: str) -> None:
    def dead(ms: float) -> Names:
        history = later(names(), 60_000)
        if why.startswith("names"):
            history.fault("stall", why)
        history.crash("slave", "machine" if why == "machine" else "process")
        if why == "pause":
            history.pause("names", 3_000)
        return later(history, ms)

    assert not judged(RouteExpiry, dead(130_000).read("master", "slave").events).broken
    assert not judged(RouteExpiry, dead(130_001).read("master").events).broken
    assert_broken(
        RouteExpiry, dead(130_001).read("master", "slave"), "slave is down for 130001 ms and still named; 130000"
    )


def test_other_tables_name_nobody() -> None:
    for node, f in (("names", "topics"), ("master", "brokers")):
        assert_vacuous(RouteExpiry, later(names(), 60_000).add("table", node=node, f=f, detail="{}"))


def test_a_route_learned_over_a_troubled_link_may_be_an_old_one() -> None:
    def learned(history: H, ms: float) -> Names:
        return later(history, ms).learned("master", "slave")

    stalled = later(names(), 60_000).crash("slave").fault("stall", "names-client").after(20_000)
    stalled.fault("stall", "names-client", "off")
    assert_vacuous(RouteExpiry, learned(stalled, 10_000))
    assert_broken(RouteExpiry, learned(stalled, 1), "still named")
    paused = later(names(), 60_000).crash("slave").pause("names", 1_000)
    assert_vacuous(RouteExpiry, learned(paused, 9_000))


def test_another_broker_s_name_is_in_the_table_and_in_no_pair_s_route() -> None:
    def three() -> Names:
        history = Names().config("master", namesrvAddr="n").config("other", namesrvAddr="n", brokerRole="ASYNC_MASTER")
        return later(history.add("start", node="names").start("master").add("start", node="other"), 60_000)

    assert_holds(RouteExpiry, three().learned("master").read("master", "other"))
    assert_broken(RouteExpiry, three().read("master"), "other runs")
