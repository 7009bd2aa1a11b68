"""Tests of ``producer-tries``."""

from __future__ import annotations

import json

import pytest
from histories import SIZE, H, assert_broken, assert_holds, assert_vacuous, bare

from pairproof.harness.rocketmq.laws.routing.producer_tries import ProducerTries
from pairproof.harness.texts.content import content


class Producing(H):
    """The history of one producer; its sends are numbered from ``m0`` on."""

    def produce(self, op: int = 0, how: str = "turn", tries: int = 3, within: int = 3_000) -> Producing:
        said = content(b"x", "", 0, how=how, producer=0, tries=tries, within=within)
        self.add("invoke", node="master", process=9, op=op, f="produce", message=f"m{op}", queue="t/-1", detail=said)
        return self

    def begins(self, op: int = 0, queue: int = 0, node: str = "master", names: int = 1) -> Producing:
        known = json.dumps({"names": names, "queues": 2 * names})
        return self._try(op, "began", None, queue, node, known)

    def ends(
        self, phase: str, status: str, op: int = 0, queue: int = 0, node: str = "master", remark: str = ""
    ) -> Producing:
        return self._try(op, phase, status, queue, node, remark or None)

    def _try(self, op: int, f: str, status: str | None, queue: int, node: str, detail: str | None) -> Producing:
        self.add(
            "try", node=node, process=9, op=op, f=f, status=status, message=f"m{op}", queue=f"t/{queue}", detail=detail
        )
        return self

    def tried(
        self, phase: str, status: str, op: int = 0, queue: int = 0, node: str = "master", names: int = 1
    ) -> Producing:
        return self.begins(op, queue, node, names).ends(phase, status, op, queue, node)

    def over_with(self, phase: str, status: str, op: int = 0, queue: int = 0, node: str = "master") -> Producing:
        self.add(phase, node=node, process=9, op=op, f="produce", status=status, message=f"m{op}", queue=f"t/{queue}")
        return self

    def holds(self, *places: int, queue: str = "t/0") -> Producing:
        number = len(self.events)
        for lo in places:
            self.add("record", node="master", op=number, message="m0", queue=queue, lo=lo, hi=lo + SIZE)
        self.add("audit", node="master", op=number, f="final", lo=0, hi=9 * SIZE, value=9 * SIZE)
        return self


def story() -> Producing:
    return Producing()


def stored() -> Producing:
    return story().produce().tried("ok", "PUT_OK").over_with("ok", "PUT_OK")


def test_a_send_that_is_stored_at_once_is_one_try() -> None:
    assert assert_holds(ProducerTries, stored().holds(0)).judged == 3
    late = story().produce().tried("ok", "FLUSH_SLAVE_TIMEOUT").over_with("ok", "FLUSH_SLAVE_TIMEOUT")
    assert_holds(ProducerTries, late)


def test_a_failed_send_is_retried_elsewhere_and_may_be_stored_once_a_try() -> None:
    begun = (
        story().produce().tried("info", "disconnected", names=2).tried("fail", "SYSTEM_ERROR", node="other", names=2)
    )
    again = begun.tried("ok", "PUT_OK", queue=1, names=2).over_with("ok", "PUT_OK", queue=1)
    assert_holds(ProducerTries, again.holds(0, SIZE))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (story().produce().begins().begins(queue=1), "m0 is tried twice at the same time"),
        (story().produce().tried("ok", "SLAVE_NOT_AVAILABLE").begins(queue=1), "m0 was stored (SLAVE"),
        (story().produce(tries=1).tried("fail", "refused").begins(queue=1), "m0 is tried more often than 1 times"),
        (story().produce().tried("fail", "MESSAGE_ILLEGAL").begins(queue=1), "m0 was refused (MESS"),
        (
            story().produce().tried("fail", "refused", names=2).begins(queue=1, names=2),
            "m0 failed at master (refused), and is tried there again; other brokers",
        ),
        (stored().produce(1).begins(1), "m1 goes to t/0, as the message before it did; there are 2 queues"),
    ],
)  # fmt: skip
def test_a_try_that_should_not_be_is_noticed(wrong: Producing, text: str) -> None:
    assert_broken(ProducerTries, wrong, text)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (story().produce().tried("fail", "refused").over_with("fail", "refused"), "m0 was given up after 1 tries"),
        (
            story().produce().tried("info", "disconnected").tried("fail", "refused").tried("fail", "refused")
            .over_with("fail", "refused"),
            "m0 was reported as failed (refused); it may be stored",
        ),
        (
            story().produce(tries=1).begins().ends("fail", "SYSTEM_ERROR", remark="UNKNOWN_ERROR x")
            .over_with("fail", "SYSTEM_ERROR"),
            "m0 was reported as failed (SYSTEM_ERROR); it may be stored",
        ),
        (
            story().produce(tries=1).tried("fail", "refused").over_with("info", "refused"),
            "m0 was reported as unknown (refused); no try is",
        ),
        (story().produce().begins().over_with("ok", "PUT_OK"), "m0 was reported PUT_OK; no try was answered so"),
        (
            story().produce().tried("ok", "FLUSH_SLAVE_TIMEOUT").over_with("ok", "PUT_OK"),
            "m0 was reported PUT_OK, t/0 of master; its last try was FLUSH_SLAVE_TIMEOUT",
        ),
        (story().produce().tried("ok", "PUT_OK").over_with("ok", "PUT_OK", queue=1), "m0 was reported PUT_OK, t/1"),
    ],
)  # fmt: skip
def test_a_false_report_to_the_application_is_noticed(wrong: Producing, text: str) -> None:
    assert_broken(ProducerTries, wrong, text)


