"""The laws about when an answer comes and what a refusal leaves, each on histories that keep it and that break it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.acks.ack_bounded import AckBounded
from pairproof.harness.rocketmq.laws.acks.ack_flushed import AckFlushed
from pairproof.harness.rocketmq.laws.acks.ack_no_wait import AckNoWait
from pairproof.harness.rocketmq.laws.acks.ack_prompt import AckPrompt
from pairproof.harness.rocketmq.laws.acks.ack_refused_is_absent import AckRefusedIsAbsent
from pairproof.harness.rocketmq.testing import FILE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

SYNC_FLUSH = {"flushDiskType": "SYNC_FLUSH"}
TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
MS = 1_000_000


def fault(history: H, place: str, status: str = "on", op: int = 0) -> H:
    """A fault begins or ends at a node or a link."""
    where = "node" if place in ("master", "slave", "slave2") else "link"
    return history.add("fault", op=op, f="some", status=status, **{where: place})


def passing(history: H, place: str) -> H:
    """A fault comes and goes."""
    return fault(fault(history, place), place, "off")


def pause(history: H, ms: float) -> H:
    """The master stands still for a while."""
    return history.add("pause", node="master").after(ms).add("resume", node="master")


def not_applicable(law: type[Law], **settings: object) -> bool:
    return judged(law, pair(**settings).sent("m0").events).verdict is Verdict.NOT_APPLICABLE


# ack-prompt


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


def test_reports_that_do_not_cover_owe_nothing() -> None:
    short = pair().put("m0").replicate(99).after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, short)
    ahead = pair().put("m0").frame(0, 100).append("slave", 0, 100).report(101).after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, ahead)
    stranger = bare().put("m0").connect("hostile").report(100, peer="hostile").after(3_000).ok("m0", TIMEOUT)
    assert_vacuous(AckPrompt, stranger)


def test_a_report_of_a_slave_whose_log_begins_behind_the_message_owes_nothing() -> None:
    late = bare().put("m0").append("master", 100, FILE, "filler").put("m1").connect().report(0)
    late.frame(FILE, FILE + 100).append("slave", FILE, FILE + 100).report(FILE + 100).ok("m1").after(3_000)
    assert assert_holds(AckPrompt, late.ok("m0", TIMEOUT)).judged == 1


def test_a_report_on_a_connection_that_its_slave_has_left_owes_nothing() -> None:
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
    """A 5.x master with two slaves that have asked from 0."""
    both = pair(rocketmqVersion="5.5.0", inSyncReplicas=asked).config("slave2").start("slave2", 0)
    return both.connect("slave2").report(0, peer="slave2").put("m0")


def second(history: H) -> H:
    """The second slave gets all."""
    link = history.link
    history.frame(0, 100, peer="slave2").append("slave2", 0, 100)
    return history.report(100, peer="slave2", link=link)


def first(history: H) -> H:
    """The first slave gets all."""
    history.link, link = "ha:1", history.link
    history.replicate().link = link
    return history


def test_with_three_in_sync_replicas_the_second_slave_s_report_counts() -> None:
    assert_vacuous(AckPrompt, second(two()).after(3_000).ok("m0", TIMEOUT))
    assert_holds(AckPrompt, first(second(two()).after(500)).after(10).ok("m0"))
    assert_broken(AckPrompt, first(second(two())).after(11).ok("m0"), "answered after 11.000 ms")
    assert_broken(AckPrompt, second(two(2)).after(11).ok("m0"), "answered after 11.000 ms")


def test_a_slave_that_has_gone_is_not_one_of_enough() -> None:
    gone = second(two()).close("m", "slave2")
    assert_vacuous(AckPrompt, first(gone).after(3_000).ok("m0", TIMEOUT))


def test_who_waits_for_no_slave_is_not_judged_for_promptness() -> None:
    assert not_applicable(AckPrompt, brokerRole="ASYNC_MASTER")
    assert not_applicable(AckPrompt, rocketmqVersion="5.5.0")


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


# What excuses a late answer, whatever the law.


def covered() -> H:
    return pair().put("m0").replicate()


def test_trouble_on_the_client_s_link_excuses_and_trouble_elsewhere_does_not() -> None:
    assert_vacuous(AckPrompt, fault(covered(), "client-master").after(900).ok("m0"))
    assert_vacuous(AckPrompt, passing(covered(), "client-master").after(900).ok("m0"))
    assert_vacuous(AckPrompt, fault(pair(), "client-master").put("m0").replicate().after(900).ok("m0"))
    for place in ("ha", "slave", "client-slave", "master"):
        assert_broken(AckPrompt, fault(covered(), place).after(900).ok("m0"), "answered after 900.000 ms")


def test_an_answer_may_queue_behind_one_that_an_earlier_fault_delayed() -> None:
    behind = pair().put("m0").after(1)
    behind = passing(behind, "client-master").put("m1").replicate().after(900).ok("m0").ok("m1")
    assert_vacuous(AckPrompt, behind)
    fresh = passing(pair().sent("m0"), "client-master").after(1).sent("m1").put("m2").replicate().after(900)
    assert_broken(AckPrompt, fresh.ok("m2"), "m2 was answered after 900.000 ms")


def test_a_pause_of_the_master_extends_the_time_by_as_much() -> None:
    assert_holds(AckPrompt, pause(covered(), 900).after(10).ok("m0"))
    assert_broken(AckPrompt, pause(covered(), 900).after(11).ok("m0"), "answered after 11.000 ms")


def test_a_master_that_was_not_stopped_owes_what_it_owed_for_too_long_before_it_died() -> None:
    assert_broken(AckPrompt, covered().after(900).crash("master"), "m0 was not answered for 900.000 ms")
    assert_vacuous(AckPrompt, covered().after(900).stop("master"))
    assert_broken(AckBounded, stalled().put("m0").after(5_011).crash("master"), "m0 was not answered for 5011.000 ms")
    assert_vacuous(AckBounded, stalled().put("m0").after(5_010).crash("master"))


@pytest.mark.parametrize("end", [lambda h: h.crash("master"), lambda h: h.stop("master")], ids=["crash", "stop"])
def test_a_master_that_died_owes_nothing(end: Callable[[H], H]) -> None:
    assert_vacuous(AckPrompt, end(covered()).after(900).over("m0", "info", "disconnected"))
    assert_vacuous(AckBounded, end(covered()).start("master").after(90_000).over("m0", "info", "timeout"))


def test_the_way_to_the_client_takes_what_the_lab_says_for_each_call_under_way() -> None:
    def slow(calls: int) -> H:
        history = H().add("lab", f="sim", value=5 * MS)
        history.config("master").config("slave").start("master").start("slave").connect().report(0)
        for number in range(calls):
            history.put(f"m{number}")
        return history.replicate()

    assert_holds(AckPrompt, slow(1).after(20).ok("m0"))
    assert_broken(AckPrompt, slow(1).after(21).ok("m0"), "m0 was answered after 21.000 ms")
    assert_holds(AckPrompt, slow(3).after(30).ok("m0").ok("m1").ok("m2"))


def test_a_large_request_takes_as_long_on_its_way_as_several() -> None:
    def large(ms: int) -> H:
        history = fault(pair().add("lab", f="sim", value=5 * MS), "ha")
        history.add(
            "invoke", node="master", process=1, op=7, f="send", message="m", value=0, detail='{"body": 1, "size": 9000}'
        )
        return history.after(ms).add(
            "fail", node="master", process=1, op=7, f="send", message="m", status="MESSAGE_ILLEGAL"
        )

    assert_holds(AckNoWait, large(30))
    assert_broken(AckNoWait, large(31), "m was answered after 31.000 ms")


# ack-bounded


def stalled() -> H:
    return fault(pair(), "ha")


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


def test_a_refusal_is_an_answer_and_comes_in_time_too() -> None:
    assert_holds(AckBounded, pair().invoke("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE"))
    late = pair().invoke("m0").after(6_000).over("m0", "fail", "SERVICE_NOT_AVAILABLE")
    assert_broken(AckBounded, late, "answered after 6000.000 ms")


def test_a_send_over_a_connection_that_the_master_s_death_broke_is_not_judged() -> None:
    dead = pair().sent("m0").crash("master", "machine").after(9_000).start("master").invoke("m1").after(10_000)
    assert assert_holds(AckBounded, dead.over("m1", "info", "timeout")).judged == 1
    anew = dead.invoke("m2").after(10_000).over("m2", "info", "timeout")
    assert_broken(AckBounded, anew, "m2 was not answered for 10000.000 ms")


def test_a_connection_that_was_begun_to_a_dead_master_is_not_good_as_soon_as_that_lives() -> None:
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
def test_in_other_versions_nobody_waits_longer_for_those_before_it(version: str) -> None:
    both = pair(rocketmqVersion=version).put("m0").after(1_000).put("m1").after(4_000).ok("m0", TIMEOUT)
    assert_broken(AckBounded, both.after(1_011).ok("m1", TIMEOUT), "m1 was answered after 5011.000 ms")


def test_a_send_that_was_answered_without_a_turn_gives_the_next_one_none() -> None:
    queue = pair(rocketmqVersion="4.9.2").put("m0").put("m1").ok("m1", "SLAVE_NOT_AVAILABLE").put("m2")
    queue.after(5_000).ok("m0", TIMEOUT)
    assert_holds(AckBounded, queue.after(5_000).ok("m2", TIMEOUT))


def test_behind_a_send_whose_answer_nobody_knows_nobody_knows_when_the_next_is_due() -> None:
    lost = pair(rocketmqVersion="4.9.2").put("m0").put("m1").over("m0", "info", "timeout")
    assert_vacuous(AckBounded, lost.after(9_000).ok("m1", TIMEOUT))

    def behind_a_stranger(version: str) -> H:
        stored = pair(rocketmqVersion=version).append("master", 0, 100, "put", "m9").put("m1")
        return stored.after(9_000).ok("m1", TIMEOUT)

    assert_vacuous(AckBounded, behind_a_stranger("4.9.2"))
    assert_broken(AckBounded, behind_a_stranger("4.9.7"), "m1 was answered after 9000.000 ms")


@pytest.mark.parametrize("status", ["SYSTEM_ERROR", "code 9999"])
def test_an_answer_that_does_not_tell_of_a_turn_leaves_open_when_the_next_one_began(status: str) -> None:
    """A stranger's broker may refuse a send that it has stored, before or after its turn."""

    def behind(answer: str, ms: float) -> H:
        queue = pair(rocketmqVersion="4.9.2").put("m0").put("m1").after(4_000)
        queue = queue.ok("m0", answer) if answer == TIMEOUT else queue.over("m0", "fail", answer)
        return queue.after(ms).ok("m1", TIMEOUT)

    assert_broken(AckBounded, behind(TIMEOUT, 5_011), "m1 was answered after 5011.000 ms")
    assert assert_holds(AckBounded, behind(status, 5_011)).judged == 1, "only the refused send itself"


