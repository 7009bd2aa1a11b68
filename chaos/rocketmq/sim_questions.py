"""Puts questions to simulated nodes. No virtual time passes: what one answers is of the moment of its audit.

A request goes to the node as bytes over a connection of its own, its header in one of three forms; only the network is
left out. What asks and what reads shares no code with the node: a number that both took for the right one would be seen
by nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.observers.remoting_codes import STATUSES, Request
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap
from pairproof.chaos.rocketmq import invalid_requests, questions, visits
from pairproof.chaos.rocketmq.frames import FORMS
from pairproof.chaos.rocketmq.invalid_requests import OF_BROKERS, OF_NAMES
from pairproof.chaos.rocketmq.questions import CLOSED, OF_REFERENCE, Answered
from pairproof.harness.history import UNREADABLE
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer

OPAQUE = 1_000_003
"""Under which every answer is awaited."""
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
        steps = visits.chosen(seed, host.name, visits.OF_BROKERS if is_broker else visits.OF_NAMES)
        frames = [form(each.code, OPAQUE, each.fields, each.body) for each in steps]
        for step, answered in zip(steps, _answers(host, *frames), strict=False):
            visits.record(evidence.add, evidence.now(), host.name, host.incarnation, step, answered)


def _answers(host: Host, *frames: bytes) -> list[Answered]:
    """One answer to each of the frames, which come over one connection; fewer if that, or the node, ends."""
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host)
    peers.io = caller
    # The node's own code: what it raises is its crash.
    host.call(_ask, node, caller, frames)
    peers.io = host
    missing = len(frames) - len(caller.answered) if host.node is node and not caller.closed else 0
    return caller.answered + [Answered(UNANSWERED, {}, b"")] * missing


def _ask(node: Broker | NameServer, caller: Caller, frames: Sequence[bytes]) -> None:
    node.on_accepted(caller, "main")
    for frame in frames:
        if not caller.closed:
            node.on_bytes(caller, frame)
    if not caller.closed:
        node.on_closed(caller)
