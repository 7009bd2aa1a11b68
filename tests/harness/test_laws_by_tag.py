"""``deliver-by-tag``: what a pull by tags may bring, and must not leave out; and the queue that a broker chose."""

from __future__ import annotations

import json

import pytest
from consuming import BOTH, SLAVE_ONLY, C, G, Q, consuming

from pairproof.harness.rocketmq.laws.delivery.deliver_by_tag import DeliverByTag
from pairproof.harness.rocketmq.laws.delivery.deliver_no_loss import DeliverNoLoss
from pairproof.harness.rocketmq.laws.delivery.deliver_no_phantom import DeliverNoPhantom
from pairproof.harness.rocketmq.laws.delivery.pull_answered import PullAnswered
from pairproof.harness.rocketmq.laws.progress.progress_live_consumer import ProgressLiveConsumer
from pairproof.harness.rocketmq.laws.progress.progress_recovers import ProgressRecovers
from pairproof.harness.rocketmq.laws.storage.stored_as_sent import StoredAsSent
from pairproof.harness.rocketmq.testing import SIZE, H, bare
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous
from pairproof.harness.texts.content import content

TAGS = ("a", "", "b", "a")
"""Of the messages m0, m1, ... of queue t/1."""


def sent() -> H:
    history = bare()
    for number, tag in enumerate(TAGS):
        said = content(b"x", tag, 0)
        history.add("invoke", node="master", process=0, op=number, f="send", message=f"m{number}", detail=said)
    return history


def selected(
    history: H, *offsets: int, tags: str = "a", start: int = 0, to: int = 4, status: str = "PUT_OK", f: str = "ok"
) -> H:
    call = {"node": "slave", "process": 1, "op": 9, "f": "select", "queue": "t/1", "value": start}
    history.add("invoke", **call, detail=json.dumps({"tags": tags}))
    for offset in offsets:
        history.add(
            "deliver", node="slave", process=1, op=9, f="select", message=f"m{offset}", queue="t/1",
            queue_offset=offset, lo=offset * SIZE, hi=(offset + 1) * SIZE, digest=5,
        )  # fmt: skip
    return history.add(f, **call, status=status, queue_offset=to)


def listed(history: H) -> H:
    for number, tag in enumerate(TAGS):
        history.add(
            "record", node="master", op=7, message=f"m{number}", queue="t/1", queue_offset=number, lo=number * SIZE,
            hi=(number + 1) * SIZE, digest=5, detail=content(b"x", tag, 0),
        )  # fmt: skip
    return history.add("audit", node="master", op=7, f="final", lo=0, hi=4 * SIZE, value=4 * SIZE)


def test_a_pull_by_tags_brings_the_messages_that_have_one() -> None:
    assert assert_holds(DeliverByTag, listed(selected(sent(), 0, 3))).judged == 4
    assert_holds(DeliverByTag, listed(selected(sent(), 0, 2, 3, tags="a || b")))
    assert_holds(DeliverByTag, listed(selected(sent(), 3, start=1)))
    assert_holds(DeliverByTag, listed(selected(sent(), 0, to=3)))


def test_a_message_with_another_tag_or_without_one_is_noticed() -> None:
    assert_broken(DeliverByTag, selected(sent(), 0, 1, 3), "asked for a, delivered m1, which was sent without a tag")
    assert_broken(DeliverByTag, selected(sent(), 0, 2, 3), "asked for a, delivered m2, which was sent with b")


def test_a_message_that_was_left_out_is_noticed() -> None:
    assert_broken(DeliverByTag, listed(selected(sent(), 0)), "slave went on at 4 without m3 at 3 of t/1")
    none = listed(selected(sent(), status="PULL_RETRY_IMMEDIATELY"))
    assert_broken(DeliverByTag, none, "slave went on at 4 without m0", times=2)


def test_what_a_pull_need_not_bring_is_not_judged() -> None:
    assert_vacuous(DeliverByTag, listed(sent()))
    assert_vacuous(DeliverByTag, listed(selected(sent(), status="PULL_OFFSET_MOVED")))
    assert_vacuous(DeliverByTag, listed(selected(sent(), f="info", status="timeout")))
    assert_vacuous(DeliverByTag, listed(selected(sent()).wipe("slave")))
    assert_vacuous(DeliverByTag, listed(selected(sent()).crash("master", "machine")))


