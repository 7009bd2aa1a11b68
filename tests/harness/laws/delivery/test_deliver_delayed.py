"""Tests of ``deliver-delayed``."""

import json

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.delivery.deliver_delayed import DeliverDelayed, delays_ms

STORED_MS = 10_000
WAITS = "SCHEDULE_TOPIC_XXXX/1"


def delayed(level: int = 2, **settings: object) -> H:
    """A message with a delay level is stored at :data:`STORED_MS`."""
    history = pair(**settings).after(STORED_MS)
    call = {"node": "master", "process": 0, "op": 0, "f": "send", "message": "m0", "queue": "T/0", "value": 1}
    history.add("invoke", **call, detail=json.dumps({"level": level}))
    return history.add("ok", **call, status="PUT_OK", queue_offset=0, lo=0, hi=SIZE)


def audited(history: H, *came_ms: int, healed: bool = True, waits: bool = True) -> H:
    """The final audit of the master: the waiting and the delivered record, at these store times."""
    if healed:
        history.mark("heal")
    found = [(WAITS, STORED_MS)] if waits else []
    for number, (queue, ms) in enumerate([*found, *(("T/0", each) for each in came_ms)]):
        lo = number * SIZE
        where = {"lo": lo, "hi": lo + SIZE, "queue": queue, "queue_offset": 0, "value": ms}
        history.add("record", node="master", op=9, message="m0", **where)
    return history.add("audit", node="master", op=9, f="final", lo=0, hi=1_000, status="whole")


def test_a_message_is_delivered_after_its_delay() -> None:
    assert assert_holds(DeliverDelayed, audited(delayed().after(60_000), 15_000)).judged == 1
    assert_holds(DeliverDelayed, audited(delayed().after(60_000), 40_000))
    assert_broken(
        DeliverDelayed, audited(delayed().after(60_000), 14_999),
        "m0 came into T/0 4999 ms after it was stored; its delay is 5000 ms",
    )  # fmt: skip


def test_a_message_that_never_waited_is_too_early() -> None:
    at_once = audited(delayed().after(60_000), 10_000, waits=False)
    assert_broken(DeliverDelayed, at_once, "m0 came into T/0 at once; its delay is 5000 ms")


def test_levels_are_configured_and_end_with_the_last_one() -> None:
    assert delays_ms("1s 2m 1h 1d") == (1_000, 120_000, 3_600_000, 86_400_000)
    two = {"messageDelayLevel": "2s 7s"}
    assert_holds(DeliverDelayed, audited(delayed(1, **two).after(60_000), 12_000))
    assert_holds(DeliverDelayed, audited(delayed(18, **two).after(60_000), 17_000))
    assert_broken(DeliverDelayed, audited(delayed(18, **two).after(60_000), 16_000), "its delay is 7000 ms")


def test_an_overdue_message_is_noticed() -> None:
    assert_broken(DeliverDelayed, audited(delayed().mark("heal").after(10_001), healed=False), "m0 still waits")
    assert_vacuous(DeliverDelayed, audited(delayed().mark("heal").after(10_000), healed=False))


@pytest.mark.parametrize("late", ["heal", "start", "down", "lost"])
def test_a_delayed_deadline_is_extended(late: str) -> None:
    history = delayed().after(60_000)
    if late != "heal":
        history.mark("heal").after(60_000)
    if late in ("start", "down"):
        history.crash("master")
    if late == "start":
        history.start("master")
    assert_vacuous(DeliverDelayed, audited(history.after(4_000), healed=late == "heal", waits=late != "lost"))


def test_only_a_crashed_master_delivers_again() -> None:
    twice = audited(delayed().after(60_000), 15_000, 20_000)
    assert_broken(DeliverDelayed, twice, "m0 was delivered 2 times")
    assert_holds(DeliverDelayed, audited(delayed().after(60_000).crash("master").start("master"), 15_000, 20_000))
    assert_broken(DeliverDelayed, audited(delayed().after(60_000).crash("slave"), 15_000, 20_000), "2 times")


def test_a_master_that_stopped_in_order_has_saved_its_position() -> None:
    def stopped(broken: str = "", **settings: object) -> H:
        history = delayed(**settings).after(60_000)
        if broken:
            history.fault("disk_full", broken)
        return history.fault("restart", "master").stop("master").start("master")

    assert_broken(DeliverDelayed, audited(stopped(), 15_000, 20_000), "m0 was delivered 2 times")
    assert_holds(DeliverDelayed, audited(stopped(), 15_000))
    assert_holds(DeliverDelayed, audited(stopped(rocketmqVersion="4.9.2"), 15_000, 20_000))
    assert_broken(DeliverDelayed, audited(stopped(rocketmqVersion="4.9.2"), 11_000), "1000 ms after it was stored")
    assert_holds(DeliverDelayed, audited(stopped("master"), 15_000, 20_000))
    assert_broken(DeliverDelayed, audited(stopped("slave"), 15_000, 20_000), "2 times")


