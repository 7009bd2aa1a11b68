"""Puts questions to simulated brokers. No virtual time passes: what a broker answers is of the moment of its audit.

A request goes to the broker's own handler with its fields as they travel; the connection is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.rocketmq import questions
from pairproof.chaos.rocketmq.questions import OF_REFERENCE, Answered, Question
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.calls import ANSWERS
from pairproof.reference.core.requests import Request
from pairproof.reference.errors import CodecError
from pairproof.reference.wire import headers, remoting
from pairproof.reference.wire.remoting import Command


class Asker:
    """Stands where a broker's connections are: keeps the answer."""

    def __init__(self) -> None:
        self.answered: list[Answered] = []

    def answer(
        self, conn: object, request: Command, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"",
        remark: str | None = None,
    ) -> None:  # fmt: skip
        status = ANSWERS.get(code) or remoting.RESPONSE_NAMES.get(code, f"code {code}")
        self.answered.append(Answered(status, fields or {}, body))


def put(evidence: Evidence, host: Host, seed: str, groups: Sequence[str]) -> None:
    """Ask one node, if it is a broker that runs."""
    broker = host.node
    if not isinstance(broker, Broker):
        return
    audit, records = questions.audited(evidence.recorder.events, host.name)
    for each in questions.chosen(seed, host.name, records, groups, OF_REFERENCE.kinds):
        asker = Asker()
        # The node's own code: what it raises is its crash.
        host.call(_ask, broker, asker, each)
        for answered in asker.answered:
            questions.record(
                evidence.add, evidence.now(), host.name, host.incarnation, audit, each, answered, OF_REFERENCE.figures
            )


def _ask(broker: Broker, asker: Asker, question: Question) -> None:
    command = Command(question.code, 0, 0, dict(question.fields))
    try:
        request = Request(cast(Any, asker), None, command, headers.decode_request(command))
        broker.handlers[question.code](request)
    except CodecError as why:
        asker.answer(None, command, remoting.SYSTEM_ERROR, remark=str(why))
