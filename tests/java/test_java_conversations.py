"""Visitors of RocketMQ's own brokers and name server are served as the law ``conversation-answered`` wants it.

For visits in which time passes see ``test_java_conversations_in_time``.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from plain_sockets import EVERYBODY, Make
from processes import KINDS, READY_S, NameServer, Program

from pairproof.chaos.observers.remoting_codes import STATUSES
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap
from pairproof.chaos.rocketmq import conversations, invalid_requests
from pairproof.chaos.rocketmq.frames import FORMS, Form, loose
from pairproof.chaos.rocketmq.questions import CLOSED, Answered
from pairproof.harness.rocketmq.conversations import CONVERSATIONS, NAMES, SERVED, SLAVE
from pairproof.harness.rocketmq.conversations.boundaries import AT_BOUNDARIES
from pairproof.harness.rocketmq.conversations.brokers import OF_BROKERS
from pairproof.harness.rocketmq.conversations.masters import OF_MASTERS
from pairproof.harness.rocketmq.conversations.steps import Ask, Conversation, Step, named
from pairproof.harness.rocketmq.invalid_requests import GROUP, ILLEGAL_FOR_BROKERS, TOPIC, VALID, Invalid
from pairproof.harness.rocketmq.invalid_requests import OF_BROKERS as INVALID
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered
from pairproof.harness.rocketmq.laws.questions.invalid_refused import InvalidRefused
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_holds

pytestmark = pytest.mark.slow


READS = {"PULL_MESSAGE", "QUERY_MESSAGE", "GET_MAX_OFFSET", "GET_TOPIC_STATS_INFO", "GET_CONSUME_STATS"}
"""What tells of queues and indexes, which RocketMQ derives from its log a moment later."""
DERIVED_S = 30


def visited(address: str, form: Form, steps: Conversation, whose: str = "") -> H:
    """The history of one visit; without what ``whose`` brokers are known to answer otherwise."""
    history = H()
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), READY_S) as sock:
        answers = heard(sock)
        before: list[Answered] = []
        for number, step in enumerate(steps):
            is_otherwise = whose == "5.5.0" and not step.in_5
            limit = time.monotonic() + DERIVED_S
            while True:
                sock.sendall(conversations.framed(step, form, number, before))
                answered = next(answers)
                said = read(step, answered, before)
                right = SERVED[step.name].right
                awaited = step.asks.code in READS and right and said["detail"] not in right
                busy = answered.status == "SYSTEM_BUSY" and "SYSTEM_BUSY" not in SERVED[step.name].statuses
                if not (awaited or busy) or is_otherwise or time.monotonic() > limit:
                    break
                time.sleep(0.01)
            before.append(answered)
            if is_otherwise:
                continue
            history.add("conversation", node="master", f=step.name, **said)
    return history


def read(step: Step, answered: Answered, before: Sequence[Answered]) -> dict[str, Any]:
    """Status and detail of the event that records an answer."""
    found: dict[str, Any] = {}

    def add(t: int, kind: str, node: str, incarnation: int, f: str, **columns: Any) -> None:
        found.update(columns)

    conversations.record(add, 0, "master", 1, step, answered, before)
    return found


def heard(sock: socket.socket) -> Iterator[Answered]:
    """Answers as they come; what the broker tells a group's members of changes is none."""
    tap = RemotingTap()
    while data := sock.recv(65_536):
        for each in tap.feed(data):
            if each.flag & RESPONSE:
                yield Answered(STATUSES.get(each.code, f"code {each.code}"), each.fields, each.body, each.remark)


@pytest.mark.parametrize("whose", EVERYBODY)
def test_visitors_of_brokers(whose: str, broker: Make) -> None:
    address = broker(whose).address
    for form in [each for each in FORMS if each is not loose]:
        for steps in OF_BROKERS:
            assert_holds(ConversationAnswered, visited(address, form, steps))
        for number, steps in enumerate((*OF_MASTERS, *AT_BOUNDARIES)):
            # As long as the name that stands for it.
            topic = f"{form.__name__[:4]}-{number:02}"
            assert_holds(ConversationAnswered, visited(address, form, named(steps, topic), whose))


@pytest.mark.parametrize("whose", EVERYBODY)
def test_visitors_of_slaves(whose: str, broker: Make) -> None:
    address = broker(whose, brokerRole="SLAVE", brokerId=1).address
    for form in [each for each in FORMS if each is not loose]:
        for steps in CONVERSATIONS[SLAVE]:
            assert_holds(ConversationAnswered, visited(address, form, steps, whose))


@pytest.mark.parametrize("role", [{}, {"brokerRole": "SLAVE", "brokerId": 1}])
@pytest.mark.parametrize("whose", EVERYBODY)
def test_invalid_requests_are_refused(whose: str, role: dict[str, Any], broker: Make) -> None:
    host, _, port = broker(whose, **role).address.partition(":")

    def answer(sent: Invalid, form: Form) -> Answered:
        with socket.create_connection((host, int(port)), READY_S) as sock:
            sock.sendall(invalid_requests.framed(sent, form, 1))
            return next(heard(sock), Answered(CLOSED, {}, b""))

    def judge() -> None:
        for form in FORMS:
            history = H().config("master").start("master")
            for sent in (*INVALID, *ILLEGAL_FOR_BROKERS):
                said = answer(sent, form)
                history.add("invalid", node="master", f=sent.name, status=said.status, detail=said.remark)
            assert_holds(InvalidRefused, history)

    judge()
    if not role:
        # Nothing may be refused only because the topic or the group is unknown.
        topic = {**VALID["UPDATE_AND_CREATE_TOPIC"], "topic": TOPIC}
        group = Ask("UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", {}, json.dumps({"groupName": GROUP}).encode())
        for made in (Ask("UPDATE_AND_CREATE_TOPIC", topic), group):
            assert answer(Invalid("none", made), FORMS[0]).status == "PUT_OK"
        judge()


@pytest.mark.parametrize("whose", KINDS)
def test_visitors_of_name_servers(whose: str, tmp_path: Path, running: Callable[[Program], Program]) -> None:
    namesrv = NameServer(tmp_path / "namesrv", KINDS[whose])
    running(namesrv)
    for form in [each for each in FORMS if each is not loose]:
        for steps in CONVERSATIONS[NAMES]:
            assert_holds(ConversationAnswered, visited(namesrv.address, form, steps))
