"""How often clients show that they live, ask what they must know, pull, tell their progress and renew their locks."""

from __future__ import annotations

import json

import pytest
from consuming import C, G, Q

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.routing.client_paced import ClientPaced
from pairproof.harness.rocketmq.laws.storage.queue_paced import QueuePaced
from pairproof.harness.testing import assert_broken, assert_holds, judged

PAIR = {"broker-a": {"0": "master", "1": "slave"}}
SLAVE_ONLY = {"broker-a": {"1": "slave"}}


class A(C):
    """A history whose consumer asks for what keeps it going."""

    def asked(self, f: str, node: str, **columns: object) -> A:
        op, self.ops = self.ops, self.ops + 1
        return self.add("ask", process=1, group=G, node=node, f=f, op=op, status="asked", message="c1", **columns)

    def ended(self, status: str = "answered", ms: float = 1, **columns: object) -> A:
        """What was asked last ends."""
        call = next(each for each in reversed(self.events) if each.kind == "ask" and each.status == "asked")
        known = {"process": 1, "group": call.group, "node": call.node, "f": call.f, "op": call.op, "message": "c1"}
        return self.after(ms).add("ask", **{**known, "queue": call.queue, "status": status, **columns})

    def route(self, route: object = PAIR, status: str = "answered", node: str = "names") -> A:
        detail = json.dumps(route) if status == "answered" else None
        return self.asked("route", node, queue="T").ended(status, detail=detail)

    def beat(self, *nodes: str, ms: float = 0) -> A:
        self.after(ms)
        for node in nodes or ("master", "slave"):
            self.asked("beat", node).ended(ms=0)
        return self

    def members(self, *clients: str, ms: float = 0, status: str = "answered") -> A:
        return self.after(ms).asked("members", "master").ended(status, detail=json.dumps(clients or ("c1",)))

    def told(self) -> A:
        op, self.ops = self.ops, self.ops + 1
        return self.add("ask", process=1, group=G, node="master", f="changed", op=op, status="told", message="c1")


def joined(f: str = "clustering") -> A:
    """A consumer that has done all that it must in its first 2 ms; then 19 s pass, in which nothing is due."""
    history = A()
    history.config("master").config("slave").start("master").start("slave").come(f=f)
    history.route().beat()
    return (history if f == "broadcasting" else history.members()).after(19_000)


def test_clients_beside_a_broker_of_any_kind_say_nothing_of_it() -> None:
    late = joined().after(60_000).mark("end").events
    for law in (ClientPaced, QueuePaced):
        assert judged(law, A().real(1).events + late).verdict is Verdict.NOT_APPLICABLE
    assert judged(ClientPaced, late).verdict is Verdict.VIOLATED


# client-paced


def test_a_client_that_asks_in_time() -> None:
    assert_holds(ClientPaced, joined())
    assert_holds(ClientPaced, joined().members(ms=999).beat(ms=9_999).route())


def test_heartbeats_that_are_late_or_left_out() -> None:
    rested = joined().members(ms=999)
    assert_broken(ClientPaced, rested.beat(ms=10_000), "c1 sends heartbeats 1 ms later than it should")
    assert_broken(ClientPaced, joined().members(ms=999).after(26_000).mark("end"), "owes a route of T since", 2)
    assert_broken(
        ClientPaced, joined().members(ms=999).beat("master", ms=9_999).after(1).mark("end"), "no heartbeat to slave"
    )
    assert_holds(ClientPaced, joined().members(ms=999).after(24_000).go())


def test_heartbeats_that_are_too_early() -> None:
    assert_broken(ClientPaced, joined().beat(), "sends a heartbeat 19001 ms after the last one")
    assert_holds(ClientPaced, joined().members("c2", ms=999).beat(ms=0))
    other = {**PAIR, "broker-b": {"0": "other"}}
    assert_holds(ClientPaced, joined().members(ms=999).after(9_998).route(other).beat("master", "slave", "other"))


