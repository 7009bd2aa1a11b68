"""Tests of ``deliver-orderly``."""

from histories import Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import orderly

from pairproof.harness.rocketmq.laws.delivery.deliver_orderly import DeliverOrderly


def test_a_member_consumes_only_queues_that_it_has_locked() -> None:
    history = orderly("m0", "m1").lock(1)
    assert_holds(DeliverOrderly, history.take(None).pull(0, "m0", "m1"))
    without = "T/0 at 0 came to process 1 of G, which does not hold the queue's lock"
    assert_broken(DeliverOrderly, orderly("m0").take(None).pull(0, "m0"), without)
    refused = orderly("m0").lock(1).lock(1, held=False)
    assert_broken(DeliverOrderly, refused.take(None).pull(0, "m0"), without)
    back = orderly("m0").lock(1).unlock(1)
    assert_broken(DeliverOrderly, back.take(None).pull(0, "m0"), without)
    assert_vacuous(DeliverOrderly, orderly("m0", f="clustering").take(None).pull(0, "m0"))


def test_a_lock_counts_for_half_a_minute_from_its_request() -> None:
    def late(ms: float) -> Story:
        taken = orderly("m0").lock(1).take(None)
        taken.after(ms)
        return taken.pull(0, "m0")

    assert_holds(DeliverOrderly, late(29_000))
    assert_broken(DeliverOrderly, late(31_000), "which last asked for the lock 310")
    nobody_knows = orderly("m0").lock(1).lock(1, status="unknown")
    assert_holds(DeliverOrderly, nobody_knows.take(None).pull(0, "m0"))


def test_a_member_consumes_no_queue_that_it_has_given_up() -> None:
    given_up = orderly("m0").lock(1).take(None).assign(0, status="off").pull(0, "m0")
    assert_broken(DeliverOrderly, given_up, "which has not taken the queue")


def test_an_orderly_group_receives_no_message_after_a_later_one() -> None:
    def skipped(*then: str) -> Story:
        history = orderly("m0", "m1").lock(1)
        history.take(None, start=1).pull(1, "m1").assign(2, status="off")
        history.unlock(1).come(2)
        history.events[-1] = history.events[-1]._replace(f="orderly")
        history.lock(2).take(0, process=2).pull(0, *then, process=2)
        return history

    assert_broken(DeliverOrderly, skipped("m0"), "T/0 at 0 came to G for the first time when 1 had come")
    again = orderly("m0", "m1").lock(1)
    assert_holds(DeliverOrderly, again.take(None).pull(0, "m0", "m1").assign(0).pull(0, "m0", "m1"))
    lost = orderly("m0", "m1").lock(1)
    lost.take(None, start=1).pull(1, "m1").crash("slave", "machine")
    assert_holds(DeliverOrderly, lost.assign(0).pull(0, "m0"))
