"""Tests of ``ack-timeout-honest``."""

import pytest
from histories import H, assert_broken, assert_holds, pair
from histories.acks import TIMEOUT

from pairproof.harness.rocketmq.laws.acks.ack_timeout_honest import AckTimeoutHonest


def test_a_timeout_after_the_whole_wait_is_honest_and_an_earlier_one_is_not() -> None:
    assert_holds(AckTimeoutHonest, pair().put("m0").after(3_000).ok("m0", TIMEOUT))
    assert_broken(AckTimeoutHonest, pair().put("m0").after(2_999).ok("m0", TIMEOUT), "after 2999.000 ms")


def test_the_wait_is_the_configured_one() -> None:
    assert_holds(AckTimeoutHonest, pair(slaveTimeout=500).put("m0").after(500).ok("m0", TIMEOUT))


def test_the_wait_counts_from_the_append_not_from_the_send() -> None:
    slow = pair().invoke("m0").after(2_000).append("master", 0, 100, "put", "m0")
    assert_broken(AckTimeoutHonest, slow.after(1_500).ok("m0", TIMEOUT), "after 1500.000 ms")


def test_reports_that_fall_short_do_not_shorten_the_wait() -> None:
    nudged = pair().put("m0")
    for _ in range(5):
        nudged.after(10).report(0)
    assert_broken(AckTimeoutHonest, nudged.ok("m0", TIMEOUT), "after 50.000 ms")


@pytest.mark.parametrize(
    ("version", "wait_ms"), [("4.5.2", 4_000), ("4.6.0", 5_000), ("4.9.2", 5_000), ("4.9.3", 3_000), ("5.5.0", 3_000)]
)
def test_the_wait_depends_on_the_master_s_version(version: str, wait_ms: int) -> None:
    def waited(ms: int) -> H:
        return pair(rocketmqVersion=version).put("m0").after(ms).ok("m0", TIMEOUT)

    assert_holds(AckTimeoutHonest, waited(wait_ms))
    assert_broken(AckTimeoutHonest, waited(wait_ms - 1), f"after {wait_ms - 1}.000 ms")


@pytest.mark.parametrize(("reports", "least_ms"), [(0, 4_000), (1, 3_000), (3, 1_000), (4, 0), (7, 0)])
def test_up_to_4_5_2_each_report_may_end_a_wake_up(reports: int, least_ms: int) -> None:
    def nudged(ms: int) -> H:
        history = pair(rocketmqVersion="4.4.0").put("m0").frame(0, 50)
        for number in range(reports):
            history.report(number + 1)
        return history.after(ms).ok("m0", TIMEOUT)

    assert_holds(AckTimeoutHonest, nudged(least_ms))
    if least_ms:
        assert_broken(AckTimeoutHonest, nudged(least_ms - 1), f"4.4.0 wakes 5 times, {reports} reports came")


def test_a_repeated_report_ends_no_wake_up() -> None:
    def nudged(offset: int) -> H:
        history = pair(rocketmqVersion="4.4.0").put("m0").frame(0, 50).report(20)
        for _ in range(4):
            history.report(offset)
        return history.after(2_999).ok("m0", TIMEOUT)

    assert_broken(AckTimeoutHonest, nudged(20), "4.4.0 wakes 5 times, 1 reports came")
    assert_holds(AckTimeoutHonest, nudged(30))


def test_in_real_time_a_report_may_wake_the_master_an_instant_later() -> None:
    def woken(ms: int) -> H:
        history = pair(rocketmqVersion="4.4.0").real(300).report(0).pause("master", 5_000).after(ms).put("m0")
        return history.after(3_000).ok("m0", TIMEOUT)

    assert_holds(AckTimeoutHonest, woken(200))
    assert_broken(AckTimeoutHonest, woken(400), "4.4.0 wakes 5 times, 0 reports came")


