"""Tests of ``ack-bounded``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair
from histories.acks import SYNC_FLUSH, TIMEOUT, stalled

from pairproof.harness.rocketmq.laws.acks.ack_bounded import AckBounded


@pytest.mark.parametrize("status", ["PUT_OK", TIMEOUT, "FLUSH_DISK_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
def test_every_send_is_answered_within_the_longer_of_the_two_timeouts(status: str) -> None:
    assert_holds(AckBounded, stalled().put("m0").after(5_010).ok("m0", status))
    late = stalled().put("m0").after(5_011).ok("m0", status)
    words = "m0 was answered after 5011.000 ms; its waits may take 5000 ms (syncFlushTimeout, slaveTimeout)"
    assert_broken(AckBounded, late, words)


def test_the_configured_timeouts_make_the_bound() -> None:
    def lasting(ms: int) -> H:
        return pair(syncFlushTimeout=2_000, slaveTimeout=7_000).put("m0").after(ms).ok("m0", TIMEOUT)

    assert_holds(AckBounded, lasting(7_010))
    assert_broken(AckBounded, lasting(7_011), "may take 7000 ms")


def test_a_send_that_is_never_answered_is_caught_stored_or_not() -> None:
    for begun in (stalled().put("m0"), stalled().invoke("m0")):
        assert_broken(AckBounded, begun.after(9_000).over("m0", "info", "timeout"), "not answered for 9000.000 ms")
    assert_broken(AckBounded, stalled().put("m0").after(9_000).mark("end"), "not answered for 9000.000 ms")
    assert_vacuous(AckBounded, stalled().put("m0").over("m0", "info", "disconnected"))


def test_a_refusal_must_come_in_time_too() -> None:
    assert_holds(AckBounded, pair().invoke("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE"))
    late = pair().invoke("m0").after(6_000).over("m0", "fail", "SERVICE_NOT_AVAILABLE")
    assert_broken(AckBounded, late, "answered after 6000.000 ms")


def test_a_send_over_a_connection_broken_by_the_master_s_end_is_not_judged() -> None:
    dead = pair().sent("m0").crash("master", "machine").after(9_000).start("master").invoke("m1").after(10_000)
    assert assert_holds(AckBounded, dead.over("m1", "info", "timeout")).judged == 1
    anew = dead.invoke("m2").after(10_000).over("m2", "info", "timeout")
    assert_broken(AckBounded, anew, "m2 was not answered for 10000.000 ms")


def test_a_connection_opened_to_a_dead_master_is_not_good_at_its_restart() -> None:
    dead = pair().crash("master").invoke("m0").start("master").invoke("m1").after(9_000)
    assert_vacuous(AckBounded, dead.over("m0", "info", "timeout").over("m1", "info", "timeout"))
    anew = dead.invoke("m2").after(10_000).over("m2", "info", "timeout")
    assert_broken(AckBounded, anew, "m2 was not answered for 10000.000 ms")


def test_a_send_to_a_dead_master_is_not_judged() -> None:
    down = pair().crash("master").invoke("m0").after(9_000).over("m0", "fail", "refused")
    assert_vacuous(AckBounded, down)


@pytest.mark.parametrize("version", ["4.7.0", "4.9.2"])
def test_where_sends_wait_in_turn_each_has_a_whole_wait_from_the_answer_before_it(version: str) -> None:
    def second(ms: float) -> H:
        both = pair(rocketmqVersion=version).put("m0").after(1_000).put("m1").after(4_000).ok("m0", TIMEOUT)
        return both.after(ms).ok("m1", TIMEOUT)

    assert_holds(AckBounded, second(5_010))
    late = "m1 was answered after 5011.000 ms; its turn may take 5000 ms"
    assert_broken(AckBounded, second(5_011), late)
    alone = pair(rocketmqVersion=version).sent("m0").after(1_000).put("m1").after(5_011).ok("m1", TIMEOUT)
    assert_broken(AckBounded, alone, late)


@pytest.mark.parametrize("version", ["4.4.0", "4.6.1", "4.9.7"])
def test_in_other_versions_earlier_sends_extend_no_wait(version: str) -> None:
    both = pair(rocketmqVersion=version).put("m0").after(1_000).put("m1").after(4_000).ok("m0", TIMEOUT)
    assert_broken(AckBounded, both.after(1_011).ok("m1", TIMEOUT), "m1 was answered after 5011.000 ms")


def test_a_send_answered_without_a_turn_does_not_delay_the_next() -> None:
    queue = pair(rocketmqVersion="4.9.2").put("m0").put("m1").ok("m1", "SLAVE_NOT_AVAILABLE").put("m2")
    queue.after(5_000).ok("m0", TIMEOUT)
    assert_holds(AckBounded, queue.after(5_000).ok("m2", TIMEOUT))


def test_after_a_send_with_an_unknown_answer_the_next_deadline_is_unknown() -> None:
    lost = pair(rocketmqVersion="4.9.2").put("m0").put("m1").over("m0", "info", "timeout")
    assert_vacuous(AckBounded, lost.after(9_000).ok("m1", TIMEOUT))

    def behind_a_rogue(version: str) -> H:
        stored = pair(rocketmqVersion=version).append("master", 0, 100, "put", "m9").put("m1")
        return stored.after(9_000).ok("m1", TIMEOUT)

    assert_vacuous(AckBounded, behind_a_rogue("4.9.2"))
    assert_broken(AckBounded, behind_a_rogue("4.9.7"), "m1 was answered after 9000.000 ms")


@pytest.mark.parametrize("status", ["SYSTEM_ERROR", "code 9999"])
def test_an_answer_that_proves_no_turn_leaves_the_next_start_open(status: str) -> None:
    """A third party's broker may refuse a send that it has stored, before or after its turn."""

    def behind(answer: str, ms: float) -> H:
        queue = pair(rocketmqVersion="4.9.2").put("m0").put("m1").after(4_000)
        queue = queue.ok("m0", answer) if answer == TIMEOUT else queue.over("m0", "fail", answer)
        return queue.after(ms).ok("m1", TIMEOUT)

    assert_broken(AckBounded, behind(TIMEOUT, 5_011), "m1 was answered after 5011.000 ms")
    assert assert_holds(AckBounded, behind(status, 5_011)).judged == 1, "only the refused send itself"


def test_up_to_4_6_the_wait_for_a_slave_follows_the_wait_for_the_disk() -> None:
    def both(version: str, ms: float) -> H:
        return pair(rocketmqVersion=version, **SYNC_FLUSH).put("m0").after(ms).ok("m0", TIMEOUT)

    assert_holds(AckBounded, both("4.6.0", 10_010))
    assert_broken(AckBounded, both("4.6.0", 10_011), "its waits may take 10000 ms")
    assert_broken(AckBounded, both("4.7.1", 5_011), "its turn may take 5000 ms")
