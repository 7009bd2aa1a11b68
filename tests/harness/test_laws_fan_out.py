"""What goes on beside a fault: other slaves, their acknowledgements, other brokers' clients; and nobody may hammer."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.history import MS
from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.liveness.live_no_spin import LiveNoSpin
from pairproof.harness.rocketmq.laws.liveness.live_progress import LiveProgress
from pairproof.harness.rocketmq.laws.roles.role_fan_out import RoleFanOut
from pairproof.harness.rocketmq.testing import H, pair, trio
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

# role-fan-out: slave is healthy on ha:1, slave2 or its link ha2 is in trouble.


def fan_out(**settings: object) -> H:
    """Both slaves hold m0; then slave2's link is stalled."""
    three = trio(**settings).put("m0").flush("master")
    for link, peer in (("ha:1", "slave"), ("ha:2", "slave2")):
        three.frame(0, 100, peer=peer, link=link).append(peer, 0, 100).report(100, peer=peer, link=link)
    return three.ok("m0").fault("stall", "ha2")


def reach(history: H, lo: int = 100) -> H:
    history.frame(lo, lo + 100, link="ha:1").append("slave", lo, lo + 100)
    return history.report(lo + 100, link="ha:1")


def test_new_data_leaves_for_a_healthy_slave_in_time() -> None:
    assert_holds(RoleFanOut, reach(fan_out().put("m1").after(100)))
    assert_broken(
        RoleFanOut, reach(fan_out().put("m1").after(101)), "ha:1: what lies behind 100 waited 101 ms for slave"
    )
    assert_broken(RoleFanOut, fan_out().put("m1").after(101).mark("end"), "waited 101 ms")
    assert_vacuous(RoleFanOut, fan_out().put("m1").after(100).mark("end"))


def test_where_time_is_real_a_writer_may_need_a_moment_besides() -> None:
    def waited(ms: float) -> H:
        return reach(fan_out().real(300).put("m1").after(ms))

    assert_holds(RoleFanOut, waited(400))
    assert_broken(RoleFanOut, waited(401), "waited 401 ms")


def test_a_part_of_a_frame_has_left_too() -> None:
    part = fan_out().put("m1").after(50).add("partial", node="master", link="ha:1", side="m", f="out", value=12)
    assert_holds(RoleFanOut, reach(part.after(100)))


def test_a_heartbeat_is_no_data() -> None:
    assert_broken(
        RoleFanOut, fan_out().put("m1").after(50).frame(100, 100, link="ha:1").after(51).mark("end"), "waited"
    )


@pytest.mark.parametrize("place", ["ha", "slave", "master"])
def test_nobody_is_owed_who_is_in_trouble_itself(place: str) -> None:
    assert_vacuous(RoleFanOut, fan_out().fault("latency", place).put("m1").after(200).mark("end"))
    assert_vacuous(RoleFanOut, fan_out().put("m1").fault("latency", place).after(200).mark("end"))
    over = fan_out().fault("latency", place).fault("latency", place, "off")
    assert_vacuous(RoleFanOut, over.put("m1").after(200).mark("end"))


def test_before_something_else_happens_what_is_overdue_is_told() -> None:
    assert_broken(RoleFanOut, fan_out().put("m1").after(101).fault("latency", "ha"), "waited")
    assert_broken(RoleFanOut, fan_out().put("m1").after(101).close(link="ha:1"), "waited")


def test_while_nobody_is_in_trouble_other_laws_judge() -> None:
    assert_vacuous(RoleFanOut, fan_out().fault("stall", "ha2", "off").put("m1").after(200).mark("end"))


def test_a_dead_slave_is_in_trouble_too() -> None:
    dead = fan_out().fault("stall", "ha2", "off").crash("slave2").put("m1")
    assert_broken(RoleFanOut, dead.after(101).mark("end"), "waited")


def test_a_slave_that_lacked_something_before_is_not_owed_more() -> None:
    behind = fan_out().fault("stall", "ha2", "off").put("m1").fault("stall", "ha2").put("m2")
    assert_vacuous(RoleFanOut, behind.after(200).mark("end"))


def test_where_flushed_bytes_are_pushed_the_time_counts_from_the_flush() -> None:
    def flushed(ms: float) -> H:
        return reach(fan_out(haPushes="flushed").put("m1").after(1_000).flush("master").after(ms))

    assert_holds(RoleFanOut, flushed(100))
    assert_broken(RoleFanOut, flushed(101), "waited 101 ms")


