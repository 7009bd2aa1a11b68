"""Tests of ``deliver-by-tag``."""

import json

from histories import SIZE, H, Q, Story, assert_broken, assert_holds, assert_vacuous, bare
from histories.tags import CODED, answered, asked, pulled, subscribing

from pairproof.harness.rocketmq.laws.delivery.deliver_by_tag import DeliverByTag
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


def test_a_pull_by_tags_brings_the_messages_with_one_of_them() -> None:
    assert assert_holds(DeliverByTag, listed(selected(sent(), 0, 3))).judged == 4
    assert_holds(DeliverByTag, listed(selected(sent(), 0, 2, 3, tags="a || b")))
    assert_holds(DeliverByTag, listed(selected(sent(), 3, start=1)))
    assert_holds(DeliverByTag, listed(selected(sent(), 0, to=3)))


def test_a_message_with_another_tag_or_without_one_is_noticed() -> None:
    assert_broken(DeliverByTag, selected(sent(), 0, 1, 3), "asked for a, delivered m1, which was sent without a tag")
    assert_broken(DeliverByTag, selected(sent(), 0, 2, 3), "asked for a, delivered m2, which was sent with b")


def test_a_missing_message_is_noticed() -> None:
    assert_broken(DeliverByTag, listed(selected(sent(), 0)), "slave went on at 4 without m3 at 3 of t/1")
    none = listed(selected(sent(), status="PULL_RETRY_IMMEDIATELY"))
    assert_broken(DeliverByTag, none, "slave went on at 4 without m0", times=2)


def test_a_pull_without_a_complete_answer_or_log_is_not_judged() -> None:
    assert_vacuous(DeliverByTag, listed(sent()))
    assert_vacuous(DeliverByTag, listed(selected(sent(), status="PULL_OFFSET_MOVED")))
    assert_vacuous(DeliverByTag, listed(selected(sent(), f="info", status="timeout")))
    assert_vacuous(DeliverByTag, listed(selected(sent()).wipe("slave")))
    assert_vacuous(DeliverByTag, listed(selected(sent()).crash("master", "machine")))


def test_a_plain_reader_may_get_another_tag_with_the_same_hash() -> None:
    history = bare().add("invoke", node="master", op=0, f="send", message="m0", detail=content(b"x", "paidBB", 0))
    assert assert_holds(DeliverByTag, selected(history, 0, tags="a || paidAa")).judged == 1
    assert_broken(DeliverByTag, selected(history, 0, tags="paidAB"), "asked for paidAB, delivered m0, which was sent")


def read(history: Story) -> Story:
    """A store reader reads the master's log."""
    for number, tag in enumerate(CODED):
        (lo, hi), message = history.where[f"m{number}"], f"m{number}"
        history.add(
            "record", node="master", op=7, message=message, queue=Q, queue_offset=number, lo=lo, hi=hi, digest=5,
            detail=content(b"x", tag, 0),
        )  # fmt: skip
    history.add("audit", node="master", op=7, f="final", lo=0, hi=4 * SIZE, value=4 * SIZE)
    return history


def test_a_consumer_gets_all_messages_with_its_tags_and_no_others() -> None:
    assert assert_holds(DeliverByTag, read(pulled(subscribing(), "m0", "m3"))).judged == 4
    assert_holds(DeliverByTag, read(pulled(subscribing("paidBB"), "m2")))
    assert_broken(DeliverByTag, pulled(subscribing(), "m0", "m1"), "asked for a or paidAa, delivered m1, which was")
    assert_broken(DeliverByTag, pulled(subscribing(), "m0", "m2", "m3"), "delivered m2, which was sent with paidBB")
    assert_broken(DeliverByTag, read(pulled(subscribing(), "m0")), "master went on at 4 without m3 at 3 of T/0")
    nothing = pulled(subscribing(), status="PULL_RETRY_IMMEDIATELY")
    assert_broken(DeliverByTag, read(nothing), "master went on at 4 without m0", times=2)


def test_a_consumer_may_drop_messages_of_a_queue_that_it_no_longer_holds() -> None:
    given_up = subscribing().assign(0, status="off")
    assert_vacuous(DeliverByTag, read(pulled(given_up)))
    again = subscribing()
    op = asked(again)
    assert_vacuous(DeliverByTag, read(answered(again.assign(0, status="off").assign(0), op)))
    assert_vacuous(DeliverByTag, read(pulled(subscribing(), node="other")))
