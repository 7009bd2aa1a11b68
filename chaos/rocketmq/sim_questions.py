"""Puts questions to simulated nodes. No virtual time passes: what one answers is of the moment of its audit.

A request goes to the node as bytes over a connection of its own, its header in one of three forms; only the network is
left out. What asks and what reads shares no code with the node: a number that both took for the right one would be seen
by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.observers.remoting_codes import STATUSES, Request
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap
from pairproof.chaos.rocketmq import invalid_requests, questions, visits
from pairproof.chaos.rocketmq.frames import FORMS, Form
from pairproof.chaos.rocketmq.invalid_requests import OF_BROKERS, OF_NAMES
from pairproof.chaos.rocketmq.questions import CLOSED, OF_REFERENCE, Answered
from pairproof.chaos.rocketmq.visits import Step
from pairproof.chaos.rocketmq.visits_of_masters import OF_MASTERS
from pairproof.harness.history import UNREADABLE
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer

Frame = bytes | Callable[[Sequence[Answered]], bytes]
"""A request, or what makes it of the answers before."""
OPAQUE = 1_000_003
"""Under which every answer is awaited."""
ENDS = ("crash", "abort", "close")
"""What stays in the history of what a node does while it is visited."""
UNANSWERED = "UNANSWERED"
"""Nothing came back, although time stands still: nothing can come any more."""


class Caller:
    """A connection to a node, and meanwhile what the node's connections act through: keeps what comes back."""

    def __init__(self, io: Any) -> None:
        self._io = io
        self._tap = RemotingTap()
        self.answered: list[Answered] = []
        self.closed = False

    def send(self, conn: object, data: bytes) -> int:
        if conn is not self:
            return int(self._io.send(conn, data))
        for told in self._tap.feed(data):
            if told.code == Request.NOTIFY_CONSUMER_IDS_CHANGED and not told.flag & RESPONSE:
                # A group that the caller is in has changed; nobody answers that.
                continue
            status = STATUSES.get(told.code, f"code {told.code}")
            if not told.flag & RESPONSE or told.opaque != OPAQUE:
                status = UNREADABLE
            self.answered.append(Answered(status, told.fields, told.body, told.remark))
        if self._tap.broken is not None:
            self.answered.append(Answered(UNREADABLE, {}, b"", self._tap.broken))
        return len(data)

    def close(self, conn: object) -> None:
        if conn is not self:
            self._io.close(conn)
            return
        self.closed = True
        self.answered.append(Answered(CLOSED, {}, b""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)


def put(evidence: Evidence, host: Host, seed: str, groups: Sequence[str]) -> None:
    """Ask one node, if it is a broker or a name server that runs."""
    node = host.node
    form = FORMS[Random(f"{seed}/form/{host.name}").randrange(len(FORMS))]
    if isinstance(node, Broker):
        audit, records = questions.audited(evidence.recorder.events, host.name)
        for each in questions.chosen(seed, host.name, records, groups, OF_REFERENCE.kinds):
            for answered in _answers(host, form(each.code, OPAQUE, each.fields, b"")):
                questions.record(
                    evidence.add, evidence.now(), host.name, host.incarnation, audit, each, answered,
                    OF_REFERENCE.figures,
                )  # fmt: skip
    if isinstance(node, Broker | NameServer):
        is_broker = isinstance(node, Broker)
        sent = invalid_requests.chosen(seed, host.name, OF_BROKERS if is_broker else OF_NAMES)
        for answered in _answers(host, sent.frame or form(sent.code, OPAQUE, sent.fields, sent.body)):
            invalid_requests.record(
                evidence.add, evidence.now(), host.name, host.incarnation, sent, answered.status, answered.remark
            )
        _visit(evidence, host, seed, form)


def _visit(evidence: Evidence, host: Host, seed: str, form: Form) -> None:
    steps = visits.chosen(seed, host.name, _visits_of(host.node))
    events = evidence.recorder.events
    before = len(events)
    answers = _answers(host, *(partial(_frame, form, step) for step in steps))
    # What a visitor sends comes after the last audit: nobody could compare it with anything.
    ends = [each for each in events[before:] if each.kind in ENDS]
    del events[before:]
    for each in ends:
        evidence.add(*each[1:])
    for step, answered in zip(steps, answers, strict=False):
        visits.record(evidence.add, evidence.now(), host.name, host.incarnation, step, answered)


def _visits_of(node: object) -> Sequence[Sequence[Step]]:
    if not isinstance(node, Broker):
        return visits.OF_NAMES
    return visits.OF_BROKERS if node.config.is_slave else (*visits.OF_BROKERS, *OF_MASTERS)


def _frame(form: Form, step: Step, before: Sequence[Answered]) -> bytes:
    return form(step.code, OPAQUE, step.asked(before), step.body)


def _answers(host: Host, *frames: Frame) -> list[Answered]:
    """One answer to each of the frames, which come over one connection; fewer if that, or the node, ends."""
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host)
    peers.io = caller
    # The node's own code: what it raises is its crash.
    host.call(_ask, node, caller, frames)
    peers.io = host
    return caller.answered


def _ask(node: Broker | NameServer, caller: Caller, frames: Sequence[Frame]) -> None:
    node.on_accepted(caller, "main")
    for number, frame in enumerate(frames):
        try:
            data = frame(caller.answered) if callable(frame) else frame
        except (LookupError, ValueError):
            # It follows from an answer that was none.
            break
        node.on_bytes(caller, data)
        if caller.closed:
            return
        if len(caller.answered) == number:
            caller.answered.append(Answered(UNANSWERED, {}, b""))
    node.on_closed(caller)
