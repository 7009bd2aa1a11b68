"""Tests of ``ack-unavailable-honest``."""

from collections.abc import Callable

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare, pair
from histories.acks import FIVE, TIMEOUT

from pairproof.harness.rocketmq.laws.acks.ack_unavailable_honest import AckUnavailableHonest

UNAVAILABLE = "SLAVE_NOT_AVAILABLE"


def test_without_a_slave_only_unavailable_is_honest() -> None:
    assert_holds(AckUnavailableHonest, bare().put("m0").ok("m0", UNAVAILABLE))
    for status in ("PUT_OK", TIMEOUT, "FLUSH_DISK_TIMEOUT"):
        assert_broken(AckUnavailableHonest, bare().put("m0").ok("m0", status), "although there was no slave")


def test_with_a_slave_unavailable_is_a_lie() -> None:
    assert_holds(AckUnavailableHonest, pair().sent("m0"))
    assert_broken(AckUnavailableHonest, pair().put("m0").ok("m0", UNAVAILABLE), "while one was connected")


@pytest.mark.parametrize(
    "nobody",
    [
        bare().connect(),
        bare().connect("rogue_slave").report(5_000, peer="rogue_slave"),
        pair().close("m"),
        pair().crash("master").start("master"),
    ],
    ids=["never-reported", "over-claimed", "closed", "master-restarted"],
)
def test_a_connection_counts_only_from_a_valid_report_on_and_while_it_is_open(nobody: H) -> None:
    assert_broken(AckUnavailableHonest, nobody.put("m0").ok("m0", TIMEOUT), "although there was no slave")


def test_a_half_open_connection_counts_until_the_master_closes_it() -> None:
    half_open = pair().crash("slave", "machine").put("m0")
    assert_holds(AckUnavailableHonest, half_open.ok("m0", TIMEOUT))


def test_one_of_two_slaves_is_enough() -> None:
    two = pair().connect().report(0).close("m", link="ha:1").put("m0")
    assert_broken(AckUnavailableHonest, two.ok("m0", UNAVAILABLE), "while one was connected")


@pytest.mark.parametrize("status", ["PUT_OK", UNAVAILABLE])
def test_a_send_that_overlaps_a_change_may_get_either_answer(status: str) -> None:
    assert_vacuous(AckUnavailableHonest, pair().put("m0").close("m").ok("m0", status))
    assert_vacuous(AckUnavailableHonest, bare().connect().put("m0").report(0).ok("m0", status))


@pytest.mark.parametrize("asleep_ms", [0, 5_000])
def test_in_real_time_the_master_needs_an_instant_to_read_a_change(asleep_ms: int) -> None:
    """An instant: 300 ms. After a pause it reads a report and a send in any order."""

    def changed(began: H, change: Callable[[H], H], after_ms: int, status: str) -> H:
        return change(began.real(300)).pause("master", asleep_ms).after(after_ms).put("m0").ok("m0", status)

    def joined(after_ms: int) -> H:
        return changed(bare().connect(), lambda h: h.report(0), after_ms, UNAVAILABLE)

    def left(after_ms: int) -> H:
        return changed(pair(), lambda h: h.close("m"), after_ms, TIMEOUT)

    def neared(after_ms: int) -> H:
        began = pair(haSlaveFallbehindMax=150).put("m").after(1_000)
        return changed(began, lambda h: h.replicate(100), after_ms, UNAVAILABLE)

    for history, words in ((joined, "was connected"), (left, "there was no slave"), (neared, "near enough")):
        assert_vacuous(AckUnavailableHonest, history(300))
        assert_broken(AckUnavailableHonest, history(301), words)


def test_a_stall_after_a_change_excuses_only_for_its_own_time_and_an_instant() -> None:
    def joined(after_ms: int) -> H:
        return bare().connect().real(300).report(0).stall(2_000).after(after_ms).put("m0").ok("m0", UNAVAILABLE)

    assert_vacuous(AckUnavailableHonest, joined(2_800))
    assert_broken(AckUnavailableHonest, joined(2_801), "was connected")


def test_a_slave_that_is_too_far_behind_does_not_count() -> None:
    far = pair(haSlaveFallbehindMax=100).put("m0")
    assert_holds(AckUnavailableHonest, far.ok("m0", UNAVAILABLE))
    assert_broken(AckUnavailableHonest, far.put("m1").ok("m1", TIMEOUT), "although there was no slave")
    near = pair(haSlaveFallbehindMax=101).put("m0")
    assert_broken(AckUnavailableHonest, near.ok("m0", UNAVAILABLE), "near enough")


def test_a_slave_that_catches_up_during_the_call_is_not_judged() -> None:
    catching_up = pair(haSlaveFallbehindMax=100).put("m0").put("m1").replicate(150)
    assert_vacuous(AckUnavailableHonest, catching_up.ok("m1", UNAVAILABLE))


def test_a_send_that_does_not_wait_gets_no_status_about_slaves() -> None:
    assert_vacuous(AckUnavailableHonest, bare().put("m0", wait=False).ok("m0"))
    assert_vacuous(AckUnavailableHonest, bare(brokerRole="ASYNC_MASTER").put("m0").ok("m0"))


def test_version_5_never_sends_unavailable() -> None:
    assert_holds(AckUnavailableHonest, bare(**FIVE, inSyncReplicas=2).put("m0").ok("m0", TIMEOUT))
    alone = bare(**FIVE, inSyncReplicas=2).put("m0").ok("m0", UNAVAILABLE)
    assert_broken(AckUnavailableHonest, alone, "5.x lets it wait instead")