def test_up_to_4_6_the_wait_for_a_slave_begins_after_that_for_the_disk() -> None:
    def both(version: str, ms: float) -> H:
        return pair(rocketmqVersion=version, **SYNC_FLUSH).put("m0").after(ms).ok("m0", TIMEOUT)

    assert_holds(AckBounded, both("4.6.0", 10_010))
    assert_broken(AckBounded, both("4.6.0", 10_011), "its waits may take 10000 ms")
    assert_broken(AckBounded, both("4.7.1", 5_011), "its turn may take 5000 ms")


# ack-no-wait

ASYNC = {"brokerRole": "ASYNC_MASTER"}
ONE = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 1}


@pytest.mark.parametrize("settings", [ASYNC, ONE], ids=["async-master", "one-replica"])
@pytest.mark.parametrize("wait", [True, False])
def test_who_waits_for_no_slave_is_answered_at_once_while_links_are_stalled(
    settings: dict[str, object], wait: bool
) -> None:
    assert_holds(AckNoWait, fault(pair(**settings), "ha").put("m0", wait).after(10).ok("m0"))
    late = fault(pair(**settings), "ha").put("m0", wait).after(11).ok("m0")
    assert_broken(AckNoWait, late, "m0 was answered after 11.000 ms; it had no slave to wait for")


