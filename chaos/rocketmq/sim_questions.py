"""Puts questions to simulated nodes. No virtual time passes: what one answers is of the moment of its audit.

A request goes to the node as bytes over a connection of its own, its header in one of three forms; only the network is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.rocketmq import invalid_requests, questions
from pairproof.chaos.rocketmq.invalid_requests import OF_BROKERS, OF_NAMES
from pairproof.chaos.rocketmq.questions import CLOSED, OF_REFERENCE, Answered
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.calls import ANSWERS
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader


class Caller:
    """A connection to a node, and meanwhile what the node's connections act through: keeps what comes back."""

    def __init__(self, io: Any) -> None:
        self._io = io
        self._reader = CommandReader()
        self.answered: list[Answered] = []
        self.closed = False

    def send(self, conn: object, data: bytes) -> int:
        if conn is not self:
            return int(self._io.send(conn, data))
        for answer in self._reader.feed(data):
            status = ANSWERS.get(answer.code) or remoting.RESPONSE_NAMES.get(answer.code, f"code {answer.code}")
            self.answered.append(Answered(status, answer.fields, answer.body, answer.remark))
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
    frame = FORMS[Random(f"{seed}/form/{host.name}").randrange(len(FORMS))]
    if isinstance(node, Broker):
        audit, records = questions.audited(evidence.recorder.events, host.name)
        for each in questions.chosen(seed, host.name, records, groups, OF_REFERENCE.kinds):
            for answered in _answers(host, frame(Command(each.code, 0, 0, dict(each.fields)))):
                questions.record(
                    evidence.add, evidence.now(), host.name, host.incarnation, audit, each, answered,
                    OF_REFERENCE.figures,
                )  # fmt: skip
    if isinstance(node, Broker | NameServer):
        sent = invalid_requests.chosen(seed, host.name, OF_BROKERS if isinstance(node, Broker) else OF_NAMES)
        for answered in _answers(host, sent.frame or frame(Command(sent.code, 0, 0, dict(sent.fields), sent.body))):
            invalid_requests.record(
                evidence.add, evidence.now(), host.name, host.incarnation, sent, answered.status, answered.remark
            )


def _answers(host: Host, frame: bytes) -> list[Answered]:
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host)
    peers.io = caller
    # The node's own code: what it raises is its crash.
    host.call(_ask, node, caller, frame)
    peers.io = host
    return caller.answered


def _ask(node: Broker | NameServer, caller: Caller, frame: bytes) -> None:
    node.on_accepted(caller, "main")
    node.on_bytes(caller, frame)
    if not caller.closed:
        node.on_closed(caller)


# Forms of a frame.


def _plain(command: Command) -> bytes:
    return remoting.encode(command)


def _binary(command: Command) -> bytes:
    return remoting.encode(command._replace(binary=True))


def _loose(command: Command) -> bytes:
    """As another language may write it: blanks, escapes, numbers for numbers, a null, and what nobody knows."""
    fields: Mapping[str, Any] = {
        **{name: int(text) if text.isdecimal() and text == str(int(text)) else text
           for name, text in command.fields.items()},
        "aNull": None, "aTruth": True,
    }  # fmt: skip
    known = {"version": 1, "opaque": command.opaque, "language": "GO", "code": command.code, "flag": command.flag}
    header = json.dumps({"nobodyKnows": {"this": [1, None]}, "extFields": fields, "remark": None, **known}, indent=1)
    # The first letter of a name, escaped.
    raw = header.replace('"extFields"', '"\\u0065xtFields"').encode()
    return invalid_requests.framed(raw, command.body)


FORMS: Sequence[Callable[[Command], bytes]] = (_plain, _binary, _loose)
