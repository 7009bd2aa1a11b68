"""Tests of ``role-fan-out``."""

import pytest
from histories import (
    H,
    assert_broken,
    assert_holds,
    assert_not_applicable,
    assert_unbroken,
    assert_vacuous,
    pair,
    trio,
)

from pairproof.harness.rocketmq.laws.roles.role_fan_out import RoleFanOut


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
        RoleFanOut, reach(fan_out().put("m1").after(101)), "ha:1: data from 100 on waited 101 ms to leave for slave"
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
def test_a_disturbed_slave_is_not_judged(place: str) -> None:
    assert_vacuous(RoleFanOut, fan_out().fault("latency", place).put("m1").after(200).mark("end"))
    assert_vacuous(RoleFanOut, fan_out().put("m1").fault("latency", place).after(200).mark("end"))
    over = fan_out().fault("latency", place).fault("latency", place, "off")
    assert_vacuous(RoleFanOut, over.put("m1").after(200).mark("end"))


def test_overdue_data_is_reported_before_the_next_disturbance() -> None:
    assert_broken(RoleFanOut, fan_out().put("m1").after(101).fault("latency", "ha"), "waited")
    assert_broken(RoleFanOut, fan_out().put("m1").after(101).close(link="ha:1"), "waited")


def test_without_a_disturbed_slave_nothing_is_judged() -> None:
    assert_vacuous(RoleFanOut, fan_out().fault("stall", "ha2", "off").put("m1").after(200).mark("end"))


def test_a_dead_slave_counts_as_disturbed() -> None:
    dead = fan_out().fault("stall", "ha2", "off").crash("slave2").put("m1")
    assert_broken(RoleFanOut, dead.after(101).mark("end"), "waited")


def test_a_slave_that_lagged_before_is_not_judged() -> None:
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
    assert_broken(RoleFanOut, answered(111), "m1 waited 111 ms, while ha:1 could have completed it")
    gone = reach(fan_out().put("m1").after(1)).after(9_999).over("m1", "info", "timeout")
    assert_broken(RoleFanOut, gone, "m1 waited 10000 ms")


def test_an_append_by_a_later_incarnation_is_not_the_open_send_s() -> None:
    def again(ends: bool) -> H:
        history = fan_out().invoke("m1")
        if ends:
            history.crash("master").restart("master", 100)
        else:
            history.close(link="ha:1").close(link="ha:2")
        for peer in ("slave", "slave2"):
            history.connect(peer).report(100, peer=peer)
        history.fault("stall", "ha2", "off").fault("stall", "ha2")
        history.append("master", 100, 200, f="put", message="m1").frame(100, 200, link="ha:3")
        return history.after(500).over("m1", "info", "disconnected")

    assert_unbroken(RoleFanOut, again(True))
    assert_broken(RoleFanOut, again(False), "m1 waited 500 ms")


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
    assert_unbroken(RoleFanOut, answered(5_000, **settings))


def test_under_sync_flush_the_time_counts_from_the_flush() -> None:
    def flushed(ms: float) -> H:
        history = reach(fan_out(flushDiskType="SYNC_FLUSH").put("m1")).after(1_000).flush("master")
        return history.after(ms).ok("m1")

    assert_holds(RoleFanOut, flushed(110))
    assert_broken(RoleFanOut, flushed(111), "m1 waited 111 ms")


def test_a_disturbed_client_may_wait() -> None:
    slow = reach(fan_out().fault("latency", "client-master").put("m1").after(1)).after(200).ok("m1")
    assert_unbroken(RoleFanOut, slow)


def test_fan_out_does_not_apply_to_a_pair() -> None:
    assert_not_applicable(RoleFanOut, pair().sent("m0"))


def test_the_time_in_a_pool_does_not_count() -> None:
    pool = {"transientStorePoolEnable": True}
    assert_holds(RoleFanOut, reach(fan_out(**pool).put("m1").after(900)))
    assert_broken(RoleFanOut, reach(fan_out(**pool).put("m1").after(901)), "waited 901 ms to leave for slave")
    assert_holds(RoleFanOut, answered(910, **pool))
    assert_broken(RoleFanOut, answered(911, **pool), "m1 waited 911 ms, while ha:1 could have completed it")