def test_a_broker_that_the_route_names_anew_hears_at_once() -> None:
    first = A()
    first.config("master").config("slave").start("master").start("slave").come()
    first.route(SLAVE_ONLY).beat("slave").members().after(3_000)
    late = first.route().after(10).beat()
    assert_broken(ClientPaced, late, "c1 sends heartbeats 10 ms later than it should")


def test_members_are_asked_for_when_the_group_has_changed() -> None:
    assert_holds(ClientPaced, joined().told().members(ms=999))
    assert_broken(ClientPaced, joined().after(-9_000).told().members(ms=1_001), "asks who is in its group 1 ms later")
    assert_broken(ClientPaced, joined().members().members(ms=998), "asks who is in its group 999 ms after it last did")
    assert_broken(ClientPaced, joined().members(ms=1_000), "asks who is in its group 1 ms later")
    assert_holds(ClientPaced, joined("broadcasting").told().after(9_000))


def test_who_heard_of_a_change_before_its_first_heartbeats_were_answered_wakes_up_a_second_later() -> None:
    def coming(changes: bool, ms: float) -> A:
        history = A()
        history.config("master").config("slave").start("master").start("slave").come()
        history.route().asked("beat", "slave").asked("beat", "master").ended(ms=0)
        if changes:
            history.told()
        # The slave's answer comes 600 ms later.
        columns = {"process": 1, "group": G, "node": "slave", "f": "beat", "op": 1, "message": "c1"}
        history.after(600).add("ask", status="answered", **columns)
        return history.members(ms=ms)

    assert_holds(ClientPaced, coming(changes=True, ms=400))
    assert_broken(ClientPaced, coming(changes=True, ms=401), "asks who is in its group 1 ms later than it should")
    assert_broken(ClientPaced, coming(changes=False, ms=400), "asks who is in its group 400 ms later than it should")


def test_members_are_asked_for_again_when_that_failed() -> None:
    assert_holds(ClientPaced, joined().members(status="SYSTEM_ERROR").members(ms=3_000))
    late = joined().members(status="timeout", ms=0)
    assert_broken(ClientPaced, late, "c1 has timeout for a members at master after 1 ms")
    late = joined().members(status="SYSTEM_ERROR").members(ms=3_001)
    assert_broken(ClientPaced, late, "asks who is in its group 1 ms later")


def test_calls_that_never_end() -> None:
    slow = joined().asked("members", "master").ended(ms=3_001)
    assert_broken(ClientPaced, slow, "c1 has answered for a members at master after 3001 ms")


def test_routes_are_asked_for_every_30_s() -> None:
    assert_broken(ClientPaced, joined().members(ms=999).beat(ms=9_999).after(1).route(), "asks where T is 1 ms later")
    early = joined().members(ms=999).beat(ms=9_999).route().after(2_000).route()
    assert_broken(ClientPaced, early, "asks where T is 2001 ms after it last did, and nothing had happened")
    assert_holds(ClientPaced, joined().call(1, "pull", "master", "fail").route())
    twice = joined().call(1, "pull", "master", "fail").route().call(1, "pull", "master", "fail").route()
    assert_broken(ClientPaced, twice, "asks where T is 3 ms after it last did")


def test_a_client_asks_again_where_a_broker_name_has_gone() -> None:
    def again(route: object) -> A:
        late = joined().members(ms=999).beat(ms=9_999).route(route)
        return late.after(700).route(PAIR)

    assert_broken(ClientPaced, again(PAIR), "asks where T is 701 ms after it last did")
    assert_holds(ClientPaced, again({}))


def test_which_question_was_the_regular_one_is_unclear_while_masters_are_missing() -> None:
    def again(route: object, *rests_ms: float) -> A:
        history = joined().members(ms=999).beat(ms=9_999).route(route).after(100).route(PAIR)
        for each in rests_ms:
            history = history.after(each).call(1, "pull", "master", "fail").route(PAIR)
        return history

    assert_holds(ClientPaced, again(SLAVE_ONLY, 700, 700))
    assert_broken(ClientPaced, again(PAIR, 700), "after it last did", times=2)
    # A question without a reason was the regular one.
    regular = again(SLAVE_ONLY, 700).after(3_000).route(PAIR)
    assert_holds(ClientPaced, regular)
    assert_broken(ClientPaced, regular.after(700).call(1, "pull", "master", "fail").route(PAIR), "after it last did")


