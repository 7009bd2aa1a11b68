"""Tests of ``ack-flush-timeout``."""

import pytest
from histories import MS, SIZE, H, Verdict, assert_broken, assert_holds, assert_unknown, assert_vacuous, judged, pair
from histories.acks import SYNC_FLUSH, TIMEOUT

from pairproof.harness.rocketmq.laws.acks.ack_flush_timeout import AckFlushTimeout

DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"


def flushing(role: str = "SYNC_MASTER", timeout: int = 2_000, lab_ms: int = 0, **more: object) -> H:
    """A SYNC_FLUSH master has stored a waiting send, and its slave has it."""
    history = H().add("lab", f="process", value=lab_ms * MS) if lab_ms else H()
    settings = {"brokerRole": role, "syncFlushTimeout": timeout, **SYNC_FLUSH, **more}
    history.config("master", **settings).config("slave").start("master").start("slave").connect().report(0)
    return history.put("m0").replicate()


BOTH_ROLES = pytest.mark.parametrize("role", ["SYNC_MASTER", "ASYNC_MASTER"])


@BOTH_ROLES
def test_a_flush_times_out_no_earlier_than_its_timeout(role: str) -> None:
    assert_holds(AckFlushTimeout, flushing(role).after(2_000).ok("m0", DISK_TIMEOUT))
    for early in (0, 1_999):
        said = f"m0 was answered FLUSH_DISK_TIMEOUT after {early}.000 ms, syncFlushTimeout is 2000 ms"
        assert_broken(AckFlushTimeout, flushing(role).after(early).ok("m0", DISK_TIMEOUT), said)


@BOTH_ROLES
def test_a_flush_that_ended_in_time_does_not_time_out(role: str) -> None:
    done = flushing(role).after(1_999).flush("master").after(1)
    assert_broken(
        AckFlushTimeout, done.ok("m0", DISK_TIMEOUT), "m0 was answered FLUSH_DISK_TIMEOUT; its flush had ended"
    )
    # If both are due, either may come first.
    assert_holds(AckFlushTimeout, flushing(role).after(2_000).flush("master").ok("m0", DISK_TIMEOUT))
    other = flushing(role).put("m1").after(1_000).flush("master", SIZE).after(1_000).ok("m1", DISK_TIMEOUT)
    assert_holds(AckFlushTimeout, other.ok("m0"))


@BOTH_ROLES
def test_put_ok_means_that_the_flush_was_in_time(role: str) -> None:
    assert_holds(AckFlushTimeout, flushing(role).after(2_010).flush("master").ok("m0"))
    late = flushing(role).after(2_011).flush("master").ok("m0")
    said = "m0 was answered PUT_OK; its flush ended after 2011.000 ms, syncFlushTimeout is 2000 ms"
    assert_broken(AckFlushTimeout, late, said, times=1 if role == "SYNC_MASTER" else 2)
    # In a lab that adds 300 ms to a call, a flush may wait as long.
    slow = flushing(role, lab_ms=300).after(2_310).flush("master").ok("m0")
    assert_holds(AckFlushTimeout, slow)
    # Slaves may take longer than the disk.
    assert_holds(AckFlushTimeout, flushing(role).flush("master").after(2_900).ok("m0"))


def test_a_flush_times_out_no_later_than_its_timeout() -> None:
    assert_holds(AckFlushTimeout, flushing("ASYNC_MASTER").after(2_010).ok("m0", DISK_TIMEOUT))
    late = flushing("ASYNC_MASTER").after(2_011).ok("m0", DISK_TIMEOUT)
    said = "m0 was answered after 2011.000 ms; its flush had not ended, and it was to wait 2000 ms at most"
    assert_broken(AckFlushTimeout, late, said)
    silent = flushing("ASYNC_MASTER").after(9_000).over("m0", "info", "timeout")
    assert_broken(AckFlushTimeout, silent, "m0 was not answered for 9000.000 ms")
    assert_broken(
        AckFlushTimeout, flushing("ASYNC_MASTER").after(2_011).crash("master"), "m0 was not answered for 2011"
    )
    assert_vacuous(AckFlushTimeout, flushing("ASYNC_MASTER").after(2_010).crash("master"))
    # A stopping broker answers no client, and may wait for its disk.
    assert_vacuous(AckFlushTimeout, flushing("ASYNC_MASTER").after(9_000).stop("master"))
    # The wait for a slave may delay the answer, by slaveTimeout at most.
    assert_holds(AckFlushTimeout, flushing().after(3_010).ok("m0", DISK_TIMEOUT))
    assert_broken(AckFlushTimeout, flushing().after(3_011).ok("m0", DISK_TIMEOUT), "to wait 3000 ms at most")
    in_turn = flushing(rocketmqVersion="4.9.2").after(60_000)
    assert_holds(AckFlushTimeout, in_turn.ok("m0", DISK_TIMEOUT))


def test_a_send_that_waits_for_no_flush_gets_no_timeout() -> None:
    said = "m0 was answered FLUSH_DISK_TIMEOUT; it waited for no flush"
    assert_broken(AckFlushTimeout, pair(**SYNC_FLUSH).put("m0", False).after(6_000).ok("m0", DISK_TIMEOUT), said)
    assert_broken(AckFlushTimeout, pair().put("m0").after(6_000).ok("m0", DISK_TIMEOUT), said)
    assert_vacuous(AckFlushTimeout, pair(**SYNC_FLUSH).put("m0", False).ok("m0"))
    assert_vacuous(AckFlushTimeout, pair().sent("m0"))


@pytest.mark.parametrize("status", [TIMEOUT, "SLAVE_NOT_AVAILABLE"])
def test_an_answer_about_slaves_overrides_the_timeout_and_comes_as_soon(status: str) -> None:
    assert_vacuous(AckFlushTimeout, flushing().flush("master").after(3_000).ok("m0", status))
    assert_holds(AckFlushTimeout, flushing().after(3_010).ok("m0", status))
    assert_broken(AckFlushTimeout, flushing().after(3_011).ok("m0", status), "to wait 3000 ms at most")


def test_a_pause_of_the_master_lets_either_answer_stand() -> None:
    assert_holds(AckFlushTimeout, flushing().pause("master", 3_000).flush("master").ok("m0"))
    assert_holds(AckFlushTimeout, flushing("ASYNC_MASTER").pause("master", 3_000).ok("m0", DISK_TIMEOUT))


def test_a_pause_long_after_the_flush_changes_nothing() -> None:
    assert_holds(AckFlushTimeout, flushing().flush("master").after(2_500).pause("master", 400).ok("m0"))
    late = flushing().after(2_011).flush("master").after(100).pause("master", 400).ok("m0")
    assert_broken(AckFlushTimeout, late, "m0 was answered PUT_OK; its flush ended after 2011.000 ms")


def test_a_flush_in_an_earlier_incarnation_does_not_count() -> None:
    again = flushing("ASYNC_MASTER").flush("master", 5_000).crash("master", "machine").start("master", 0)
    assert_holds(AckFlushTimeout, again.after(1).put("m1").after(2_000).ok("m1", DISK_TIMEOUT))


def test_a_stall_makes_a_late_answer_after_a_flush_unknown() -> None:
    late = flushing("ASYNC_MASTER", lab_ms=20).stall(900).after(2_900).ok("m0", DISK_TIMEOUT)
    assert_unknown(AckFlushTimeout, late)
    never = flushing("ASYNC_MASTER", lab_ms=20).stall(900).put("m1", False).ok("m1", DISK_TIMEOUT)
    assert judged(AckFlushTimeout, never.events).verdict is Verdict.VIOLATED