def test_a_plain_reader_is_given_what_has_the_same_hash() -> None:
    history = bare().add("invoke", node="master", op=0, f="send", message="m0", detail=content(b"x", "paidBB", 0))
    assert assert_holds(DeliverByTag, selected(history, 0, tags="a || paidAa")).judged == 1
    assert_broken(DeliverByTag, selected(history, 0, tags="paidAB"), "asked for paidAB, delivered m0, which was sent")


# Consumers.

CODED = ("a", "", "paidBB", "paidAa")
"""Of the messages m0, m1, ... of queue Q; the last two have one hash."""
BY_TAG = "paidAa || a"


def stored(history: C) -> C:
    for number, tag in enumerate(CODED):
        history.store(f"m{number}", detail=content(b"x", tag, 0))
    return history


def subscribing(tags: str = BY_TAG) -> C:
    """A consumer of G that subscribes to these tags holds Q from 0 on."""
    return stored(consuming()).come(tags=tags).take(None)


def read(history: C) -> C:
    """A store reader reads the master's log."""
    for number, tag in enumerate(CODED):
        (lo, hi), message = history.where[f"m{number}"], f"m{number}"
        history.add(
            "record", node="master", op=7, message=message, queue=Q, queue_offset=number, lo=lo, hi=hi, digest=5,
            detail=content(b"x", tag, 0),
        )  # fmt: skip
    history.add("audit", node="master", op=7, f="final", lo=0, hi=4 * SIZE, value=4 * SIZE)
    return history


def pulled(history: C, *messages: str, at: int = 0, to: int = 4, **more: str) -> C:
    """A pull whose answer brought these to the application; it is recorded when they have come."""
    op = asked(history, at)
    for message in messages:
        history.deliver(message, op)
    return answered(history, op, at, to, **more)


def asked(history: C, at: int = 0) -> int:
    """A pull begins; its number."""
    op = history.ops
    history.call(1, "pull", "master", phase="", value=at, detail=history.wanted[1])
    return op


def answered(history: C, op: int, at: int = 0, to: int = 4, **more: str) -> C:
    known = {"node": "master", "process": 1, "op": op, "f": "pull", "queue": Q, "group": G, "status": "PUT_OK"}
    history.add("ok", **{**known, "value": at, "queue_offset": to, **more})
    return history


def test_a_consumer_gets_all_that_has_its_tags_and_nothing_else() -> None:
    assert assert_holds(DeliverByTag, read(pulled(subscribing(), "m0", "m3"))).judged == 4
    assert_holds(DeliverByTag, read(pulled(subscribing("paidBB"), "m2")))
    assert_broken(DeliverByTag, pulled(subscribing(), "m0", "m1"), "asked for a or paidAa, delivered m1, which was")
    assert_broken(DeliverByTag, pulled(subscribing(), "m0", "m2", "m3"), "delivered m2, which was sent with paidBB")
    assert_broken(DeliverByTag, read(pulled(subscribing(), "m0")), "master went on at 4 without m3 at 3 of T/0")
    nothing = pulled(subscribing(), status="PULL_RETRY_IMMEDIATELY")
    assert_broken(DeliverByTag, read(nothing), "master went on at 4 without m0", times=2)


def test_what_came_for_a_queue_that_it_no_longer_holds_a_consumer_may_leave() -> None:
    given_up = subscribing().assign(0, status="off")
    assert_vacuous(DeliverByTag, read(pulled(given_up)))
    again = subscribing()
    op = asked(again)
    assert_vacuous(DeliverByTag, read(answered(again.assign(0, status="off").assign(0), op)))
    assert_vacuous(DeliverByTag, read(pulled(subscribing(), node="other")))


def ended(history: C) -> C:
    history.after(160_000).mark("converged").mark("end")
    return history


def healed(tags: str = BY_TAG) -> C:
    history = subscribing(tags)
    history.mark("heal")
    return history


def test_a_group_misses_what_it_subscribed_to_and_nothing_else() -> None:
    assert assert_holds(DeliverNoLoss, ended(pulled(healed(), "m0", "m3"))).judged == 2
    assert_vacuous(DeliverNoLoss, ended(pulled(healed("b"))))
    assert_broken(DeliverNoLoss, ended(pulled(healed(), "m0")), "m3 (PUT_OK), T/0 at 3, never came to G, which has")
    assert_broken(DeliverNoLoss, ended(healed("paidBB")), "m2 (PUT_OK), T/0 at 2, never came to G; for 150000 ms")