def test_the_next_name_server_is_asked_at_once() -> None:
    def lost() -> A:
        return joined().members(ms=999).beat(ms=9_999).route(status="refused", node="nobody")

    assert_holds(ClientPaced, lost().route())
    assert_broken(ClientPaced, lost().route(node="nobody"), "asks where T is 1 ms after it last did")
    assert_broken(ClientPaced, lost().after(9).route(), "asks where T is 10 ms after it last did")


def test_who_has_no_route_asks_after_3_s() -> None:
    def lost(ms: float) -> A:
        history = A()
        history.config("master").start("master").come()
        return history.route(status="none").after(ms).route()

    assert_holds(ClientPaced, lost(3_000).beat().members())
    assert_broken(ClientPaced, lost(3_001).beat().members(), "asks where T is 1 ms later")


# queue-paced


def pulling(f: str = "clustering") -> A:
    """A consumer has taken a queue, and pulls it."""
    history = joined(f)
    history.add("assign", process=1, group=G, queue=Q, status="on", value=0)
    return begun(history)


def begun(history: A, asked: int = 0) -> A:
    op, history.ops = history.ops, history.ops + 1
    return history.add("invoke", process=1, group=G, node="master", op=op, f="pull", queue=Q, value=asked, broker=0)


def over(history: A, status: str = "PULL_NOT_FOUND", following: int = 0, ms: float = 1, phase: str = "ok") -> A:
    call = next(each for each in reversed(history.events) if each.kind == "invoke" and each.f == "pull")
    known = {"process": 1, "group": G, "node": "master", "op": call.op, "f": "pull", "queue": Q, "value": call.value}
    return history.after(ms).add(phase, **known, status=status, queue_offset=following)


def test_one_pull_follows_the_other() -> None:
    assert_holds(QueuePaced, begun(over(pulling(), following=1), 1))
    assert_broken(QueuePaced, over(pulling(), following=1).after(1).mark("end"), "client 1 owes a pull of T/0")
    assert_broken(QueuePaced, begun(over(pulling(), following=1).after(1), 1), "pulls T/0 1 ms later than it should")
    assert_broken(QueuePaced, begun(pulling()), "while another pull of it is under way")
    assert_broken(QueuePaced, begun(joined()), "pulls T/0, which it does not hold")


def test_what_brought_nothing_rests() -> None:
    assert_holds(QueuePaced, begun(over(pulling()).after(19)))
    assert_broken(QueuePaced, begun(over(pulling()).after(18)), "pulls T/0 1 ms too soon")
    assert_holds(QueuePaced, begun(over(pulling(), phase="fail", status="refused").after(3_000)))
    soon = begun(over(pulling(), phase="info", status="timeout").after(2_999))
    assert_broken(QueuePaced, soon, "pulls T/0 1 ms too soon")


def test_who_is_moved_lets_the_queue_go() -> None:
    def moved(ms: float) -> A:
        history = over(pulling(), "PULL_OFFSET_MOVED", 7).after(ms)
        return history.add("assign", process=1, group=G, queue=Q, status="off", value=7).mark("end")

    assert_holds(QueuePaced, moved(10_000))
    assert_broken(QueuePaced, moved(10_001), "owes a pull")
    assert_broken(QueuePaced, begun(over(pulling(), "PULL_OFFSET_MOVED", 7).after(20)), "although it was moved away")
    # It had no lock, perhaps.
    assert_holds(QueuePaced, begun(over(pulling("orderly"), "PULL_OFFSET_MOVED", 7).after(20)))


