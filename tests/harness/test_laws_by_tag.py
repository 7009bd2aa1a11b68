"""``deliver-by-tag``: what a pull by tags may bring, and must not leave out; and the queue that a broker chose."""

from __future__ import annotations

import json

from pairproof.harness.content import content
from pairproof.harness.rocketmq.laws.deliver_by_tag import DeliverByTag
from pairproof.harness.rocketmq.laws.deliver_no_phantom import DeliverNoPhantom
from pairproof.harness.rocketmq.laws.stored_as_sent import StoredAsSent
from pairproof.harness.rocketmq.testing import SIZE, H, bare
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

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