def delivered_again(
    rest_ms: int, fault: str = "kill", f: str = "process", before: str = "", group: str = "", back: bool = False,
    flush_ms: int = 0,
) -> H:  # fmt: skip
    """The master delivers the message, flushes it after ``flush_ms``, is killed after ``rest_ms`` more, restarts, and
    delivers it again.
    """
    history = delayed().after(6_000)
    if before:
        history.fault(before, "master")
    append = {"node": "master", "f": "put", "message": "m0", "digest": 1}
    for number in range(2):
        history.add("append", **append, lo=number * SIZE, hi=(number + 1) * SIZE)
    history.after(flush_ms).add("flush", node="master", hi=2 * SIZE)
    if group:
        call = {"node": "master", "process": 1, "op": 7, "message": "m0", "queue": "T/0", "group": group}
        history.add("deliver", **call, f="pull", queue_offset=0, lo=0, hi=SIZE, digest=1)
        if back:
            history.add("back", **call, f="asked")
    history.after(rest_ms).fault(fault, "master")
    history.add("crash", node="master", f=f, value=0)
    return history.start("master").after(1_000).add("append", **append, lo=2 * SIZE, hi=3 * SIZE)


def test_a_delivery_long_before_a_kill_is_not_repeated() -> None:
    assert_broken(DeliverDelayed, delivered_again(22_001), "m0 is delivered again, ")
    assert_vacuous(DeliverDelayed, delivered_again(22_000))
    # A position waits for the flush of the deliveries before it, and an earlier one may wait first.
    assert_broken(DeliverDelayed, delivered_again(19_001, flush_ms=7_000), "m0 is delivered again, ")
    assert_vacuous(DeliverDelayed, delivered_again(19_000, flush_ms=7_000))
    assert_vacuous(DeliverDelayed, delivered_again(60_000, "power_loss", "machine"))
    assert_vacuous(DeliverDelayed, delivered_again(60_000, before="disk_full"))
    assert_broken(DeliverDelayed, delivered_again(60_000, group="g"), "m0 is delivered again, ")
    assert_vacuous(DeliverDelayed, delivered_again(60_000, group="g", back=True))


@pytest.mark.parametrize("what", ["clock", "expire", "wipe", "lied"])
def test_a_master_with_a_disturbed_clock_or_store_is_excused(what: str) -> None:
    def touched(node: str) -> H:
        history = delayed().after(60_000)
        if what == "lied":
            return history.add("crash", node=node, f="machine", status="lied").start(node)
        return history.add(what, node=node, value=1, lo=0)

    assert_vacuous(DeliverDelayed, audited(touched("master"), 11_000))
    assert_broken(DeliverDelayed, audited(touched("slave"), 11_000), "came into T/0 1000 ms after")


def test_a_promoted_slave_must_deliver_its_own_delayed_messages() -> None:
    def taken_over(then: bool, *came_ms: int) -> H:
        history = pair() if then else delayed()
        history.add("wipe", node="master", f="image", hi=0, detail="slave").start("master")
        if then:
            history.after(STORED_MS)
            call = {"node": "master", "process": 0, "op": 0, "f": "send", "message": "m0", "queue": "T/0", "value": 1}
            history.add("invoke", **call, detail=json.dumps({"level": 2}))
            history.add("ok", **call, status="PUT_OK", queue_offset=0, lo=0, hi=SIZE)
        return audited(history.after(60_000), *came_ms, healed=False)

    assert_holds(DeliverDelayed, taken_over(True, 15_000))
    assert_broken(DeliverDelayed, taken_over(True), "m0 still waits, though it is due since 55000 ms")
    assert_broken(DeliverDelayed, taken_over(True, 14_999), "came into T/0 4999 ms after")
    assert_vacuous(DeliverDelayed, taken_over(False))


def test_other_messages_are_not_delayed() -> None:
    assert_vacuous(DeliverDelayed, pair().put("m0").mark("heal"))
    unanswered = delayed(0).after(60_000)
    assert_vacuous(DeliverDelayed, audited(unanswered))
