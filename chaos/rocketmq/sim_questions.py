"""Puts questions to simulated brokers. No virtual time passes: what a broker answers is of the moment of its audit.

A request goes to the broker as its frame says it, in either form of a header; the connection is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, cast

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.rocketmq import invalid_requests, questions
from pairproof.chaos.rocketmq.questions import OF_REFERENCE, Answered
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.calls import ANSWERS
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader


class Asker:
    """Stands where a broker's connections are: keeps the answer."""

    def __init__(self) -> None:
        self.answered: list[Answered] = []

    def answer(
        self, conn: object, request: Command, code: int, fields: Mapping[str, str] | None = None, body: bytes = b"",
        remark: str | None = None,
    ) -> None:  # fmt: skip
        status = ANSWERS.get(code) or remoting.RESPONSE_NAMES.get(code, f"code {code}")
        self.answered.append(Answered(status, fields or {}, body, remark))


def put(evidence: Evidence, host: Host, seed: str, groups: Sequence[str]) -> None:
    """Ask one node, if it is a broker that runs."""
    if not isinstance(host.node, Broker):
        return
    audit, records = questions.audited(evidence.recorder.events, host.name)
    binary = Random(f"{seed}/form/{host.name}").random() < 0.5
    for each in questions.chosen(seed, host.name, records, groups, OF_REFERENCE.kinds):
        for answered in _answers(host, binary, each.code, each.fields):
            questions.record(
                evidence.add, evidence.now(), host.name, host.incarnation, audit, each, answered, OF_REFERENCE.figures
            )
    sent = invalid_requests.chosen(seed, host.name)
    for answered in _answers(host, binary, sent.code, sent.fields, sent.body):
        invalid_requests.record(
            evidence.add, evidence.now(), host.name, host.incarnation, sent, answered.status, answered.remark
        )


def _answers(host: Host, binary: bool, code: int, fields: Mapping[str, str], body: bytes = b"") -> list[Answered]:
    asker = Asker()
    if isinstance(host.node, Broker):
        frame = remoting.encode(Command(code, 0, 0, dict(fields), body, binary=binary))
        # The node's own code: what it raises is its crash.
        host.call(_ask, host.node, asker, frame)
    return asker.answered


def _ask(broker: Broker, asker: Asker, frame: bytes) -> None:
    for command in CommandReader().feed(frame):
        broker.handle(cast(Any, asker), None, command)