def test_progress_is_told_every_5_s() -> None:
    def told(ms: float, again: float) -> A:
        history = pulling().after(ms - 1).call(1, "commit", "master", queue_offset=0, value=0)
        return history.after(again - 2).call(1, "commit", "master", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(5_000, 5_000))
    assert_broken(QueuePaced, told(5_001, 5_000), "tells its progress in T/0 1 ms later than it should")
    assert_broken(QueuePaced, told(5_000, 5_001), "tells its progress in T/0 1 ms later than it should")
    assert_broken(QueuePaced, pulling().after(5_001).mark("end"), "owes a commit of T/0 since 1 ms")
    assert_holds(QueuePaced, pulling("broadcasting").after(6_000).mark("end"))


def test_who_asks_for_the_route_first_tells_its_progress_later() -> None:
    """What was due meanwhile is left out, and the next one comes 5 s after that; of two name servers both are asked."""

    def told(servers: int, commit: float, again: float) -> A:
        history = pulling().route(SLAVE_ONLY).after(4_998)
        for _ in range(servers):
            history.asked("route", "names", queue="T").ended("timeout", ms=3_000)
        history.after(-1).call(1, "commit", "slave", "", queue_offset=0, value=0)
        known = {"node": "slave", "process": 1, "op": history.ops - 1, "f": "commit", "queue": Q, "group": G}
        history.route().after(commit - 2).add("ok", **known, value=0)
        return history.after(again - 1).call(1, "commit", "slave", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(1, 1_999, 1))
    assert_holds(QueuePaced, told(1, 1_999, 3_001))
    assert_broken(QueuePaced, told(1, 1_999, 3_002), "1 ms later")
    assert_holds(QueuePaced, told(1, 2_000, 5_000))
    assert_broken(QueuePaced, told(1, 2_000, 5_001), "1 ms later")
    assert_holds(QueuePaced, told(2, 1, 5_000))


def test_a_round_begins_with_the_question_for_the_route() -> None:
    def told(ms: float) -> A:
        history = pulling().after(ms).asked("route", "names", queue="T").after(1).mark("end")
        return history.ended("refused", ms=2_000).after(-1).call(1, "commit", "slave", queue_offset=0, value=0)

    assert_holds(QueuePaced, told(5_000))
    assert_broken(QueuePaced, told(5_001), "owes a commit of T/0 since 1 ms")


def test_nothing_is_due_of_a_master_that_the_route_lacks() -> None:
    assert_holds(QueuePaced, pulling().route(SLAVE_ONLY).after(6_000).mark("end"))


@pytest.mark.parametrize(("ms", "broken"), [(20_000, ""), (20_001, "1 ms later"), (19_999, "after 19999 ms")])
def test_locks_are_renewed_every_20_s(ms: float, broken: str) -> None:
    history = pulling("orderly")
    for after in (5_000, ms):
        op, history.ops = history.ops, history.ops + 1
        known = {"process": 1, "group": G, "node": "master", "message": "c1", "detail": json.dumps([Q])}
        history.after(after).add("lock", op=op, f="lock", status="asked", **known)
    if broken:
        what = "owes a lock" if "later" in broken else broken
        assert_broken(QueuePaced, history, what)
    else:
        assert_holds(QueuePaced, history)


def test_who_is_given_a_lock_takes_the_queue() -> None:
    def given(ms: float, f: str = "lock", place: str = "ha") -> A:
        history = joined("orderly").fault("slow", place)
        known = {"process": 1, "group": G, "node": "master", "message": "c1", "detail": json.dumps([Q])}
        history.add("lock", op=0, f="lock", status="asked", **known)
        history.add("lock", op=0, f="lock", status="answered", **known).after(ms)
        if f == "lock":
            history.add("assign", process=1, group=G, queue=Q, status="on", value=0)
        else:
            history.add("lock", op=1, f=f, status="asked", **known)
        return history.after(10).mark("end")

    late = "client 1 was given the lock of T/0 and has not taken it for a second"
    assert_broken(QueuePaced, given(1_001), late)
    assert_broken(QueuePaced, given(1_001, "unlock"), late)
    for ms, place in ((1_000, "ha"), (1_001, "master"), (1_001, "client-master")):
        assert not judged(QueuePaced, given(ms, place=place).events).violations
        assert not judged(QueuePaced, given(ms, "unlock", place).events).violations