def test_a_group_that_subscribed_also_misses_it_after_its_members_changed() -> None:
    history = subscribing("paidBB").come(2, tags="paidBB")
    history.mark("heal")
    left = pulled(history, to=4).commit(4).go()
    assert_broken(DeliverNoLoss, ended(left), "m2 (PUT_OK), T/0 at 2, never came to G, which has gone on behind it")


@pytest.mark.parametrize(("tag", "is_woken"), [("a", True), ("paidAa", True), ("paidBB", False), ("", False)])
def test_only_a_message_with_a_tag_that_it_wants_wakes_a_pull(tag: str, is_woken: bool) -> None:
    history = consuming().come(tags=BY_TAG)
    asked(history)
    history.store("m0", detail=content(b"x", tag, 0)).after(1_001).mark("end")
    if is_woken:
        assert_broken(PullAnswered, history, "waited at master for 1001 ms after a message had come for it")
    else:
        assert_holds(PullAnswered, history)


def lived() -> C:
    """It has m0 when the master goes down, and goes on at a slave."""
    return pulled(subscribing().learn(BOTH), "m0", to=1).crash("master").learn(SLAVE_ONLY)


def test_who_lives_through_the_master_s_loss_passes_what_it_does_not_want_and_does_not_go_back() -> None:
    on = lived()
    assert isinstance(on, C)
    assert assert_holds(ProgressLiveConsumer, on.pull(1, "m3", node="slave", then=4)).judged == 1
    back = on.start("master")
    assert isinstance(back, C)
    assert_broken(ProgressLiveConsumer, back.pull(0, "m0", then=4), "went back from 4 to 0")


@pytest.mark.parametrize(("passed", "start", "holds"), [(3, 3, True), (2, 3, False)])
def test_a_group_goes_on_behind_what_it_has_passed(passed: int, start: int, holds: bool) -> None:
    history = pulled(subscribing(), "m0", to=passed).commit(passed).sync().after(6_100).crash("master").start("master")
    assert isinstance(history, C)
    taken = history.come(2, tags=BY_TAG).take(start, process=2)
    if holds:
        assert_holds(ProgressRecovers, taken)
    else:
        assert_broken(ProgressRecovers, taken, "goes on in T/0 at 3; it has received nothing from 2 on")


def chosen(told: str, lies_in: str) -> H:
    """A producer leaves the choice of the queue to the broker, which says what it chose."""
    said = content(b"x", "", 0)
    call = {"node": "master", "process": 0, "op": 0, "f": "send", "message": "m0"}
    history = bare().add("invoke", **call, queue="t/-1", detail=said)
    history.add("ok", **call, status="PUT_OK", queue=told, lo=0, hi=SIZE, queue_offset=0)
    history.add(
        "record", node="master", op=7, message="m0", queue=lies_in, queue_offset=0, lo=0, hi=SIZE, digest=5, detail=said
    )
    return history.add("audit", node="master", op=7, f="final", lo=0, hi=SIZE, value=SIZE)


def test_a_queue_that_a_broker_chose_is_the_one_that_it_names() -> None:
    assert_holds(StoredAsSent, chosen("t/2", "t/2"))
    assert_broken(StoredAsSent, chosen("t/0", "t/2"), "m0 lies in t/2; its sender was told t/0")
    delivered = chosen("t/2", "t/2").add("deliver", node="master", process=1, op=3, f="pull", message="m0", queue="t/2")
    assert_holds(DeliverNoPhantom, delivered)


def test_a_body_that_was_sent_compressed_is_marked_as_such() -> None:
    said = content(b"x", "", 0, compressed=True)
    history = bare().add("invoke", node="master", op=0, f="send", message="m0", queue="t/0", detail=said)
    for detail, holds in ((said, True), (content(b"x", "", 0), False)):
        history.add("record", node="slave", op=7, message="m0", queue="t/0", lo=0, hi=SIZE, detail=detail)
        if holds:
            assert_holds(StoredAsSent, history)
    assert_broken(StoredAsSent, history, "with compressed none; it was sent with True")
