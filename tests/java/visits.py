"""Plays a conformance conversation with a broker or name server: what its tests and the control of answers share."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from processes import READY_S

from pairproof.chaos.observers.remoting_codes import STATUSES
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap
from pairproof.chaos.rocketmq import conversations
from pairproof.chaos.rocketmq.frames import Form
from pairproof.chaos.rocketmq.questions import CLOSED, Answered
from pairproof.harness.rocketmq.conversations.served import DONE
from pairproof.harness.rocketmq.conversations.steps import Conversation, Step

READS = {"PULL_MESSAGE", "QUERY_MESSAGE", "GET_MAX_OFFSET", "GET_TOPIC_STATS_INFO", "GET_CONSUME_STATS"}
"""What tells of queues and indexes, which RocketMQ derives from its log a moment later."""
DERIVED_S = 30
UNANSWERED = "UNANSWERED"


class Visited(NamedTuple):
    step: Step
    status: str
    detail: str | None


def visit(
    address: str, form: Form, steps: Conversation, whose: str = "", derived_s: int = DERIVED_S, answer_s: int = READY_S
) -> Iterator[Visited]:
    """Each step and its answer. The last step is one without an answer within ``answer_s``, or one before a request
    that refers to an answer which failed.

    A reading is repeated for ``derived_s`` until it is right, unless ``whose`` brokers answer otherwise.
    """
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), answer_s) as sock:
        answers = heard(sock)
        before: list[Answered] = []
        for number, step in enumerate(steps):
            is_otherwise = whose == "5.5.0" and not step.in_5
            limit = time.monotonic() + (0 if is_otherwise else derived_s)
            served = step.served or DONE
            while True:
                try:
                    sock.sendall(conversations.framed(step, form, number, before))
                except (LookupError, ValueError):
                    return
                try:
                    answered = next(answers)
                except TimeoutError:
                    yield Visited(step, UNANSWERED, None)
                    return
                except (StopIteration, ConnectionError):
                    yield Visited(step, CLOSED, None)
                    return
                said = read(step, answered, before)
                awaited = step.asks.code in READS and served.right and said["detail"] not in served.right
                busy = answered.status == "SYSTEM_BUSY" and "SYSTEM_BUSY" not in served.statuses
                if not (awaited or busy) or time.monotonic() > limit:
                    break
                time.sleep(0.01)
            before.append(answered)
            yield Visited(step, said["status"], said["detail"])


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
