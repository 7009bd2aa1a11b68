"""Tests of ``group-listed``."""

import pytest
from histories import G, Story, assert_broken, assert_holds

from pairproof.harness.rocketmq.laws.delivery.group_listed import GroupListed


def two() -> Story:
    """Two members, both notified."""
    history = Story().config("master").start("master").come(1).come(2)
    return history.ask("beat", 1).ask("beat", 2).told(1).after(2_000)


def test_exactly_the_members_are_listed() -> None:
    assert_holds(GroupListed, two().members("c1", "c2"))
    assert_broken(GroupListed, two().members("c1"), "master leaves out c2, asked for the members of G")
    assert_broken(GroupListed, two().members("c1", "c2", "c3"), "master makes up c3")
    assert_broken(GroupListed, two().ask("members", status="SYSTEM_ERROR"), "master leaves out c1, c2")
    assert_holds(GroupListed, two().ask("members", status="timeout").after(5_000))


@pytest.mark.parametrize("first", ["question", "heartbeat"])
def test_a_request_may_overtake_a_heartbeat_in_flight(first: str) -> None:
    def call(f: str, process: int, op: int, status: str, detail: str | None = None) -> dict[str, object]:
        known = {"node": "master", "process": process, "group": G, "f": f, "op": op, "message": f"c{process}"}
        return {**known, "status": status, "detail": detail}

    history = Story()
    history.config("master").start("master").come(1).come(2)
    history.ask("beat", 1).add("ask", **call("beat", 2, 91, "asked")).after(1)
    steps = [call("members", 1, 92, "asked"), call("beat", 2, 91, "answered")]
    for each in steps if first == "question" else reversed(steps):
        history.add("ask", **each).after(1)
    history.add("ask", **call("members", 1, 92, "answered", '["c1"]')).told(1)
    if first == "question":
        assert_holds(GroupListed, history)
    else:
        assert_broken(GroupListed, history, "master leaves out c2")


def test_a_member_that_left_is_no_longer_listed() -> None:
    left = two().ask("goodbye", 2).told(1)
    assert_holds(GroupListed, left.after(900).members("c1", "c2"))
    assert_broken(
        GroupListed, two().ask("goodbye", 2).told(1).after(1_100).members("c1", "c2"), "master still names c2"
    )
    lost = two().go(2, "lost").told(1).after(1_100)
    assert_broken(GroupListed, lost.members("c1", "c2"), "master still names c2")
    back = two().ask("goodbye", 2).told(1).after(1_100).ask("beat", 2).told(1)
    assert_holds(GroupListed, back.members("c1", "c2"))


def test_a_member_with_a_goodbye_in_flight_may_be_listed_or_not() -> None:
    leaving = {"node": "master", "process": 2, "group": G, "f": "goodbye", "op": 90, "message": "c2"}
    for names in ("c1", "c1 c2"):
        assert_holds(GroupListed, two().add("ask", **leaving, status="asked").members(*names.split()))
    assert_broken(GroupListed, two().add("ask", **leaving, status="asked").members("c2"), "master leaves out c1,")


def test_a_member_with_a_goodbye_in_flight_may_be_notified_or_not() -> None:
    leaving = {"node": "master", "process": 1, "group": G, "f": "goodbye", "op": 90, "message": "c1", "status": "asked"}
    both = two().add("ask", **leaving).ask("goodbye", 2).after(2_000).mark("end")
    assert_holds(GroupListed, both)


def test_members_are_notified_at_once() -> None:
    def came(ms: float, *processes: int) -> Story:
        history = two().come(3).ask("beat", 3).after(ms)
        return history.told(*processes).after(2_000).mark("end")

    assert_holds(GroupListed, came(900, 1, 2))
    assert_broken(GroupListed, came(900, 1), "master has not told client 2 for a second that c3 came")
    assert_broken(GroupListed, came(1_001, 1, 2), "master has not told client 1 for a second that c3 came", times=2)
    goodbye = two().ask("goodbye", 2).after(2_000).mark("end")
    assert_broken(GroupListed, goodbye, "master has not told client 1 for a second that c2 said goodbye")
    lost = two().go(2, "lost").after(2_000).mark("end")
    assert_broken(GroupListed, lost, "master has not told client 1 for a second that c2 ended")


def test_heartbeats_count_for_two_minutes() -> None:
    assert_holds(GroupListed, two().after(119_000).members("c1"))
    assert_broken(GroupListed, two().after(110_000).members("c1"), "master leaves out c2")

    def comes(after_ms: float) -> Story:
        return two().after(after_ms).come(3).ask("beat", 3).told(3).after(2_000).mark("end")

    assert_holds(GroupListed, comes(120_000))
    assert_broken(GroupListed, comes(110_000), "has not told client 1 for a second that c3 came", times=2)


def test_faults_and_broken_connections_excuse() -> None:
    for place in ("master", "client-master"):
        assert_holds(GroupListed, two().fault("slow", place).fault("slow", place, "off").members("c1"))
    broken = two().call(2, "pull", "master", "info", ok_status="timeout")
    assert_holds(GroupListed, broken.members("c1"))
    for status in ("timeout", "SYSTEM_ERROR"):
        back = {"node": "master", "process": 2, "group": G, "op": 90, "queue": "T/0", "queue_offset": 0}
        sent = two().add("back", **back, f="info", status=status).members("c1")
        assert_holds(GroupListed, sent) if status == "timeout" else assert_broken(GroupListed, sent, "leaves out c2")
    assert_holds(GroupListed, two().crash("master").restart("master", 0).ask("members", detail="[]"))
    late = two().fault("slow", "client-master").come(3).ask("beat", 3).after(5_000).mark("end")
    assert_holds(GroupListed, late)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_broker_started_during_a_heartbeat_need_not_have_received_it(restarts: bool) -> None:
    """The answer of the earlier incarnation was in flight."""
    history = two()
    beats = {"node": "master", "process": 3, "group": G, "f": "beat", "op": 90, "message": "c3"}
    history.come(3).add("ask", **beats, status="asked")
    if restarts:
        history.crash("master").start("master").ask("beat", 1).ask("beat", 2).told(1)
    history.add("ask", **beats, status="answered").told(1, 2).after(1_000).members("c1", "c2")
    if restarts:
        assert_holds(GroupListed, history.ask("beat", 3).members("c1", "c2", "c3").after(2_000).mark("end"))
    else:
        assert_broken(GroupListed, history, "master leaves out c3")
