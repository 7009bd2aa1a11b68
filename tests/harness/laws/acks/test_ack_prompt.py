"""Tests of ``ack-prompt``."""

from collections.abc import Callable

import pytest
from histories import FILE, MS, H, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, bare, pair
from histories.acks import SYNC_FLUSH, TIMEOUT, passing, second, stalled

from pairproof.harness.rocketmq.laws.acks.ack_bounded import AckBounded
from pairproof.harness.rocketmq.laws.acks.ack_prompt import AckPrompt


def test_a_covering_report_is_answered_within_one_round() -> None:
    assert_holds(AckPrompt, pair().put("m0").after(500).replicate().after(10).ok("m0"))
    late = pair().put("m0").after(500).replicate().after(11).ok("m0")
    assert_broken(AckPrompt, late, "m0 was answered after 11.000 ms; enough slaves had reported its end")


def test_one_report_answers_every_send_that_it_covers() -> None:
    def both() -> H:
        return pair().put("m0").put("m1").replicate().ok("m0")

    assert_holds(AckPrompt, both().ok("m1"))
    assert_broken(AckPrompt, both().after(3_000).ok("m1", TIMEOUT), "m1 was answered after 3000.000 ms")


def test_a_covered_send_that_is_never_answered_is_caught_when_the_client_gives_up_or_the_trial_ends() -> None:
    silent = pair().put("m0").replicate().after(9_000)
    assert_broken(AckPrompt, silent.over("m0", "info", "timeout"), "m0 was not answered for 9000.000 ms")
    assert_broken(AckPrompt, pair().put("m0").replicate().after(50).mark("end"), "m0 was not answered for 50.000 ms")
    assert_vacuous(AckPrompt, pair().put("m0").replicate().after(5).mark("end"))


def test_reports_that_do_not_cover_set_no_deadline() -> None:
    short = pair().put("m0").replicate(99).after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, short)
    ahead = pair().put("m0").frame(0, 100).append("slave", 0, 100).report(101).after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, ahead)
    stranger = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave").after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, stranger)


def test_a_report_of_a_slave_whose_log_begins_after_the_message_sets_no_deadline() -> None:
    late = bare().put("m0").append("master", 100, FILE, "filler").put("m1").connect().report(0)
    late.frame(FILE, FILE + 100).append("slave", FILE, FILE + 100).report(FILE + 100).ok("m1").after(3_000)
    assert assert_holds(AckPrompt, late.ok("m0", TIMEOUT)).judged == 1


def test_a_report_on_a_connection_that_its_slave_has_left_sets_no_deadline() -> None:
    left = pair().put("m0").frame(0, 100).append("slave", 0, 100)
    old = left.link
    left.connect().report(0).report(100, "m", link=old).after(3_000)
    assert_vacuous(AckPrompt, left.ok("m0", TIMEOUT))


def test_under_sync_flush_the_answer_may_wait_for_the_flush_but_no_longer() -> None:
    assert_holds(AckPrompt, pair(**SYNC_FLUSH).put("m0").replicate().after(900).flush("master").after(10).ok("m0"))
    late = pair(**SYNC_FLUSH).put("m0").replicate().after(900).flush("master").after(11).ok("m0")
    assert_broken(AckPrompt, late, "answered after 11.000 ms")
    unflushed = pair(**SYNC_FLUSH).put("m0").replicate().after(5_000).ok("m0", "FLUSH_DISK_TIMEOUT")
    assert_vacuous(AckPrompt, unflushed)


def two(asked: int = 3) -> H:
    """A 5.x master with two slaves that start at 0."""
    both = pair(rocketmqVersion="5.5.0", inSyncReplicas=asked).config("slave2").start("slave2", 0)
    return both.connect("slave2").report(0, peer="slave2").put("m0")


def first(history: H) -> H:
    """The first slave receives all."""
    history.link, link = "ha:1", history.link
    history.replicate().link = link
    return history


def test_with_three_in_sync_replicas_the_second_slave_s_report_counts() -> None:
    assert_vacuous(AckPrompt, second(two()).after(3_000).ok("m0", TIMEOUT))
    assert_holds(AckPrompt, first(second(two()).after(500)).after(10).ok("m0"))
    assert_broken(AckPrompt, first(second(two())).after(11).ok("m0"), "answered after 11.000 ms")
    assert_broken(AckPrompt, second(two(2)).after(11).ok("m0"), "answered after 11.000 ms")


