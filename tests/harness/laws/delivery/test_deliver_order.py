"""Tests of ``deliver-order``."""

import pytest
from histories import SIZE, Story, assert_broken, assert_holds
from histories.consumers import consuming, grouped

from pairproof.harness.rocketmq.laws.delivery.deliver_order import DeliverOrder


def test_a_consumer_receives_a_queue_in_order_and_may_rewind() -> None:
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
def test_a_pull_that_goes_back_is_out_of_order(at: int, messages: tuple[str, ...], saying: str) -> None:
    assert_broken(DeliverOrder, grouped("m0", "m1").pull(at, *messages), saying)
    assert_broken(DeliverOrder, consuming().store("m0").store("m1").pull(at, *messages, process=9), saying)


def test_a_log_of_two_histories_has_an_offset_twice() -> None:
    def read(cut: int) -> Story:
        lost = grouped("m0", "m1").replicate(2 * SIZE).crash("master", "machine").start("master", cut)
        return lost.pull(0, "m0", "m1", node="slave", queue_offset=0)

    assert_holds(DeliverOrder, read(SIZE))
    assert_broken(DeliverOrder, read(2 * SIZE), "T/0 at 0 came when 1 or more was due", times=2)


def late(regroup: bool) -> Story:
    """The application receives the first pull's messages after the second one's."""
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


def test_an_offset_is_reused_after_its_message_was_lost() -> None:
    assert_holds(DeliverOrder, grouped("m0", "m1").pull(0, "m0", "m1").cut(1).store("m2").pull(1, "m2"))
    assert_holds(DeliverOrder, grouped("m0", "m1").cut(1).store("m2").pull(1, "m2").pull(1, "m1", node="slave"))
    kept = grouped("m0", "m1", "m2").pull(0, "m0").cut(2).pull(0, "m1", queue_offset=0)
    assert_broken(DeliverOrder, kept, "and no crash took that")


def test_all_offsets_are_reused_after_a_lost_store() -> None:
    history = grouped("m0").pull(0, "m0").wipe("master", "image").start("master", SIZE)
    assert_holds(DeliverOrder, history.pull(0, "m1", queue_offset=0))


def test_another_broker_name_has_queues_of_the_same_names() -> None:
    assert_holds(DeliverOrder, grouped("m0").pull(0, "m0").pull(0, "o0", node="other", process=9))
