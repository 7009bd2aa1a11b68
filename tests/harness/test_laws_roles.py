"""What a slave does and does not do: it takes nothing, it takes over nothing, it serves, it finds its master."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.history import kinds
from pairproof.harness.judging.judge import Judge
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.replication.ha_address_source import HaAddressSource
from pairproof.harness.rocketmq.laws.roles.role_no_takeover import RoleNoTakeover
from pairproof.harness.rocketmq.laws.roles.role_slave_read_only import RoleSlaveReadOnly
from pairproof.harness.rocketmq.laws.roles.role_slave_serves import RoleSlaveServes
from pairproof.harness.rocketmq.testing import H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

LAWS = [RoleSlaveReadOnly, RoleNoTakeover, RoleSlaveServes, HaAddressSource]


@pytest.mark.parametrize("law", LAWS)
def test_a_master_alone_is_no_matter_for_these_laws(law: type[Law]) -> None:
    alone = H().config("master").start("master").put("m0").ok("m0")
    assert judged(law, alone.events).verdict is Verdict.NOT_APPLICABLE
    assert_vacuous(law, H().mark("end"))


def call(
    history: H, f: str, node: str, phase: str = "ok", status: str = "SUCCESS", ms: float = 1, **columns: object
) -> H:
    """A whole call: it begins, and ``ms`` later it ends."""
    return end(begin(history, f, node, **columns), f, node, phase, status, ms, **columns)


def begin(history: H, f: str, node: str, **columns: object) -> H:
    history.ops += 1
    asked = {key: value for key, value in columns.items() if key in ("message", "queue", "value", "group", "detail")}
    return history.add("invoke", node=node, process=5, op=history.ops + 500, f=f, **asked)


def end(history: H, f: str, node: str, phase: str, status: str = "", ms: float = 1, **columns: object) -> H:
    return history.after(ms).add(phase, node=node, process=5, op=history.ops + 500, f=f, status=status, **columns)


# role-slave-read-only


def refused(**settings: object) -> H:
    history = H().config("master").config("slave", **settings).start("master").start("slave")
    return call(history, "send", "slave", "fail", "SERVICE_NOT_AVAILABLE", message="x0", queue="T/0")


def test_a_slave_takes_no_message() -> None:
    assert_holds(RoleSlaveReadOnly, refused().put("m0").ok("m0"))
    for status in ("PUT_OK", "SLAVE_NOT_AVAILABLE"):
        taken = call(bare(), "send", "slave", "ok", status, message="x0", queue="T/0")
        assert_broken(RoleSlaveReadOnly, taken, f"slave, a slave, took x0 and answered {status}")
    assert_vacuous(RoleSlaveReadOnly, call(bare(), "send", "slave", "fail", "refused", message="x0", queue="T/0"))
    assert_vacuous(RoleSlaveReadOnly, call(bare(), "send", "slave", "info", "timeout", message="x0", queue="T/0"))


@pytest.mark.parametrize("node", ["slave", "master"])
def test_what_it_refused_is_nowhere(node: str) -> None:
    assert_holds(RoleSlaveReadOnly, refused().put("m0").ok("m0").audit(records={node: ["m0"]}))
    twice = refused().audit(records={node: ["x0"]}).audit(records={node: ["x0"]})
    assert_broken(RoleSlaveReadOnly, twice, f"{node} holds x0, which only slave, a slave, was sent")
    lost = call(bare(), "send", "slave", "info", "timeout", message="x0", queue="T/0")
    assert_broken(RoleSlaveReadOnly, lost.audit(records={node: ["x0"]}), "which only slave")


@pytest.mark.parametrize("f", ["topic", "group"])
def test_a_slave_takes_no_topic_and_no_group(f: str) -> None:
    def asked(phase: str, status: str, version: str = "4.9.7") -> H:
        history = H().config("master").config("slave", rocketmqVersion=version).start("master").start("slave")
        return call(history, f, "slave", phase, status, message="X")

    assert_holds(RoleSlaveReadOnly, asked("fail", "SYSTEM_ERROR"))
    assert_broken(RoleSlaveReadOnly, asked("ok", "SUCCESS"), f"slave, a slave, took the {f} X")
    assert_vacuous(RoleSlaveReadOnly, asked("ok", "SUCCESS", "4.9.3"))
    assert_broken(RoleSlaveReadOnly, asked("ok", "SUCCESS", "5.5.0"), "took the")

    def read(history: H, node: str = "slave") -> H:
        return history.add("table", node=node, f=f"{f}s", detail=json.dumps({"X": {}}))

    assert_broken(
        RoleSlaveReadOnly, read(read(asked("fail", "SYSTEM_ERROR"))), "hold X, which only this slave was told"
    )
    assert_holds(RoleSlaveReadOnly, read(asked("fail", "SYSTEM_ERROR"), "master"))
    assert_holds(RoleSlaveReadOnly, read(call(asked("fail", "SYSTEM_ERROR"), f, "master", message="X")))
    used = call(asked("fail", "SYSTEM_ERROR"), "pull", "slave", queue="X/0", group="X")
    assert_holds(RoleSlaveReadOnly, read(used))
    came = asked("fail", "SYSTEM_ERROR").add("consumer", process=3, status="on", group="X")
    if f == "group":
        assert_holds(RoleSlaveReadOnly, read(came))
    assert judged(RoleSlaveReadOnly, read(asked("ok", "SUCCESS", "4.9.3")).events).broken == 0


@pytest.mark.parametrize("f", ["put", "filler"])
def test_a_slave_writes_nothing_of_its_own(f: str) -> None:
    assert_holds(RoleSlaveReadOnly, refused().append("slave", 0, 100).append("master", 0, 100, f))
    assert_broken(RoleSlaveReadOnly, refused().append("slave", 0, 100, f), f"[0, 100) into its log by itself ({f})")


# role-no-takeover


def test_nobody_takes_messages_while_the_master_is_down() -> None:
    def down() -> H:
        return pair().sent("m0").crash("master")

    assert_holds(RoleNoTakeover, call(down(), "send", "master", "fail", "refused", message="m1"))
    assert_holds(RoleNoTakeover, call(down(), "send", "slave", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    assert_holds(RoleNoTakeover, call(down(), "send", "master", "info", "timeout", message="m1"))
    for node in ("master", "slave"):
        taken = call(down(), "send", node, "ok", "PUT_OK", message="m1")
        assert_broken(RoleNoTakeover, taken, f"{node} took m1 (PUT_OK) while the master was down")
    assert_vacuous(RoleNoTakeover, call(down(), "send", "other", "ok", "PUT_OK", message="m1"))
    assert_vacuous(RoleNoTakeover, call(down(), "pull", "slave", "ok", "PUT_OK"))
    stopped = pair().sent("m0").stop("master")
    assert_broken(RoleNoTakeover, call(stopped, "send", "slave", "ok", "PUT_OK", message="m1"), "slave took m1")


def test_sends_that_overlap_the_master_s_going_or_coming_say_nothing() -> None:
    going = begin(pair(), "send", "master", message="m1").crash("master")
    assert_vacuous(RoleNoTakeover, end(going, "send", "master", "ok", "PUT_OK", message="m1"))
    coming = begin(pair().crash("master"), "send", "master", message="m1").start("master")
    assert_vacuous(RoleNoTakeover, end(coming, "send", "master", "ok", "PUT_OK", message="m1"))
    assert_vacuous(RoleNoTakeover, call(pair(), "send", "master", "ok", "PUT_OK", message="m1"))


def test_id_0_is_never_a_slave_s() -> None:
    def routed(zero: str | None, history: H) -> H:
        nodes = {"1": "slave", **({"0": zero} if zero else {})}
        return history.add("route", process=1, status="found", detail=json.dumps(nodes))

    assert_holds(RoleNoTakeover, routed(None, pair().crash("master")))
    assert_holds(RoleNoTakeover, routed("master", pair().crash("master")))
    assert_broken(RoleNoTakeover, routed("slave", pair().crash("master")), "a client's route says that slave, a slave")
    assert_broken(RoleNoTakeover, routed("slave", pair()), "is the master")
    assert_vacuous(RoleNoTakeover, pair().crash("master").add("route", process=1, status="none"))

    def listed(zero: str) -> H:
        found = json.dumps({"broker-a": {"0": zero, "1": "slave"}, "broker-b": {"0": "other"}})
        return pair().crash("master").add("table", node="names", f="brokers", detail=found)

    assert_holds(RoleNoTakeover, listed("master"))
    assert_broken(RoleNoTakeover, listed("slave"), "names's entry for broker-a says that slave, a slave, is the master")


def back() -> H:
    history = pair().sent("m0").fault("kill", "master").crash("master").after(100)
    return history.start("master").fault("kill", "master", "off")


def test_a_master_that_is_back_takes_messages_again() -> None:
    assert_holds(RoleNoTakeover, call(back(), "send", "master", "ok", "PUT_OK", message="m1"))
    assert_holds(RoleNoTakeover, call(back(), "send", "master", "fail", "MESSAGE_ILLEGAL", message="m1"))
    not_ready = call(back(), "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1")
    assert_broken(RoleNoTakeover, not_ready, "the master is back, and refused m1 as if it were not ready")
    assert_vacuous(RoleNoTakeover, call(back(), "send", "master", "info", "disconnected", message="m1"))
    assert_vacuous(RoleNoTakeover, call(pair(), "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))


def test_a_master_that_something_else_touches_may_refuse() -> None:
    full = back().fault("disk_full", "master")
    assert_vacuous(RoleNoTakeover, call(full, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    over = back().fault("disk_full", "master").fault("disk_full", "master", "off")
    assert_vacuous(RoleNoTakeover, call(over, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))
    both = pair().fault("disk_full", "master").fault("kill", "master").crash("master").start("master")
    both.fault("kill", "master", "off").fault("disk_full", "master", "off")
    assert_vacuous(RoleNoTakeover, call(both, "send", "master", "fail", "SERVICE_NOT_AVAILABLE", message="m1"))


# role-slave-serves


def serving(**settings: object) -> H:
    """Both hold m0 to m2 in T/0, the master has delivered them, and is down."""
    history = H().config("master").config("slave", **settings).start("master").start("slave").connect().report(0)
    for message in ("m0", "m1", "m2"):
        history.sent(message)
    deliver(begin(history, "pull", "master", queue="T/0", value=0), "master", 0, 1, 2)
    end(history, "pull", "master", "ok", "PUT_OK", queue="T/0", value=0)
    return history.add("dispatch", node="slave", hi=300).crash("master")


def deliver(history: H, node: str, *offsets: int, shift: int = 0) -> H:
    for offset in offsets:
        lo = offset * 100 + shift
        history.add(
            "deliver", node=node, process=5, op=history.ops + 500, queue="T/0", queue_offset=offset, lo=lo, hi=lo + 100
        )
    return history


def pull(
    history: H, *offsets: int, asked: int = 1, phase: str = "ok", status: str = "PUT_OK", tags: str | None = None,
    **answer: object,
) -> H:  # fmt: skip
    """A pull from the slave that is answered with these offsets."""
    begin(history, "pull", "slave", queue="T/0", value=asked, detail=tags)
    deliver(history, "slave", *offsets)
    return end(history, "pull", "slave", phase, status, queue="T/0", value=asked, **answer)


BOUNDS = {"lo": 0, "hi": 3}
NONE: dict[str, int] = {}


@pytest.mark.parametrize("settings", [{}, {"slaveReadEnable": 1}, {"slaveReadEnable": "true"}])
def test_what_a_slave_has_can_be_pulled(settings: dict[str, object]) -> None:
    for bounds in (BOUNDS, NONE):
        assert_holds(RoleSlaveServes, pull(serving(**settings), 1, 2, **bounds))
        assert_broken(RoleSlaveServes, pull(serving(**settings), **bounds), "has offset 1 of T/0, and a pull there was")
        assert_broken(RoleSlaveServes, pull(serving(**settings), 2, **bounds), "was answered with offset 2")
    # It says that it has less.
    assert_broken(RoleSlaveServes, pull(serving(**settings), lo=0, hi=0), "answered with nothing")
    for status in ("SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"):
        failed = pull(serving(**settings), phase="fail", status=status)
        assert_broken(RoleSlaveServes, failed, f"slave does not serve while its master is down: {status}")


def test_a_pull_by_tag_is_served_if_it_goes_on() -> None:
    by_tag = {"tags": '{"tags": "a"}', **BOUNDS}
    assert_holds(RoleSlaveServes, pull(serving(), 2, queue_offset=3, **by_tag))
    assert_holds(RoleSlaveServes, pull(serving(), status="PULL_RETRY_IMMEDIATELY", queue_offset=2, **by_tag))
    assert_broken(RoleSlaveServes, pull(serving(), queue_offset=1, **by_tag), "was answered with nothing")


def test_what_it_does_not_have_need_not_be_there() -> None:
    assert_vacuous(RoleSlaveServes, pull(serving(), asked=3, lo=0, hi=3))
    assert_vacuous(RoleSlaveServes, pull(serving(), asked=7))
    for status in ("TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST", "NO_PERMISSION", "refused"):
        assert_vacuous(RoleSlaveServes, pull(serving(), phase="fail", status=status))
    assert_vacuous(RoleSlaveServes, pull(serving(), phase="info", status="timeout"))


def test_what_it_has_not_derived_or_received_need_not_be_there() -> None:
    behind = serving()
    behind.recorder.events[:] = [each for each in behind.events if each.kind != "dispatch"]
    assert_vacuous(RoleSlaveServes, pull(behind))
    fresh = bare().connect().report(0).put("m0").ok("m0")
    deliver(begin(fresh, "pull", "master", queue="T/0", value=0), "master", 0)
    end(fresh, "pull", "master", "ok", queue="T/0").add("dispatch", node="slave", hi=100).crash("master")
    assert_vacuous(RoleSlaveServes, pull(fresh, asked=0))
    again = serving().crash("slave").start("slave")
    assert_broken(RoleSlaveServes, pull(again), "answered with nothing")


def test_only_pulls_that_the_whole_absence_covers_are_judged() -> None:
    overlap = begin(serving(), "pull", "slave", queue="T/0", value=1).start("master", 300)
    assert_vacuous(RoleSlaveServes, end(overlap, "pull", "slave", "ok", **BOUNDS))
    assert_vacuous(RoleSlaveServes, pull(serving().start("master", 300), **BOUNDS))
    assert_vacuous(RoleSlaveServes, pull(serving().start("master", 300), phase="fail", status="SYSTEM_BUSY"))


def test_what_the_master_lost_or_a_new_store_has_is_not_owed() -> None:
    lost = serving().restart("master", 100).crash("master")
    assert_vacuous(RoleSlaveServes, pull(lost, **BOUNDS))
    wiped = serving().wipe("slave").start("slave", 300)
    assert_vacuous(RoleSlaveServes, pull(wiped))
    assert_broken(RoleSlaveServes, pull(wiped, **BOUNDS), "answered with nothing")
    expired = serving().add("expire", node="slave", lo=200)
    assert_vacuous(RoleSlaveServes, pull(expired, **BOUNDS))
    two = serving().start("master", 300)
    deliver(begin(two, "pull", "master", queue="T/0", value=1), "master", 1, shift=100)
    assert_vacuous(RoleSlaveServes, pull(end(two, "pull", "master", "ok").crash("master")))


@pytest.mark.parametrize(("late", "owed"), [(False, True), (True, False)])
def test_an_answer_may_be_on_its_way_while_its_master_loses_what_it_brings(late: bool, owed: bool) -> None:
    """Later another message lies there, which the slave has, in another queue perhaps."""
    history = pair().sent("m0").put("m1")
    begin(history, "pull", "master", queue="T/0", value=1)
    if not late:
        deliver(history, "master", 1)
    else:
        deliver(history.crash("master").start("master", 100).connect().report(100), "master", 1)
    end(history, "pull", "master", "ok", "PUT_OK", queue="T/0", value=1)
    if late:
        history.put("m2")
    found = pull(history.replicate().add("dispatch", node="slave", hi=200).crash("master"))
    if owed:
        assert_broken(RoleSlaveServes, found, "has offset 1 of T/0, and a pull there was answered with nothing")
    else:
        assert_vacuous(RoleSlaveServes, found)


def test_with_slave_read_off_it_suggests_the_master_and_5_may_refuse() -> None:
    assert_holds(RoleSlaveServes, pull(serving(), 1, broker=0, **BOUNDS))
    assert_broken(
        RoleSlaveServes, pull(serving(), 1, broker=1, **BOUNDS), "suggests broker 1, and slaveReadEnable is off"
    )
    assert_holds(RoleSlaveServes, pull(serving(slaveReadEnable=1), 1, broker=1, **BOUNDS))
    five = {"rocketmqVersion": "5.5.0"}
    assert_holds(RoleSlaveServes, pull(serving(**five), phase="fail", status="SYSTEM_BUSY"))
    assert_holds(RoleSlaveServes, pull(serving(**five), 1, broker=0, **BOUNDS))
    assert_broken(
        RoleSlaveServes, pull(serving(**five), phase="fail", status="SERVICE_NOT_AVAILABLE"), "does not serve"
    )
    on = pull(serving(**five, slaveReadEnable=True), phase="fail", status="SYSTEM_BUSY")
    assert_broken(RoleSlaveServes, on, "does not serve")


# ha-address-source


def addressed(slave: dict[str, object], **master: object) -> H:
    return H().config("master", **master).config("slave", **slave).start("master").start("slave")


SET: dict[str, object] = {"haMasterAddress": "ha"}
NAMES: dict[str, object] = {"namesrvAddr": "names"}


def told(history: H, ha: str | None = "master", status: str = "ok", node: str = "slave") -> H:
    answer = {"master": ha, "ha": ha} if ha else {}
    return history.add("register", node=node, status=status, detail=json.dumps(answer))


def test_a_slave_connects_where_it_was_told_to() -> None:
    assert_holds(HaAddressSource, addressed(SET).after(11_000).connect())
    assert_holds(HaAddressSource, told(addressed(NAMES)).after(11_000).connect())
    assert_broken(HaAddressSource, addressed(SET).after(11_001).connect(), "for 11001 ms, and has not connected")
    assert_broken(HaAddressSource, addressed(SET).after(11_001).mark("end"), "has not connected")
    late = told(addressed(NAMES).after(50_000)).after(11_001)
    assert_broken(HaAddressSource, late.mark("end"), "for 11001 ms")
    assert_broken(HaAddressSource, told(told(addressed(NAMES)).after(11_001)).crash("master"), "for 11001 ms")


def test_nobody_connects_before_he_was_told_where() -> None:
    assert_holds(HaAddressSource, addressed({}).after(60_000).mark("end"))
    assert_broken(HaAddressSource, addressed({}).connect(), "opened an HA connection, and nobody had told it where")
    assert_broken(HaAddressSource, told(addressed(NAMES), None).connect(), "nobody had told it where")
    assert_broken(HaAddressSource, told(addressed(NAMES), status="failed").connect(), "nobody had told it where")
    again = told(addressed(NAMES)).connect().crash("slave").start("slave").connect()
    assert_broken(HaAddressSource, again, "nobody had told it where")
    # The address may be kept when the name server no longer knows it.
    assert_holds(HaAddressSource, told(told(addressed(NAMES)).connect(), None).connect())
    assert_holds(HaAddressSource, addressed({}).connect("hostile"))


def test_where_registrations_are_not_seen_nobody_knows_what_a_slave_was_told() -> None:
    judge = Judge((HaAddressSource,), frozenset(kinds()) - {"register"})
    judge.feed_all(addressed(NAMES).connect().events)
    assert judge.finish()[0].verdict is Verdict.HOLDS


@pytest.mark.parametrize("place", ["ha", "slave", "master"])
def test_who_is_in_trouble_may_need_longer(place: str) -> None:
    assert_holds(HaAddressSource, addressed(SET).fault("latency", place).after(60_000).connect())
    before = told(addressed(NAMES).fault("latency", place)).after(60_000)
    assert_holds(HaAddressSource, before.connect())
    elsewhere = addressed(SET).fault("latency", "client-master").after(60_000)
    assert_broken(HaAddressSource, elsewhere.connect(), "has not connected")


def test_nobody_connects_to_a_master_that_is_down() -> None:
    assert_holds(HaAddressSource, addressed(SET).crash("master").after(60_000).mark("end"))
    first = H().config("master").config("slave", **SET).start("slave").after(60_000).start("master").after(11_000)
    assert_broken(HaAddressSource, first.after(1).mark("end"), "has had its master's HA address for 11001 ms")
    timely = H().config("master").config("slave", **SET).start("slave").after(60_000).start("master").after(11_000)
    assert_holds(HaAddressSource, timely.connect())
    assert_holds(HaAddressSource, told(told(addressed(NAMES)), None).after(60_000).mark("end"))
    paused = addressed(SET).add("pause", node="slave").after(60_000)
    assert_holds(HaAddressSource, paused.mark("end"))


def test_a_name_server_answers_with_the_slave_s_own_master() -> None:
    assert_holds(HaAddressSource, told(addressed(NAMES)).connect())
    assert_broken(HaAddressSource, told(addressed(NAMES), "slave"), "told slave that slave is its master", times=2)
    other = (
        H().config("master", brokerName="a").config("slave", brokerName="a", **NAMES).config("other", brokerName="b")
    )
    for node in ("master", "slave", "other"):
        other.end[node] = 0
        other.start(node)
    assert_broken(HaAddressSource, told(other, "other"), "told slave that other is its master", times=2)
    # A text that is no node's name says nothing.
    assert_holds(HaAddressSource, told(addressed(SET), "10.0.0.1:10912").connect())


def test_without_an_address_a_slave_serves() -> None:
    assert_holds(HaAddressSource, call(addressed({}), "pull", "slave", status="PUT_OK"))
    assert_holds(HaAddressSource, call(addressed({}), "pull", "slave", "fail", "TOPIC_NOT_EXIST"))
    for status in ("SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"):
        assert_broken(
            HaAddressSource, call(addressed({}), "pull", "slave", "fail", status), f"does not serve: {status}"
        )
        assert_holds(HaAddressSource, call(addressed(SET).connect(), "pull", "slave", "fail", status))
    five: dict[str, object] = {"rocketmqVersion": "5.5.0"}
    assert_holds(HaAddressSource, call(addressed(five), "pull", "slave", "fail", "SYSTEM_BUSY"))
    on = call(addressed({**five, "slaveReadEnable": 1}), "pull", "slave", "fail", "SYSTEM_BUSY")
    assert_broken(HaAddressSource, on, "does not serve")
