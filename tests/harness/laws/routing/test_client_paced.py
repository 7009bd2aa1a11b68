"""Tests of ``client-paced``."""

import pytest
from histories import G, Story, Verdict, assert_broken, assert_holds, judged
from histories.builder import ROUTE, ROUTE_TO_SLAVE
from histories.consumers import joined

from pairproof.harness.rocketmq.laws.routing.client_paced import ClientPaced
from pairproof.harness.rocketmq.laws.storage.queue_paced import QueuePaced


def test_clients_beside_a_broker_of_any_kind_say_nothing_of_it() -> None:
    late = joined().after(60_000).mark("end").events
    for law in (ClientPaced, QueuePaced):
        assert judged(law, Story().real(1).events + late).verdict is Verdict.NOT_APPLICABLE
    assert judged(ClientPaced, late).verdict is Verdict.VIOLATED


def test_a_client_that_asks_in_time() -> None:
    assert_holds(ClientPaced, joined())
    assert_holds(ClientPaced, joined().members(ms=999).beat(ms=9_999).route())


def test_heartbeats_that_are_late_or_left_out() -> None:
    rested = joined().members(ms=999)
    assert_broken(ClientPaced, rested.beat(ms=10_000), "c1 sends heartbeats 1 ms later than it should")
    assert_broken(ClientPaced, joined().members(ms=999).after(26_000).mark("end"), "late with a route of T", 2)
    assert_broken(
        ClientPaced, joined().members(ms=999).beat("master", ms=9_999).after(1).mark("end"), "no heartbeat to slave"
    )
    assert_holds(ClientPaced, joined().members(ms=999).after(24_000).go(status="lost"))


def test_heartbeats_that_are_too_early() -> None:
    assert_broken(ClientPaced, joined().beat(), "sends a heartbeat 19001 ms after the last one")
    assert_holds(ClientPaced, joined().members("c2", ms=999).beat(ms=0))
    other = {**ROUTE, "broker-b": {"0": "other"}}
    assert_holds(ClientPaced, joined().members(ms=999).after(9_998).route(other).beat("master", "slave", "other"))


def test_a_newly_routed_broker_gets_a_heartbeat_immediately() -> None:
    first = Story()
    first.config("master").config("slave").start("master").start("slave").come()
    first.route(ROUTE_TO_SLAVE).beat("slave").members().after(3_000)
    late = first.route().after(10).beat()
    assert_broken(ClientPaced, late, "c1 sends heartbeats 10 ms later than it should")


def test_members_are_asked_for_when_the_group_has_changed() -> None:
    assert_holds(ClientPaced, joined().told().members(ms=999))
    assert_broken(
        ClientPaced, joined().after(-9_000).told().members(ms=1_001), "asks for its group's members 1 ms later"
    )
    assert_broken(
        ClientPaced, joined().members().members(ms=998), "asks for its group's members 999 ms after it last did"
    )
    assert_broken(ClientPaced, joined().members(ms=1_000), "asks for its group's members 1 ms later")
    assert_holds(ClientPaced, joined("broadcasting").told().after(9_000))


def test_members_are_asked_for_sooner_only_with_a_reason() -> None:
    rested = joined().members(ms=999)
    assert_broken(ClientPaced, rested.members(ms=2_000), "asks for its group's members 2001 ms after it last did")
    rested = joined().members(ms=999)
    assert_holds(ClientPaced, rested.told().members(ms=1_000))
    assert_holds(ClientPaced, joined().members(ms=999).members(ms=3_000))
    rested = joined().members(ms=999).after(1_000)
    columns = {"process": 1, "group": G, "node": "master"}
    rested.add("assign", queue="T/0", status="off", value=0, **columns)
    assert_holds(ClientPaced, rested.members(ms=1_000))


@pytest.mark.parametrize(("before", "holds"), [(1, True), (1_001, False)])
def test_a_reason_just_before_a_request_may_be_the_next_one_s(before: int, holds: bool) -> None:
    history = joined().members(ms=999).after(4_000 - before)
    history.add("assign", queue="T/0", status="off", value=0, process=1, group=G, node="master")
    history.members(ms=before).members(ms=999)
    if holds:
        assert_holds(ClientPaced, history)
    else:
        assert_broken(ClientPaced, history, "asks for its group's members 1000 ms after it last did")


@pytest.mark.parametrize("in_flight", [True, False])
def test_a_reason_while_a_request_is_in_flight_may_be_a_later_one_s(in_flight: bool) -> None:
    history = joined().members(ms=999).after(3_000).asked("members")
    history = history if in_flight else history.ended(ms=0, detail='["c1"]')
    history.after(100).told().after(1_000)
    for _ in range(3):
        history.asked("members").after(1_000)
    if in_flight:
        assert_holds(ClientPaced, history)
    else:
        assert_broken(ClientPaced, history, "asks for its group's members 1000 ms after it last did")


def test_a_change_before_the_first_answered_heartbeats_takes_effect_a_second_later() -> None:
    def coming(changes: bool, ms: float) -> Story:
        history = Story()
        history.config("master").config("slave").start("master").start("slave").come()
        history.route().asked("beat", "slave").asked("beat", "master").ended(ms=0)
        if changes:
            history.told()
        # The slave's answer comes 600 ms later.
        columns = {"process": 1, "group": G, "node": "slave", "f": "beat", "op": 1, "message": "c1"}
        history.after(600).add("ask", status="answered", **columns)
        return history.members(ms=ms)

    assert_holds(ClientPaced, coming(changes=True, ms=400))
    assert_broken(ClientPaced, coming(changes=True, ms=401), "asks for its group's members 1 ms later than it should")
    assert_broken(
        ClientPaced, coming(changes=False, ms=400), "asks for its group's members 400 ms later than it should"
    )


