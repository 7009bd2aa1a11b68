"""Tests of ``ack-no-wait``."""

import pytest
from histories import MS, H, assert_broken, assert_holds, assert_vacuous, pair
from histories.acks import SYNC_FLUSH, TIMEOUT, passing, stalled

from pairproof.harness.rocketmq.laws.acks.ack_no_wait import AckNoWait


def test_a_large_request_takes_as_long_as_several() -> None:
    def large(ms: int) -> H:
        history = pair().add("lab", f="sim", value=5 * MS).fault("some", "ha")
        history.add(
            "invoke", node="master", process=1, op=7, f="send", message="m", value=0, detail='{"body": 1, "size": 9000}'
        )
        return history.after(ms).add(
            "fail", node="master", process=1, op=7, f="send", message="m", status="MESSAGE_ILLEGAL"
        )

    assert_holds(AckNoWait, large(30))
    assert_broken(AckNoWait, large(31), "m was answered after 31.000 ms")


ASYNC = {"brokerRole": "ASYNC_MASTER"}
ONE = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 1}


@pytest.mark.parametrize("settings", [ASYNC, ONE], ids=["async-master", "one-replica"])
@pytest.mark.parametrize("wait", [True, False])
def test_a_send_that_waits_for_no_slave_is_answered_at_once_while_links_are_stalled(
    settings: dict[str, object], wait: bool
) -> None:
    assert_holds(AckNoWait, pair(**settings).fault("some", "ha").put("m0", wait).after(10).ok("m0"))
    late = pair(**settings).fault("some", "ha").put("m0", wait).after(11).ok("m0")
    assert_broken(AckNoWait, late, "m0 was answered after 11.000 ms; it had no slave to wait for")


def test_a_message_that_asks_not_to_wait_does_not_wait_on_a_sync_master() -> None:
    assert_broken(AckNoWait, stalled().put("m0", False).after(3_000).ok("m0", TIMEOUT), "answered after 3000.000 ms")
    assert_vacuous(AckNoWait, stalled().put("m0").after(3_000).ok("m0", TIMEOUT))


@pytest.mark.parametrize("place", ["slave", "slave2", "ha", "ha3"])
def test_a_disturbed_slave_or_link_is_required(place: str) -> None:
    assert_broken(AckNoWait, pair(**ASYNC).fault("some", place).put("m0").after(900).ok("m0"), "m0")
    assert_broken(AckNoWait, passing(pair(**ASYNC).put("m0"), place).after(900).ok("m0"), "m0")


def test_without_a_disturbed_slave_or_link_nothing_is_judged() -> None:
    assert_vacuous(AckNoWait, pair(**ASYNC).put("m0").ok("m0"))
    assert_vacuous(AckNoWait, pair(**ASYNC).fault("some", "client-slave").put("m0").ok("m0"))
    assert_vacuous(AckNoWait, passing(pair(**ASYNC), "ha").after(1).put("m0").ok("m0"))


def test_under_sync_flush_a_send_waits_only_for_the_flush_and_only_if_it_asks() -> None:
    def flushing(wait: bool = True) -> H:
        return pair(**ASYNC, **SYNC_FLUSH).fault("some", "ha").put("m0", wait).after(900)

    assert_holds(AckNoWait, flushing().flush("master").after(10).ok("m0"))
    assert_broken(AckNoWait, flushing().flush("master").after(11).ok("m0"), "answered after 11.000 ms")
    assert_broken(AckNoWait, flushing(False).flush("master").ok("m0"), "answered after 900.000 ms")
    assert_vacuous(AckNoWait, flushing().ok("m0", "FLUSH_DISK_TIMEOUT"))