def test_a_send_that_takes_longer_than_its_user_allows_is_noticed() -> None:
    slow = story().produce().begins()
    slow.after(9_001)
    assert_broken(
        ProducerTries, slow.ends("ok", "PUT_OK").over_with("ok", "PUT_OK"), "m0 took 9001 ms; its limit is 3000"
    )


def test_a_message_that_is_stored_more_often_than_it_was_tried_is_noticed() -> None:
    assert_broken(ProducerTries, stored().holds(0, SIZE), "the master's log holds m0 2 times")
    assert_holds(ProducerTries, stored().holds(0).holds(SIZE, queue="%RETRY%g/0"))


def test_after_a_failure_any_queue_may_be_the_next_one() -> None:
    failed = (
        stored()
        .produce(1)
        .tried("fail", "refused", 1, 1)
        .tried("fail", "timeout", 1, 0)
        .over_with("fail", "timeout", 1)
    )
    assert_holds(ProducerTries, failed.produce(2).tried("ok", "PUT_OK", 2).over_with("ok", "PUT_OK", 2))
    known = stored().produce(1).tried("ok", "PUT_OK", 1, names=2).over_with("ok", "PUT_OK", 1)
    assert_holds(ProducerTries, known)


def test_a_send_with_its_queue_or_without_an_answer_is_given_up_at_once() -> None:
    for how in ("queue", "order"):
        pinned = story().produce(how=how, tries=1).tried("info", "disconnected").over_with("info", "disconnected")
        assert_holds(ProducerTries, pinned)
    unasked = story().produce(how="one-way", tries=1).tried("info", "one-way").over_with("info", "one-way")
    assert_holds(ProducerTries, unasked)


def test_sends_without_tries_of_their_own_are_others_business() -> None:
    assert_vacuous(ProducerTries, bare().sent("m0").audit(records={"master": ["m0"]}))
    no_route = story().produce().over_with("fail", "no route")
    assert_holds(ProducerTries, no_route)


def registered() -> Producing:
    history = story()
    history.add("register", node="master", status="ok")
    return history


def untried(history: H, status: str = "no route") -> H:
    """A send that fails before it was tried."""
    return history.produce().over_with("fail", status)


LINK = "names-client"


@pytest.mark.parametrize(
    "history",
    [
        registered().crash("master"),
        registered().crash("names"),
        registered().crash("master", "machine").add("register", node="master", status="ok"),
        registered().wipe("master").add("register", node="master", status="ok"),
        registered().fault("down", LINK),
        registered().fault("down", LINK).fault("down", LINK, "off"),
        registered().pause("names", 9_000),
    ],
)
def test_there_may_be_no_route_to_a_lost_or_disturbed_master(history: H) -> None:
    assert_holds(ProducerTries, untried(history))


def test_a_second_master_s_topics_may_have_replaced_the_master_s() -> None:
    def second(name: str) -> H:
        history = registered()
        for node, its in (("master", "broker-a"), ("other", name)):
            history.config(node, namesrvAddr="n", brokerId=0, brokerName=its)
        history.start("other", 0).after(1_000).crash("other").after(80_001)
        return untried(history.add("register", node="master", status="ok").after(1))

    assert_holds(ProducerTries, second("broker-a"))
    assert_broken(ProducerTries, second("broker-b"), "m0 failed before it was tried: no route")


def test_a_registration_during_the_send_may_come_after_its_question() -> None:
    during = story().produce().after(1).add("register", node="master", status="ok").after(1)
    assert_holds(ProducerTries, during.over_with("fail", "no route"))


def test_a_send_that_fails_for_no_reason_before_it_was_tried_is_noticed() -> None:
    broken = "m0 failed before it was tried: "
    assert_broken(ProducerTries, untried(registered(), "too many sends or topics"), broken + "too many sends")
    assert_broken(
        ProducerTries, untried(registered()), broken + "no route; the master is registered, and all targets were"
    )
    healed = registered().fault("down", LINK).fault("down", LINK, "off").after(80_001)
    assert_broken(ProducerTries, untried(healed), broken)
    back = (
        registered()
        .crash("names")
        .after(1)
        .add("start", node="names", f="normal")
        .add("register", node="master", status="ok")
    )
    assert_broken(ProducerTries, untried(back.after(80_001)), broken)


def test_a_send_whose_time_is_over_too_soon_is_noticed() -> None:
    assert_broken(ProducerTries, untried(registered(), "timeout"), "m0 timed out after 0 ms; its limit is 3000 ms")
    early, late = story().produce(), story().produce()
    early.after(2_999)
    late.after(3_000)
    assert_broken(ProducerTries, early.over_with("fail", "timeout"), "m0 timed out after 2999 ms")
    assert_holds(ProducerTries, late.over_with("fail", "timeout"))


def test_each_try_goes_to_a_master_of_the_newest_route() -> None:
    def routed(node: str, *masters: str) -> Producing:
        history = story().produce()
        for op, master in enumerate(masters):
            for status, detail in (
                ("asked", None),
                ("answered", json.dumps({"broker-a": {"0": master, "1": "slave"}})),
            ):
                history.add(
                    "ask", node="names", process=2, op=op, f="route", status=status, message="p0", queue="t",
                    detail=detail,
                )  # fmt: skip
        return history.tried("ok", "PUT_OK", node=node).over_with("ok", "PUT_OK", node=node)

    assert_holds(ProducerTries, routed("master", "master"))
    assert_holds(ProducerTries, routed("other", "master", "other"))
    says = "m0 is sent to master; the newest route names other"
    assert_broken(ProducerTries, routed("master", "master", "other"), says)
    assert_broken(ProducerTries, routed("slave", "master"), "m0 is sent to slave; the newest route names master")