def test_members_are_asked_for_again_when_that_failed() -> None:
    assert_holds(ClientPaced, joined().members(status="SYSTEM_ERROR").members(ms=3_000))
    late = joined().members(status="timeout", ms=0)
    assert_broken(ClientPaced, late, "c1 has timeout for a members at master after 1 ms")
    late = joined().members(status="SYSTEM_ERROR").members(ms=3_001)
    assert_broken(ClientPaced, late, "asks for its group's members 1 ms later")


def test_calls_that_never_end() -> None:
    slow = joined().asked("members", "master").ended(ms=3_001)
    assert_broken(ClientPaced, slow, "c1 has answered for a members at master after 3001 ms")


def test_routes_are_asked_for_every_30_s() -> None:
    assert_broken(ClientPaced, joined().members(ms=999).beat(ms=9_999).after(1).route(), "asks where T is 1 ms later")
    early = joined().members(ms=999).beat(ms=9_999).route().after(2_000).route()
    assert_broken(ClientPaced, early, "asks where T is 2001 ms after it last did, without a reason")
    assert_holds(ClientPaced, joined().call(1, "pull", "master", "fail").route())
    twice = joined().call(1, "pull", "master", "fail").route().call(1, "pull", "master", "fail").route()
    assert_broken(ClientPaced, twice, "asks where T is 3 ms after it last did")


def test_a_client_asks_again_where_a_broker_name_has_gone() -> None:
    def again(route: object) -> Story:
        late = joined().members(ms=999).beat(ms=9_999).route(route)
        return late.after(700).route(ROUTE)

    assert_broken(ClientPaced, again(ROUTE), "asks where T is 701 ms after it last did")
    assert_holds(ClientPaced, again({}))


def test_which_question_was_the_regular_one_is_unclear_while_masters_are_missing() -> None:
    def again(route: object, *rests_ms: float) -> Story:
        history = joined().members(ms=999).beat(ms=9_999).route(route).after(100).route(ROUTE)
        for each in rests_ms:
            history = history.after(each).call(1, "pull", "master", "fail").route(ROUTE)
        return history

    assert_holds(ClientPaced, again(ROUTE_TO_SLAVE, 700, 700))
    assert_broken(ClientPaced, again(ROUTE, 700), "after it last did", times=2)
    # A request without a reason was the regular one.
    regular = again(ROUTE_TO_SLAVE, 700).after(3_000).route(ROUTE)
    assert_holds(ClientPaced, regular)
    assert_broken(ClientPaced, regular.after(700).call(1, "pull", "master", "fail").route(ROUTE), "after it last did")


def test_the_next_name_server_is_asked_at_once() -> None:
    def lost() -> Story:
        return joined().members(ms=999).beat(ms=9_999).route(status="refused", node="nobody")

    assert_holds(ClientPaced, lost().route())
    assert_broken(ClientPaced, lost().route(node="nobody"), "asks where T is 1 ms after it last did")
    assert_broken(ClientPaced, lost().after(9).route(), "asks where T is 10 ms after it last did")


def test_a_consumer_without_a_route_asks_after_3_s() -> None:
    def lost(ms: float) -> Story:
        history = Story()
        history.config("master").start("master").come()
        return history.route(status="none").after(ms).route()

    assert_holds(ClientPaced, lost(3_000).beat().members())
    assert_broken(ClientPaced, lost(3_001).beat().members(), "asks where T is 1 ms later")


def test_a_failed_send_back_is_tried_again_after_5_s() -> None:
    def again(ms: float, phase: str = "fail") -> Story:
        return joined().back(phase=phase).after(ms - 1).back().go(status="lost")

    for phase in ("fail", "info"):
        assert_holds(ClientPaced, again(5_000, phase))
        assert_broken(ClientPaced, again(4_999, phase), "sends m0 of T/0 back again 4999 ms after that failed, not 5 s")
    assert_holds(ClientPaced, again(10, "ok"))


def test_a_failed_send_back_is_not_forgotten() -> None:
    def told(history: Story) -> bool:
        found = judged(ClientPaced, history.after(60_000).mark("end").events).violations
        return any("could not send offset 0 of T/0 back, and did not try again" in each.text for each in found)

    assert told(joined().commit(0).back(phase="fail"))
    assert not told(joined().back(phase="fail").commit(1))
    assert not told(joined().commit(0).back(phase="fail").after(5_000).back())
    assert not told(joined().commit(0).back(phase="fail").fault("down", "names-client"))


def test_the_next_owner_of_a_queue_sends_back_at_once() -> None:
    assert_holds(ClientPaced, joined().back(phase="fail").assign(0, status="off").assign(0).back().go(status="lost"))


def test_a_leaving_consumer_says_goodbye_to_each_broker_of_its_routes() -> None:
    def leaving(*nodes: str, status: str = "off") -> Story:
        history = joined()
        for node in nodes:
            history.asked("goodbye", node)
        return history.ended(ms=1).go(status=status) if nodes else history.go(status=status)

    assert_holds(ClientPaced, leaving("slave", "master"))
    assert_holds(ClientPaced, leaving(status="lost"))
    assert_broken(ClientPaced, leaving(), "client 1 left G without a goodbye to master, slave")
    assert_broken(ClientPaced, leaving("master"), "client 1 left G without a goodbye to slave")