def test_up_to_4_5_2_a_short_timeout_still_ends_the_wait() -> None:
    def waited(ms: int) -> H:
        return pair(rocketmqVersion="4.4.0", syncFlushTimeout=500).put("m0").after(ms).ok("m0", TIMEOUT)

    assert_broken(AckTimeoutHonest, waited(499), "syncFlushTimeout is 500 ms")
    assert_holds(AckTimeoutHonest, waited(500))


TURNS = "4.9.2"


def in_turn(version: str = TURNS, first: str = TIMEOUT, ms: float = 10_000) -> H:
    """Two sends a second apart; the first is answered after five seconds, the second ``ms`` after the begin."""
    both = pair(rocketmqVersion=version).put("m0").after(1_000).put("m1").after(4_000).ok("m0", first)
    return both.after(ms - 5_000).ok("m1", TIMEOUT)


def test_where_sends_wait_in_turn_the_wait_counts_from_the_turn() -> None:
    assert_holds(AckTimeoutHonest, in_turn())
    early = "m1 timed out after 4999.000 ms, syncFlushTimeout is 5000 ms from its turn, 4000.000 ms later"
    assert_broken(AckTimeoutHonest, in_turn(ms=9_999), early)
    assert_broken(AckTimeoutHonest, in_turn("4.7.1", ms=9_999), early)


@pytest.mark.parametrize("version", ["4.6.1", "4.7.0"])
def test_in_other_versions_the_wait_counts_from_the_append(version: str) -> None:
    assert_holds(AckTimeoutHonest, in_turn(version, ms=6_000))
    assert_broken(AckTimeoutHonest, in_turn(version, ms=5_999), "m1 timed out after 4999.000 ms")


@pytest.mark.parametrize("first", ["PUT_OK", "SLAVE_NOT_AVAILABLE", "FLUSH_DISK_TIMEOUT"])
def test_only_a_send_that_timed_out_has_had_a_whole_turn(first: str) -> None:
    assert_holds(AckTimeoutHonest, in_turn(first=first, ms=6_000))


def test_turns_add_up_and_end_with_the_master_s_incarnation() -> None:
    def third(ms: float) -> H:
        queue = pair(rocketmqVersion=TURNS).put("m0").put("m1")
        queue.after(5_000).ok("m0", TIMEOUT).after(5_000).ok("m1", TIMEOUT)
        return queue.put("m2").after(ms).ok("m2", TIMEOUT)

    assert_holds(AckTimeoutHonest, third(5_000))
    assert_broken(AckTimeoutHonest, third(4_999), "m2 timed out after 4999.000 ms")
    waiting = pair(rocketmqVersion=TURNS).put("m0").put("m1").put("m2").after(5_000).ok("m0", TIMEOUT)
    waiting.after(5_000).ok("m1", TIMEOUT).after(4_999).ok("m2", TIMEOUT)
    assert_broken(AckTimeoutHonest, waiting, "m2 timed out after 4999.000 ms")
    again = pair(rocketmqVersion=TURNS).put("m0").after(5_000).ok("m0", TIMEOUT).crash("master").start("master")
    assert_holds(AckTimeoutHonest, again.put("m1").after(5_000).ok("m1", TIMEOUT))


def test_a_message_that_timed_out_is_stored() -> None:
    assert_broken(AckTimeoutHonest, pair().invoke("m0").after(4_000).ok("m0", TIMEOUT).audit(), "does not hold it")
    found = pair().invoke("m0").after(4_000).ok("m0", TIMEOUT).audit(records={"master": ["m0"]})
    assert_holds(AckTimeoutHonest, found)


def test_a_power_loss_may_have_taken_it_since() -> None:
    lost = pair().invoke("m0").after(4_000).ok("m0", TIMEOUT).crash("master", "machine").start("master").audit()
    assert_holds(AckTimeoutHonest, lost)
    under_way = pair().invoke("m0").after(4_000).crash("master", "machine").ok("m0", TIMEOUT).start("master").audit()
    assert_holds(AckTimeoutHonest, under_way)
