"""What consumers receive: no message that was not sent, in order, again only from where their broker knew, and all."""

from __future__ import annotations

import pytest
from consuming import C, consuming, grouped

from pairproof.harness.history import digest
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.delivery.deliver_at_least_once import DeliverAtLeastOnce
from pairproof.harness.rocketmq.laws.delivery.deliver_no_phantom import DeliverNoPhantom
from pairproof.harness.rocketmq.laws.delivery.deliver_order import DeliverOrder
from pairproof.harness.rocketmq.testing import FILE, SIZE
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

OTHER = digest(b"other")

# deliver-no-phantom


def test_what_was_sent_may_be_delivered_by_master_and_slave_to_groups_and_to_plain_readers() -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").pull(0, "m0", node="slave").pull(0, "m1", process=9)
    assert assert_holds(DeliverNoPhantom, history).judged == 4


@pytest.mark.parametrize(
    ("given", "saying"),
    [
        ({"message": "ghost"}, "delivered ghost, which nobody sent"),
        ({"message": None}, "delivered a message without a key"),
        ({"queue": "T/1"}, "delivered m0 of T/1 to a pull from T/0"),
        ({"digest": OTHER}, f"delivered m0 otherwise than it was put at {SIZE}"),
        ({"hi": 2 * SIZE + 1}, f"delivered m0 otherwise than it was put at {SIZE}"),
    ],
)
def test_what_was_not_sent_so_may_not(given: dict[str, object], saying: str) -> None:
    assert_broken(DeliverNoPhantom, grouped("first", "m0").pull(1, "m0", **given), saying)


def test_a_key_at_another_message_s_place_is_a_phantom() -> None:
    assert_broken(
        DeliverNoPhantom, grouped("m0", "m1").pull(0, "m0", lo=SIZE, hi=2 * SIZE), "otherwise than it was put"
    )


def test_a_message_comes_from_the_queue_that_it_was_sent_to() -> None:
    astray = consuming().store("m0", queue="T/1").come().take(None).pull(0, "m0")
    assert_broken(DeliverNoPhantom, astray, "master delivered m0 from T/0; it was sent to T/1")


def test_a_message_that_was_sent_once_has_one_offset() -> None:
    assert_holds(DeliverNoPhantom, grouped("m0").pull(0, "m0").pull(0, "m0").pull(0, "m0", node="slave", process=9))
    twice = grouped("m0", "m1").pull(0, "m0").pull(1, "m0", queue_offset=1)
    assert_broken(DeliverNoPhantom, twice, "master delivered m0 at 1 of T/0; it was sent once, and was at 0 before")


@pytest.mark.parametrize(("sends", "detail"), [(2, None), (1, '{"level": 1}')])
def test_a_message_that_is_sent_again_or_is_delayed_may_have_two(sends: int, detail: str | None) -> None:
    def came_twice(sends: int, detail: str | None) -> C:
        history = consuming().come()
        for _ in range(sends):
            history.call(0, "send", "master", message="m0", value=1, detail=detail)
        history.pull(0, "m0").pull(1, "m0", queue_offset=1)
        # And after a crash at the same place, as of another time.
        history.pull(0, "m0", digest=OTHER)
        return history.add("record", node="master", op=9, message="m0", lo=FILE, digest=digest(b"third"))

    assert_holds(DeliverNoPhantom, came_twice(sends, detail))
    assert_broken(DeliverNoPhantom, came_twice(1, None), "it was sent once", times=3)


def test_where_no_append_is_seen_the_bytes_must_be_the_same_every_time() -> None:
    def unseen() -> C:
        return grouped("m0").pull(0, "m0", lo=5_000, hi=5_100)

    assert_holds(DeliverNoPhantom, unseen().pull(0, "m0", lo=5_000, hi=5_100, node="slave"))
    other = unseen().pull(0, "m0", lo=5_000, hi=5_100, node="slave", digest=OTHER)
    assert_broken(DeliverNoPhantom, other, "with other bytes than were delivered before")
    assert_holds(DeliverNoPhantom, unseen().add("record", node="master", message="m0", lo=5_000, digest=digest(b"m0")))
    stored = unseen().add("record", node="master", message="m0", lo=5_000, digest=OTHER)
    assert_broken(DeliverNoPhantom, stored, "with other bytes than master has at 5000")
    # A slave that did not deliver it may have a log of two masters there, after a promotion.
    assert_holds(DeliverNoPhantom, unseen().add("record", node="slave", message="m0", lo=5_000, digest=OTHER))