def test_a_disconnected_slave_does_not_count() -> None:
    gone = second(two()).close("m", "slave2")
    assert_vacuous(AckPrompt, first(gone).after(3_000).ok("m0", TIMEOUT))


def test_a_send_that_waits_for_no_slave_is_not_judged_for_promptness() -> None:
    assert_not_applicable(AckPrompt, pair(brokerRole="ASYNC_MASTER").sent("m0"))
    assert_not_applicable(AckPrompt, pair(rocketmqVersion="5.5.0").sent("m0"))


@pytest.mark.parametrize("version", ["4.4.0", "4.6.0", "4.9.2"])
def test_in_turn_a_covered_send_is_answered_within_a_round_of_the_one_before_it(version: str) -> None:
    def late(ms: float) -> H:
        held = bare(rocketmqVersion=version).put("m0").append("master", 100, FILE, "filler").put("m1")
        held.connect().report(0).frame(FILE, FILE + 100).append("slave", FILE, FILE + 100).report(FILE + 100)
        return held.after(3_000).ok("m0", TIMEOUT).after(ms).ok("m1")

    assert_holds(AckPrompt, late(10))
    assert_broken(AckPrompt, late(11), "m1 was answered after 11.000 ms")
    alone = pair(rocketmqVersion=version).sent("m0").put("m1").replicate().after(11).ok("m1")
    assert_broken(AckPrompt, alone, "m1 was answered after 11.000 ms")


def covered() -> H:
    return pair().put("m0").replicate()


def test_a_disturbed_client_link_excuses_and_another_link_does_not() -> None:
    assert_vacuous(AckPrompt, covered().fault("some", "client-master").after(900).ok("m0"))
    assert_vacuous(AckPrompt, passing(covered(), "client-master").after(900).ok("m0"))
    assert_vacuous(AckPrompt, pair().fault("some", "client-master").put("m0").replicate().after(900).ok("m0"))
    for place in ("ha", "slave", "client-slave", "master"):
        assert_broken(AckPrompt, covered().fault("some", place).after(900).ok("m0"), "answered after 900.000 ms")


def test_an_answer_may_queue_behind_one_that_an_earlier_fault_delayed() -> None:
    behind = pair().put("m0").after(1)
    behind = passing(behind, "client-master").put("m1").replicate().after(900).ok("m0").ok("m1")
    assert_vacuous(AckPrompt, behind)
    fresh = passing(pair().sent("m0"), "client-master").after(1).sent("m1").put("m2").replicate().after(900)
    assert_broken(AckPrompt, fresh.ok("m2"), "m2 was answered after 900.000 ms")


def test_a_pause_of_the_master_extends_the_time_by_as_much() -> None:
    assert_holds(AckPrompt, covered().pause("master", 900).after(10).ok("m0"))
    assert_broken(AckPrompt, covered().pause("master", 900).after(11).ok("m0"), "answered after 11.000 ms")


def test_a_deadline_that_passed_before_the_master_ended_counts() -> None:
    assert_broken(AckPrompt, covered().after(900).crash("master"), "m0 was not answered for 900.000 ms")
    assert_vacuous(AckPrompt, covered().after(900).stop("master"))
    assert_broken(AckBounded, stalled().put("m0").after(5_011).crash("master"), "m0 was not answered for 5011.000 ms")
    assert_vacuous(AckBounded, stalled().put("m0").after(5_010).crash("master"))


@pytest.mark.parametrize("end", [lambda h: h.crash("master"), lambda h: h.stop("master")], ids=["crash", "stop"])
def test_a_deadline_ends_with_its_master(end: Callable[[H], H]) -> None:
    assert_vacuous(AckPrompt, end(covered()).after(900).over("m0", "info", "disconnected"))
    assert_vacuous(AckBounded, end(covered()).start("master").after(90_000).over("m0", "info", "timeout"))


def test_each_call_in_flight_adds_the_lab_s_travel_time() -> None:
    def slow(calls: int) -> H:
        history = H().add("lab", f="sim", value=5 * MS)
        history.config("master").config("slave").start("master").start("slave").connect().report(0)
        for number in range(calls):
            history.put(f"m{number}")
        return history.replicate()

    assert_holds(AckPrompt, slow(1).after(20).ok("m0"))
    assert_broken(AckPrompt, slow(1).after(21).ok("m0"), "m0 was answered after 21.000 ms")
    assert_holds(AckPrompt, slow(3).after(30).ok("m0").ok("m1").ok("m2"))
