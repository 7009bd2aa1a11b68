"""Tests of ``ack-flushed``."""

from collections.abc import Callable

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, pair
from histories.acks import SYNC_FLUSH

from pairproof.harness.rocketmq.laws.acks.ack_bounded import AckBounded
from pairproof.harness.rocketmq.laws.acks.ack_flushed import AckFlushed
from pairproof.harness.rocketmq.laws.acks.ack_timeout_honest import AckTimeoutHonest


def test_put_ok_under_sync_flush_comes_after_a_flush_that_reached_the_message() -> None:
    assert_holds(AckFlushed, pair(**SYNC_FLUSH).put("m0").flush("master").ok("m0"))
    assert_broken(
        AckFlushed, pair(**SYNC_FLUSH).put("m0").ok("m0").flush("master"), "no flush had reached its end, 100"
    )


def test_a_flush_that_began_before_the_message_does_not_count_nor_does_a_slave_s() -> None:
    early = pair(**SYNC_FLUSH).put("m0").put("m1").flush("master", 100).ok("m0").ok("m1")
    assert_broken(AckFlushed, early, "m1 was acknowledged")
    elsewhere = pair(**SYNC_FLUSH).put("m0").replicate().flush("slave").ok("m0")
    assert_broken(AckFlushed, elsewhere, "m0 was acknowledged")


@pytest.mark.parametrize("end", [lambda h: h.crash("master", "machine"), lambda h: h.stop("master")])
def test_a_flush_in_another_incarnation_of_the_master_does_not_count(end: Callable[[H], H]) -> None:
    again = end(pair(**SYNC_FLUSH).put("m0")).start("master", 0).put("m1").flush("master")
    assert_broken(AckFlushed, again.ok("m0"), "m0 was acknowledged")
    under_way = end(pair(**SYNC_FLUSH).put("m0").flush("master"))
    assert_holds(AckFlushed, under_way.ok("m0"))


def test_a_master_flushes_and_answers_before_an_orderly_stop() -> None:
    def stopped() -> H:
        return pair(**SYNC_FLUSH).put("m0").stop("master")

    assert_holds(AckFlushed, stopped().flush("master").ok("m0"))
    assert_broken(AckFlushed, stopped().ok("m0"), "m0 was acknowledged")
    assert_broken(AckFlushed, stopped().start("master").flush("master").ok("m0"), "m0 was acknowledged")


def test_other_answers_and_sends_that_do_not_wait_promise_no_flush() -> None:
    assert_vacuous(AckFlushed, pair(**SYNC_FLUSH).put("m0").ok("m0", "FLUSH_DISK_TIMEOUT").put("m1", False).ok("m1"))
    assert_not_applicable(AckFlushed, pair().sent("m0"))


def put_again(flushed: bool = False, **settings: object) -> H:
    """A second after its append, and before its answer, a delayed message is appended to its queue."""
    history = pair(**settings).put("m0")
    if flushed:
        history.flush("master")
    return history.after(1_000).append("master", SIZE, 2 * SIZE, "put", "m0")


def test_a_send_waits_for_its_own_append_not_for_a_later_delivery() -> None:
    assert_holds(AckFlushed, put_again(True, flushDiskType="SYNC_FLUSH").ok("m0"))
    assert_broken(AckFlushed, put_again(False, flushDiskType="SYNC_FLUSH").ok("m0"), "m0 was acknowledged")
    assert_holds(AckTimeoutHonest, put_again().after(2_000).ok("m0", "FLUSH_SLAVE_TIMEOUT"))
    assert_broken(AckTimeoutHonest, put_again().after(1_999).ok("m0", "FLUSH_SLAVE_TIMEOUT"), "after 2999.000 ms")
    assert_broken(AckBounded, put_again().after(4_500).ok("m0", "FLUSH_SLAVE_TIMEOUT"), "m0")