def test_what_came_twice_to_one_place_may_be_delivered_either_way() -> None:
    rewritten = grouped("m0").cut(0).store("m1").pull(0, "m1").pull(0, "m0", node="slave")
    assert_holds(DeliverNoPhantom, rewritten)


def test_a_retried_message_comes_from_its_group_s_own_queue() -> None:
    history = grouped("m0")

    def brings(op: int) -> None:
        history.deliver("m0", op, queue="%RETRY%G/0", lo=900, hi=1_000)

    history.call(1, "pull", "master", brings=brings, queue="%RETRY%G/0", value=0, ok_queue_offset=1)
    assert_holds(DeliverNoPhantom, history)


def test_nobody_receives_nothing() -> None:
    assert_vacuous(DeliverNoPhantom, grouped("m0").pull(0))


# deliver-order


def test_a_consumer_sees_a_queue_in_order_and_may_rewind() -> None:
    history = grouped("m0", "m1", "m2").pull(0, "m0").pull(1, "m1", "m2", node="slave").pull(1, "m1").pull(2, "m2")
    assert assert_holds(DeliverOrder, history).judged == 5


@pytest.mark.parametrize(
    ("at", "messages", "saying"),
    [
        (0, ("m1", "m0"), "T/0 at 0 came when 2 or more was due"),
        (0, ("m0", "m0"), "T/0 at 0 came when 1 or more was due"),
        (1, ("m0", "m1"), "T/0 at 0 came when 1 or more was due"),
    ],
)
def test_a_pull_that_brings_less_than_was_due_is_out_of_order(at: int, messages: tuple[str, ...], saying: str) -> None:
    assert_broken(DeliverOrder, grouped("m0", "m1").pull(at, *messages), saying)
    assert_broken(DeliverOrder, consuming().store("m0").store("m1").pull(at, *messages, process=9), saying)


def late(regroup: bool) -> C:
    """What the first pull brought comes to the application after what the second did."""
    history = grouped("m0", "m1")
    first = history.ops
    history.call(1, "pull", "master", phase="", value=0).pull(1, "m1")
    if regroup:
        history.assign(2, status="off").assign(0)
    return history.deliver("m0", first)


def test_an_earlier_pull_s_messages_come_first() -> None:
    assert_broken(DeliverOrder, late(False), "T/0 at 0 came after what a later pull brought")
    assert_holds(DeliverOrder, late(True))


def test_an_offset_is_one_message_from_master_and_slave() -> None:
    assert_holds(DeliverOrder, grouped("m0", "m1").pull(0, "m0").pull(0, "m0", node="slave"))
    mixed = grouped("m0", "m1").pull(0, "m0").pull(0, "m1", node="slave", queue_offset=0)
    assert_broken(DeliverOrder, mixed, "T/0 at 0 is m1 from slave, m0 it was from master, and no crash took that")


def test_an_offset_comes_twice_if_the_first_message_was_lost() -> None:
    assert_holds(DeliverOrder, grouped("m0", "m1").pull(0, "m0", "m1").cut(1).store("m2").pull(1, "m2"))
    assert_holds(DeliverOrder, grouped("m0", "m1").cut(1).store("m2").pull(1, "m2").pull(1, "m1", node="slave"))
    kept = grouped("m0", "m1", "m2").pull(0, "m0").cut(2).pull(0, "m1", queue_offset=0)
    assert_broken(DeliverOrder, kept, "and no crash took that")


def test_a_lost_store_loses_all() -> None:
    history = grouped("m0").pull(0, "m0").wipe("master", "image").start("master", SIZE)
    assert_holds(DeliverOrder, history.pull(0, "m1", queue_offset=0))


def test_another_broker_name_has_queues_of_the_same_names() -> None:
    assert_holds(DeliverOrder, grouped("m0").pull(0, "m0").pull(0, "o0", node="other", process=9))


# deliver-at-least-once


def handed_over(committed: int | None, answer: int | None, node: str = "master", prepared: C | None = None) -> C:
    """A consumer had m0 and m1 and committed; it dies, and another one goes on from a broker's answer."""
    history = prepared or grouped("m0", "m1")
    history.pull(0, "m0", "m1")
    if committed is not None:
        history.commit(committed)
    history.sync().go(status="lost").come(2).take(answer, node, process=2)
    return history.pull(answer or 0, *("m0", "m1")[answer or 0 :], node=node, process=2)


