"""Tests of ``route-reported``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming

from pairproof.harness.rocketmq.laws.routing.route_reported import RouteReported


def changed(history: H, queues: int = 2, phase: str = "ok", name: str = "t1", **more: int) -> H:
    op, history.ops = history.ops, history.ops + 1
    call = {"node": "master", "process": 3, "op": op, "f": "topic", "message": name}
    history.add("invoke", **call, detail=json.dumps({"queues": queues, **more})).after(2)
    return history.add(phase, **call, status="PUT_OK")


def registered(history: H, after: float = 0, status: str = "ok", node: str = "master") -> H:
    return history.after(after).add("register", node=node, status=status)


def listed() -> H:
    """A master that has registered."""
    return registered(consuming()).after(1)


def test_a_changed_topic_is_registered_within_a_second() -> None:
    assert_holds(RouteReported, registered(changed(listed()), 1_000))
    assert_broken(RouteReported, registered(changed(listed()), 1_001), "t1 was changed, and not registered for 1001 ms")
    assert_broken(RouteReported, changed(listed()).after(1_001).mark("end"), "t1 was changed")
    for other in ({"status": "failed"}, {"node": "slave"}):
        assert_broken(RouteReported, registered(changed(listed()), **other).after(1_001).mark("end"), "t1 was changed")


def test_a_registration_may_come_before_the_answer_to_the_change_and_not_before_the_question() -> None:
    def call(history: H, kind: str) -> H:
        return history.add(kind, node="master", process=3, op=77, f="topic", message="t1", detail="{}")

    assert_holds(RouteReported, call(registered(call(listed(), "invoke"), 1), "ok").after(9_000).mark("end"))
    assert_broken(RouteReported, changed(registered(listed()).after(1)).after(1_001).mark("end"), "t1 was changed")


def test_an_empty_or_uncertain_change_is_not_judged() -> None:
    once = registered(changed(listed())).after(10)
    assert_holds(RouteReported, changed(once).after(9_000).mark("end"))
    # Defaults that are given change nothing.
    assert_holds(RouteReported, changed(once, reads=2, perm=6).after(9_000).mark("end"))
    again = registered(changed(listed())).after(10)
    assert_broken(RouteReported, changed(again, 3).after(1_001).mark("end"), "t1 was changed")
    for phase in ("fail", "info"):
        assert_vacuous(RouteReported, changed(changed(listed(), phase=phase)).after(9_000).mark("end"))
    moved = registered(changed(listed())).wipe("master", "image").start("master").after(20_000)
    assert_holds(RouteReported, changed(moved, 3).after(9_000).mark("end"))


@pytest.mark.parametrize("place", ["master", "names-master"])
def test_a_topic_in_a_disturbed_world_is_not_judged(place: str) -> None:
    assert_vacuous(RouteReported, changed(listed().fault("slow", place)).after(9_000).mark("end"))
    ended = changed(listed().fault("slow", place).fault("slow", place, "off").after(9_000))
    assert_vacuous(RouteReported, ended.after(9_000).mark("end"))
    assert_vacuous(RouteReported, changed(listed()).after(900).crash("master").after(9_000).mark("end"))
    assert_broken(RouteReported, changed(listed().fault("slow", "ha")).after(1_001).mark("end"), "t1 was changed")


def test_a_master_that_never_registered_may_have_no_name_server() -> None:
    assert_vacuous(RouteReported, changed(consuming()).after(42_000).mark("end"))


def named(**settings: object) -> H:
    """A broker that has registered, and whose name server has no other."""
    history = consuming(namesrvAddr="n", brokerRole="SYNC_MASTER", **settings)
    return registered(history)


@pytest.mark.parametrize(("period", "ms"), [(30_000, 37_000), (5_000, 17_000), (90_000, 67_000), ("20000", 27_000)])
def test_a_broker_registers_in_each_period(period: object, ms: int) -> None:
    def next_one(after: float, status: str = "ok") -> H:
        return registered(named(registerNameServerPeriod=period), after, status)

    for status in ("ok", "failed"):
        assert_holds(RouteReported, next_one(ms, status))
        late = f"master runs and has not tried to register for {ms + 1} ms"
        assert_broken(RouteReported, next_one(ms + 1, status), late)
    assert_broken(RouteReported, registered(next_one(ms, "failed"), ms + 1), "has not tried to register")
    assert_broken(RouteReported, named(registerNameServerPeriod=period).after(ms + 1).mark("end"), "has not tried")


def test_a_broker_without_a_name_server_need_not_register() -> None:
    assert_vacuous(RouteReported, listed().after(90_000).mark("end"))


@pytest.mark.parametrize("place", ["names-master", "names"])
def test_a_broker_tries_whatever_keeps_the_name_server_from_answering(place: str) -> None:
    assert_broken(RouteReported, named().fault("down", place).after(37_001).mark("end"), "has not tried to register")


def test_a_broker_that_cannot_act_need_not_register() -> None:
    assert_holds(RouteReported, registered(named().pause("master", 40_000), 37_000))
    assert_vacuous(RouteReported, named().crash("master").after(90_000).mark("end"))
    assert_broken(RouteReported, named().after(37_001).crash("master"), "has not tried to register")


def known(routed: dict[str, list[int]], perm: int = 6, counter: int = 5, permitted: int | None = None) -> H:
    """The name server has these topics; the master's table has t with two queues."""
    history = listed()
    if permitted is not None:
        history.config("master", brokerPermission=permitted)
    entry = {"readQueueNums": 2, "writeQueueNums": 2, "perm": perm}
    table = {"node": "master", "op": 1, "f": "topics", "value": 5, "lo": 7}
    history.add("table", **table, detail=json.dumps({"t": entry}))
    return history.add("routed", node="names", op=1, f="master", value=counter, lo=7, detail=json.dumps(routed))


def test_a_name_server_has_the_topics_of_the_version_that_it_registered() -> None:
    assert_holds(RouteReported, known({"t": [2, 2, 6], "deleted": [1, 1, 6]}))
    assert_broken(RouteReported, known({"t": [2, 3, 6]}), "has t as [2, 3, 6]")
    assert_broken(RouteReported, known({}), "the name server has t as None")
    assert_vacuous(RouteReported, known({}, counter=4))


def test_brokerpermission_takes_permissions_away_and_gives_none() -> None:
    assert_holds(RouteReported, known({"t": [2, 2, 0]}, perm=2, permitted=4))
    assert_broken(RouteReported, known({"t": [2, 2, 4]}, perm=2, permitted=4), "there it is [2, 2, 0]")


@pytest.mark.parametrize("node", ["master", "other"])
def test_topics_of_a_replaced_store_or_beside_a_second_master_are_not_compared(node: str) -> None:
    moved = listed().wipe(node, "image").start("master")
    table = {"node": "master", "op": 1, "f": "topics", "value": 5, "lo": 7, "detail": '{"t": {}}'}
    assert_vacuous(
        RouteReported,
        moved.add("table", **table).add("routed", node="names", op=1, f="master", value=5, lo=7, detail="{}"),
    )
