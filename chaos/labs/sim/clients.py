"""The simulated producers and readers: start calls, record how they end, keep each reader's place.

A client whose call ended in ``info`` goes on as a new process, as in Jepsen: its late answer could be taken for
another's.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Host
from pairproof.harness.errors import LabError, UsageError
from pairproof.reference.client.client import Client, Outcome
from pairproof.reference.wire import record
from pairproof.reference.wire.record import Record

TOPIC = "pairproof"
MAX_SIZE = 4 * 1024 * 1024
MAX_PULL = 32


class Call(NamedTuple):
    """One operation that was invoked. ``value``: a send's wait flag, a pull's offset."""

    client: str
    process: int
    op: int
    f: str
    node: str
    message: str | None
    queue: int
    value: int


class Clients:
    """All clients of a trial."""

    def __init__(self, host: Host, evidence: Evidence, nodes: tuple[str, ...]) -> None:
        self.host = host
        self.nodes = nodes
        self.evidence = evidence
        self.add = evidence.recorder.add
        self.client = Client(host)
        host.start(lambda: self.client)
        self.in_flight = 0
        self.phase_of: dict[int, str] = {}
        self._processes: dict[str, int] = {}
        self._next_process = 0
        self._next_op = 0
        self._next_message = 0
        self._places: dict[tuple[int, str, int], int] = {}

    def send(self, producer: int, size: int, wait: bool, queue: int) -> int:
        """Start a send to the master; its operation number, under which ``phase_of`` tells how it ended."""
        if size > MAX_SIZE:
            raise LabError(f"a message of {size} bytes is above the limit of {MAX_SIZE}; send a smaller one")
        key = f"m{self._next_message}"
        self._next_message += 1
        properties = f"KEYS\x01{key}" if wait else f"KEYS\x01{key}\x02WAIT\x01false"
        body = (key.encode() * (size // len(key) + 1))[:size]
        call = self._invoke(f"producer-{producer}", "send", "master", key, queue, int(wait))
        self.client.send(_address(call), TOPIC, queue, body, properties, partial(self._sent, call))
        return call.op

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull from where the reader stands at this broker."""
        if node not in self.nodes:
            raise UsageError(f"a reader pulls from {' or '.join(self.nodes)} (lab.slaves), not from {node!r}")
        place = (reader, node, queue)
        offset = self._places.get(place, 0)
        call = self._invoke(f"reader-{reader}-{node}", "pull", node, None, queue, offset)
        self.client.pull(_address(call), TOPIC, queue, offset, MAX_PULL, partial(self._pulled, place, call))

    def _invoke(self, client: str, f: str, node: str, message: str | None, queue: int, value: int) -> Call:
        process = self._processes.get(client)
        if process is None:
            process = self._processes[client] = self._next_process
            self._next_process += 1
        call = Call(client, process, self._next_op, f, node, message, queue, value)
        self._next_op += 1
        self.in_flight += 1
        self.add(
            self.host.kernel.now, "invoke", node, None, None, None, process, call.op, f, None, message,
            f"{TOPIC}/{queue}", None, None, None, None, value,
        )  # fmt: skip
        return call

    def _sent(self, call: Call, outcome: Outcome) -> None:
        queue_offset = lo = hi = None
        if outcome.phase == "ok" and outcome.answer is not None:
            fields = outcome.answer.fields
            queue_offset = int(fields["queueOffset"])
            lo = int(fields["msgId"][16:], 16)
            hi = self.evidence.end_of_record(lo)
        self._ended(call, outcome, queue_offset, lo, hi)

    def _pulled(self, place: tuple[int, str, int], call: Call, outcome: Outcome) -> None:
        answer = outcome.answer
        if outcome.phase == "ok" and answer is not None:
            self._places[place] = int(answer.fields["nextBeginOffset"])
            body = answer.body
            at = 0
            while at < len(body):
                found = record.decode(body, at)
                if isinstance(found, Record):
                    self.evidence.delivered(call.process, call.op, call.node, found, body[at : at + found.size])
                at += found.size
        self._ended(call, outcome, None, None, None)

    def _ended(self, call: Call, outcome: Outcome, queue_offset: int | None, lo: int | None, hi: int | None) -> None:
        self.in_flight -= 1
        self.phase_of[call.op] = outcome.phase
        if outcome.phase == "info" and self._processes.get(call.client) == call.process:
            del self._processes[call.client]
        remark = outcome.answer.remark if outcome.answer is not None else None
        self.add(
            self.host.kernel.now, outcome.phase, call.node, None, None, None, call.process, call.op, call.f,
            outcome.status, call.message, f"{TOPIC}/{call.queue}", queue_offset, lo, hi, None, call.value, remark,
        )  # fmt: skip


def _address(call: Call) -> str:
    return f"client-{call.node}#{call.process}"
