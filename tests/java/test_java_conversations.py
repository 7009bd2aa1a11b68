"""Visitors of RocketMQ's own brokers and name server are served as the law ``conversation-answered`` wants it.

For visits in which time passes see ``test_java_conversations_in_time``.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plain_sockets import EVERYBODY, Make
from processes import KINDS, READY_S, NameServer, Program
from visits import UNANSWERED, heard, visit

from pairproof.chaos.rocketmq import invalid_requests
from pairproof.chaos.rocketmq.frames import FORMS, Form, loose
from pairproof.chaos.rocketmq.questions import CLOSED, Answered
from pairproof.harness.rocketmq.conversations import CONVERSATIONS, NAMES, SLAVE
from pairproof.harness.rocketmq.conversations.boundaries import AT_BOUNDARIES
from pairproof.harness.rocketmq.conversations.brokers import OF_BROKERS
from pairproof.harness.rocketmq.conversations.masters import OF_MASTERS
from pairproof.harness.rocketmq.conversations.steps import Ask, Conversation, named
from pairproof.harness.rocketmq.invalid_requests import GROUP, ILLEGAL_FOR_BROKERS, TOPIC, VALID, Invalid
from pairproof.harness.rocketmq.invalid_requests import OF_BROKERS as INVALID
from pairproof.harness.rocketmq.laws.questions.conversation_answered import ConversationAnswered
from pairproof.harness.rocketmq.laws.questions.invalid_refused import InvalidRefused
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_holds

pytestmark = pytest.mark.slow


def visited(address: str, form: Form, steps: Conversation, whose: str = "") -> H:
    """The history of one visit; without what ``whose`` brokers are known to answer otherwise."""
    history = H()
    answers = list(visit(address, form, steps, whose))
    assert len(answers) == len(steps) and not {CLOSED, UNANSWERED} & {each.status for each in answers}
    for step, status, detail in answers:
        if step.in_5 or whose != "5.5.0":
            history.add("conversation", node="master", f=step.name, status=status, detail=detail)
    return history


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