def test_who_asks_not_to_wait_does_not_wait_on_a_sync_master_either() -> None:
    assert_broken(AckNoWait, stalled().put("m0", False).after(3_000).ok("m0", TIMEOUT), "answered after 3000.000 ms")
    assert_vacuous(AckNoWait, stalled().put("m0").after(3_000).ok("m0", TIMEOUT))


@pytest.mark.parametrize("place", ["slave", "slave2", "ha", "ha3"])
def test_trouble_of_any_slave_or_of_its_link_is_what_it_takes(place: str) -> None:
    assert_broken(AckNoWait, fault(pair(**ASYNC), place).put("m0").after(900).ok("m0"), "m0")
    assert_broken(AckNoWait, passing(pair(**ASYNC).put("m0"), place).after(900).ok("m0"), "m0")


def test_without_trouble_of_slaves_or_their_links_nobody_can_tell() -> None:
    assert_vacuous(AckNoWait, pair(**ASYNC).put("m0").ok("m0"))
    assert_vacuous(AckNoWait, fault(pair(**ASYNC), "client-slave").put("m0").ok("m0"))
    assert_vacuous(AckNoWait, passing(pair(**ASYNC), "ha").after(1).put("m0").ok("m0"))


def test_under_sync_flush_only_the_flush_is_waited_for_and_only_if_asked() -> None:
    def flushing(wait: bool = True) -> H:
        return fault(pair(**ASYNC, **SYNC_FLUSH), "ha").put("m0", wait).after(900)

    assert_holds(AckNoWait, flushing().flush("master").after(10).ok("m0"))
    assert_broken(AckNoWait, flushing().flush("master").after(11).ok("m0"), "answered after 11.000 ms")
    assert_broken(AckNoWait, flushing(False).flush("master").ok("m0"), "answered after 900.000 ms")
    assert_vacuous(AckNoWait, flushing().ok("m0", "FLUSH_DISK_TIMEOUT"))


@pytest.mark.parametrize(
    "law", [AckFlushed, AckPrompt, AckBounded, AckNoWait, AckRefusedIsAbsent], ids=lambda law: law.id
)
def test_laws_of_time_and_refusal_are_vacuous_on_an_empty_history(law: type[Law]) -> None:
    assert_vacuous(law, H())