@pytest.mark.parametrize("node", ["master", "slave"])
def test_what_was_not_committed_may_come_again(node: str) -> None:
    found = assert_holds(DeliverAtLeastOnce, handed_over(1, 1, node))
    assert found.notes == {"repeats": 1}


@pytest.mark.parametrize("node", ["master", "slave"])
def test_what_the_broker_knew_as_consumed_may_not(node: str) -> None:
    assert_broken(
        DeliverAtLeastOnce, handed_over(2, 1, node),
        f"m1, T/0 at 1, came to G again, though {node} knew that it had gone on to 2",
    )  # fmt: skip
    assert_broken(DeliverAtLeastOnce, handed_over(1, None, node).take(0, node, 2).pull(0, "m0", process=2), "m0")


def test_a_consumer_that_goes_back_on_its_own_repeats_too_much() -> None:
    back = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(2, process=2, start=0)
    assert_broken(DeliverAtLeastOnce, back.pull(0, "m0", process=2), "though master knew that it had gone on to 2")


def test_who_knows_nothing_says_nothing() -> None:
    assert_vacuous(DeliverAtLeastOnce, handed_over(None, 0))


def test_a_slave_that_never_synced_knows_nothing() -> None:
    unsynced = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).come(2).take(0, "slave", process=2)
    assert_vacuous(DeliverAtLeastOnce, unsynced.pull(0, "m0", node="slave", process=2))


@pytest.mark.parametrize(("older_ms", "verdict"), [(5_900, Verdict.VACUOUS), (6_100, Verdict.VIOLATED)])
def test_a_killed_broker_knows_what_it_had_written(older_ms: float, verdict: Verdict) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).after(older_ms)
    history.crash("master").start("master").come(2).take(0, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).verdict is verdict


def test_an_answer_that_sends_a_consumer_back_is_a_broker_s_word_too() -> None:
    def sent_back(committed: int) -> C:
        history = grouped("m0", "m1").pull(0, "m0", "m1").commit(committed).pull(2, then=1)
        return history.pull(1, "m1")

    assert_holds(DeliverAtLeastOnce, sent_back(1))
    assert_broken(DeliverAtLeastOnce, sent_back(2), "though master knew that it had gone on to 2")


def test_a_slave_sends_nobody_back() -> None:
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, node="slave"))
    assert_vacuous(DeliverAtLeastOnce, grouped("m0").pull(0, "m0").pull(1, then=0))
    back = grouped("m0").pull(0, "m0").pull(1, node="slave", then=0)
    assert_broken(DeliverAtLeastOnce, back, "slave sends G back from 1 to 0 in T/0, though it may only be behind")
    told = grouped("m0", slave={"offsetCheckInSlave": True}).pull(0, "m0").pull(1, node="slave", then=0)
    assert judged(DeliverAtLeastOnce, told.events).verdict is Verdict.NOT_APPLICABLE


def test_a_commit_that_may_still_arrive_may_be_what_the_broker_knows() -> None:
    racing = grouped("m0", "m1").pull(0, "m0").commit(1, phase="info").commit(2)
    racing.come(2).take(1, process=2).pull(0, "m0", "m1", process=2)
    assert_broken(DeliverAtLeastOnce, racing, "m0, T/0 at 0")


@pytest.mark.parametrize("how", ["cut", "wipe", "machine", "slave"])
def test_who_lost_what_it_knew_is_excused(how: str) -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).sync().after(10_000)
    node = "slave" if how == "slave" else "master"
    if how == "cut":
        history.cut(1)
    elif how == "wipe":
        history.wipe("master").start("master", 0)
    else:
        history.crash(node, "machine").start(node)
    assert_vacuous(DeliverAtLeastOnce, history.come(2).take(0, node, 2).pull(0, "m0", node=node, process=2))


def test_nobody_knows_the_progress_of_who_receives_all_for_himself() -> None:
    history = consuming().store("m0").come(1, f="broadcasting").take(None).pull(0, "m0")
    history.come(2, f="broadcasting").take(None, process=2).pull(0, "m0", process=2)
    assert judged(DeliverAtLeastOnce, history.events).notes == {"repeats": 0}
