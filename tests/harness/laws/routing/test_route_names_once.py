"""``route-names-once``: no broker under two ids."""

import json

from histories import H, assert_broken, assert_holds, assert_vacuous

from pairproof.harness.rocketmq.laws.routing.route_names_once import RouteNamesOnce


def learned(brokers: dict[str, str], java: str = "") -> H:
    history = H().config("master", **({"rocketmqVersion": java} if java else {}))
    history.add("start", node="master", lo=0, hi=0, f="unknown" if java else "empty")
    return history.add("route", process=1, group="G", status="found", detail=json.dumps(brokers))


def listed(brokers: dict[str, dict[str, str]]) -> H:
    return H().config("master").add("table", node="names", op=1, f="brokers", detail=json.dumps(brokers))


def test_a_route_names_each_broker_once() -> None:
    assert assert_holds(RouteNamesOnce, learned({"0": "master", "1": "slave"})).judged == 1
    twice = {"0": "slave", "1": "slave", "2": "slave2"}
    assert_broken(RouteNamesOnce, learned(twice), "a client's route names slave under 2 ids")


def test_the_name_servers_own_table_names_each_broker_of_a_name_once() -> None:
    assert_holds(RouteNamesOnce, listed({"broker-a": {"0": "master", "1": "slave"}, "broker-b": {"0": "other"}}))
    twice = {"broker-a": {"0": "slave", "1": "slave"}}
    assert_broken(RouteNamesOnce, listed(twice), "the name server's table of broker-a names slave under 2 ids")


def test_very_old_name_servers_and_topics_without_a_route_are_not_judged() -> None:
    twice = {"0": "slave", "1": "slave"}
    assert_vacuous(RouteNamesOnce, learned(twice, java="4.4.0"))
    assert_broken(RouteNamesOnce, learned(twice, java="4.9.7"), "under 2 ids")
    assert_vacuous(RouteNamesOnce, H().config("master").add("route", process=1, group="G", status="none"))
