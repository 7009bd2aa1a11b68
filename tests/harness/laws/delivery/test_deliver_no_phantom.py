"""Tests of ``deliver-no-phantom``."""

import pytest
from histories import FILE, SIZE, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming, grouped

from pairproof.harness.history import digest
from pairproof.harness.rocketmq.laws.delivery.deliver_no_phantom import DeliverNoPhantom

OTHER = digest(b"other")


def test_master_and_slave_may_deliver_a_sent_message_to_groups_and_plain_readers() -> None:
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
def test_a_message_that_differs_from_its_send_may_not_be_delivered(given: dict[str, object], saying: str) -> None:
    assert_broken(DeliverNoPhantom, grouped("first", "m0").pull(1, "m0", **given), saying)


def test_a_key_at_another_message_s_offset_is_a_phantom() -> None:
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
    def came_twice(sends: int, detail: str | None) -> Story:
        history = consuming().come()
        for _ in range(sends):
            history.call(0, "send", "master", message="m0", value=1, detail=detail)
        history.pull(0, "m0").pull(1, "m0", queue_offset=1)
        # And after a crash at the same offset, with another store time.
        history.pull(0, "m0", digest=OTHER)
        return history.add("record", node="master", op=9, message="m0", lo=FILE, digest=digest(b"third"))

    assert_holds(DeliverNoPhantom, came_twice(sends, detail))
    assert_broken(DeliverNoPhantom, came_twice(1, None), "it was sent once", times=3)


def test_without_recorded_appends_all_deliveries_must_have_the_same_bytes() -> None:
    def unseen() -> Story:
        return grouped("m0").pull(0, "m0", lo=5_000, hi=5_100)

    assert_holds(DeliverNoPhantom, unseen().pull(0, "m0", lo=5_000, hi=5_100, node="slave"))
    other = unseen().pull(0, "m0", lo=5_000, hi=5_100, node="slave", digest=OTHER)
    assert_broken(DeliverNoPhantom, other, "with other bytes than were delivered before")
    assert_holds(DeliverNoPhantom, unseen().add("record", node="master", message="m0", lo=5_000, digest=digest(b"m0")))
    stored = unseen().add("record", node="master", message="m0", lo=5_000, digest=OTHER)
    assert_broken(DeliverNoPhantom, stored, "with other bytes than master has at 5000")
    # After a promotion, a slave that did not deliver it may have another master's record there.
    assert_holds(DeliverNoPhantom, unseen().add("record", node="slave", message="m0", lo=5_000, digest=OTHER))


def test_either_of_two_appends_at_one_offset_may_be_delivered() -> None:
    rewritten = grouped("m0").cut(0).store("m1").pull(0, "m1").pull(0, "m0", node="slave")
    assert_holds(DeliverNoPhantom, rewritten)


def test_a_retried_message_comes_from_its_group_s_own_queue() -> None:
    history = grouped("m0")

    def brings(op: int) -> None:
        history.deliver("m0", op, queue="%RETRY%G/0", lo=900, hi=1_000)

    history.call(1, "pull", "master", brings=brings, queue="%RETRY%G/0", value=0, ok_queue_offset=1)
    assert_holds(DeliverNoPhantom, history)


def test_an_empty_answer_is_not_judged() -> None:
    assert_vacuous(DeliverNoPhantom, grouped("m0").pull(0))


def test_a_record_of_a_diverged_slave_that_came_in_two_frames_may_mix_two_logs() -> None:
    def mixed(*ends: int) -> Story:
        history = grouped()
        start = history.end["master"]
        history.store("m0")
        for end in ends:
            history.replicate(start + end)
        return history.cut(0).pull(0, "m0", node="slave", digest=OTHER)

    assert_broken(DeliverNoPhantom, mixed(SIZE), "slave delivered m0 otherwise than it was put")
    assert_vacuous(DeliverNoPhantom, mixed(SIZE // 2, SIZE))