def answered(ms: float, **settings: object) -> H:
    return reach(fan_out(**settings).put("m1").after(1)).after(ms - 1).ok("m1")


def test_a_send_is_answered_by_the_healthy_slave_alone() -> None:
    assert_holds(RoleFanOut, answered(110))
    assert_broken(RoleFanOut, answered(111), "m1 waited 111 ms, while ha:1 could have answered it")
    gone = reach(fan_out().put("m1").after(1)).after(9_999).over("m1", "info", "timeout")
    assert_broken(RoleFanOut, gone, "m1 waited 10000 ms")


def test_a_lab_s_way_counts_twice() -> None:
    slow = H().add("lab", f="sim", value=5_000_000)
    slow.recorder.events += [each._replace(seq=each.seq + 1) for each in answered(120).events]
    assert_holds(RoleFanOut, slow)


@pytest.mark.parametrize(
    "settings",
    [
        {"brokerRole": "ASYNC_MASTER"},
        {"rocketmqVersion": "5.5.0"},
        {"rocketmqVersion": "5.5.0", "inSyncReplicas": 3},
        {"flushDiskType": "SYNC_FLUSH"},
    ],
    ids=["waits-for-nobody", "5.x-waits-for-nobody", "waits-for-both", "never-flushed"],
)
def test_a_send_that_one_slave_cannot_answer_may_wait(settings: dict[str, object]) -> None:
    assert judged(RoleFanOut, answered(5_000, **settings).events).broken == 0


def test_under_sync_flush_the_time_counts_from_the_flush() -> None:
    def flushed(ms: float) -> H:
        history = reach(fan_out(flushDiskType="SYNC_FLUSH").put("m1")).after(1_000).flush("master")
        return history.after(ms).ok("m1")

    assert_holds(RoleFanOut, flushed(110))
    assert_broken(RoleFanOut, flushed(111), "m1 waited 111 ms")


def test_a_client_in_trouble_may_wait() -> None:
    slow = reach(fan_out().fault("latency", "client-master").put("m1").after(1)).after(200).ok("m1")
    assert judged(RoleFanOut, slow.events).broken == 0


def test_fan_out_does_not_apply_to_a_pair() -> None:
    assert judged(RoleFanOut, pair().sent("m0").events).verdict is Verdict.NOT_APPLICABLE


# live-progress


def pull(history: H, node: str, op: int = 90, process: int = 90) -> H:
    return history.add("invoke", node=node, op=op, f="pull", process=process, value=0)


def got(history: H, node: str, phase: str = "ok", op: int = 90) -> H:
    return history.add(phase, node=node, op=op, f="pull", process=90, value=0)


def struck(place: str = "ha") -> H:
    return pair().fault("stall", place)


@pytest.mark.parametrize("place", ["ha", "slave", "client-slave"])
def test_a_master_answers_sends_whatever_happens_to_its_slave(place: str) -> None:
    assert_holds(LiveProgress, struck(place).put("m0").after(6_000).ok("m0", "FLUSH_SLAVE_TIMEOUT"))
    assert_broken(LiveProgress, struck(place).put("m0").after(6_001).ok("m0"), "send of m0 took 6001 ms")
    assert_broken(LiveProgress, struck(place).put("m0").after(9).over("m0", "info", "disconnected"), "was not answered")
    assert_broken(LiveProgress, struck(place).put("m0").after(6_001).mark("end"), "was not answered")


def test_refusing_is_answering() -> None:
    assert_holds(LiveProgress, struck().put("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE"))


def test_a_pull_waits_for_nobody() -> None:
    assert_holds(LiveProgress, got(pull(struck(), "master").after(1_000), "master"))
    assert_broken(LiveProgress, got(pull(struck(), "master").after(1_001), "master"), "a pull at 0 took 1001 ms")


def test_a_large_message_spends_as_much_on_its_way_as_many_small_ones() -> None:
    def sent(size: int) -> H:
        history = pair().add("lab", f="sim", value=10 * MS)
        history.add("invoke", node="master", op=50, f="send", process=0, value=0, detail=f'{{"size": {size}}}')
        return pull(history.fault("stall", "ha"), "master")

    assert_holds(LiveProgress, got(sent(40_960).after(1_110), "master"))
    assert_broken(LiveProgress, got(sent(40_960).after(1_111), "master"), "1110 ms are enough")
    assert_broken(LiveProgress, got(sent(0).after(1_011), "master"), "1010 ms are enough")


def test_a_slave_serves_while_its_master_is_down() -> None:
    assert_holds(LiveProgress, got(pull(pair().crash("master"), "slave"), "slave"))
    assert_broken(LiveProgress, got(pull(pair().crash("master"), "slave").after(9), "slave", "info"), "not answered")
    assert_broken(LiveProgress, got(pull(pair().add("pause", node="master"), "slave"), "slave", "info"), "with slave")


@pytest.mark.parametrize("place", ["master", "client-master"])
def test_calls_whose_own_broker_or_way_is_touched_are_not_judged(place: str) -> None:
    lost = struck().fault("latency", place).put("m0").over("m0", "info", "timeout")
    assert_vacuous(LiveProgress, lost)
    assert_vacuous(LiveProgress, struck().put("m0").fault("latency", place).over("m0", "info", "disconnected"))
    # Its connection may have died with that fault, and nobody has noticed.
    first = pull(pair(), "master", op=80).fault("latency", place).fault("latency", place, "off").fault("stall", "ha")
    assert_vacuous(LiveProgress, got(pull(first, "master"), "master", "info"))
    # So may one that carried other calls than these.
    for kind, columns in (("decide", {"queue_offset": 0}), ("try", {})):
        used = pair().add(kind, node="master", process=90, op=8, f="ok", message="m", queue="t/0", **columns)
        used.after(1).crash("master", "machine").start("master").after(1).fault("stall", "ha")
        assert_vacuous(LiveProgress, got(pull(used, "master"), "master", "info"))


def test_calls_to_a_broker_that_is_down_are_not_judged() -> None:
    assert_vacuous(LiveProgress, got(pull(struck().crash("master"), "master"), "master", "info"))
    assert_vacuous(LiveProgress, got(pull(struck(), "master").crash("master").start("master"), "master", "info"))


def test_without_a_fault_elsewhere_other_laws_judge() -> None:
    assert_vacuous(LiveProgress, pair().put("m0").over("m0", "info", "disconnected"))


def test_where_sends_wait_in_turn_nobody_can_say_how_long_one_may_take() -> None:
    def second(version: str) -> H:
        two = pair(rocketmqVersion=version).put("m0").fault("stall", "ha").put("m1")
        return two.after(9_502).ok("m1", "FLUSH_SLAVE_TIMEOUT")

    assert_vacuous(LiveProgress, second("4.9.2"))
    assert_broken(LiveProgress, second("4.9.7"), "6000 ms are enough")


# live-no-spin


def connects(*gaps_ms: float) -> H:
    history = pair()
    for gap in gaps_ms:
        history.close().after(gap).connect()
    return history


def test_three_connects_in_a_second_are_enough() -> None:
    assert_holds(LiveNoSpin, connects(1, 1, 998))
    assert_holds(LiveNoSpin, connects(300, 300, 400, 300))
    assert_broken(LiveNoSpin, connects(1, 1, 997), "slave made 4 HA connects in 0.999 s")
    assert_broken(LiveNoSpin, connects(*[0.0] * 7), "4 HA connects", times=2)


def test_each_slave_and_each_process_counts_for_itself() -> None:
    two = pair()
    for _ in range(2):
        two.connect("slave2").connect("slave")
    assert_holds(LiveNoSpin, two)
    assert_holds(LiveNoSpin, pair().connect().connect().crash("slave").start("slave").connect())
    assert_holds(LiveNoSpin, pair().connect("hostile").connect("hostile").connect("hostile").connect("hostile"))


def refused(times: int, link: str = "ha") -> H:
    off = json.dumps({"connections_refused": times})
    return pair().fault("down", link).after(1_999).fault("down", link, "off", off)


def test_refused_attempts_are_counted_by_what_refused_them() -> None:
    assert_holds(LiveNoSpin, refused(6))
    assert_broken(LiveNoSpin, refused(7), "ha: 7 HA connects were refused in 2 s")
    assert_holds(LiveNoSpin, refused(70, "client-master"))


@pytest.mark.parametrize("law", [LiveProgress, LiveNoSpin])
def test_laws_of_progress_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())
