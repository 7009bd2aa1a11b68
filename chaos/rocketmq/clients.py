"""The producers, readers and administrators of a trial: start calls, record their results, track each reader's offset.

A client whose call ended in ``info`` continues as a new process, as in Jepsen: its late answer could be mistaken for
another's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from ...harness.errors import LabError, UsageError
from ...harness.history import LONG, MS, UNREADABLE
from ...harness.rocketmq import topology
from ...harness.texts.content import content
from ...harness.texts.quoting import quoted
from ...harness.trials.schedule import Args
from ...reference.client import admin
from ...reference.client.client import Client, Outcome
from ...reference.errors import BrokerError
from ...reference.ports import Effects
from ...reference.wire import beans, record
from ...reference.wire.bodies import SubscriptionGroupConfig, TopicConfig
from ...reference.wire.record import Record
from .context import Context
from .provision import TOPIC, USUAL_PERM

SEND_TIMEOUT_MS = 10_000
"""Longer than any single send's default wait for a slave; several in turn may wait longer."""
MAX_SIZE = 4 * 1024 * 1024
MAX_PULL = 32
"""Messages that a reader requests unless ``lab.pullMessages`` is set."""
MAX_WORDS = 200
"""Longest error text in a history, in characters."""
FLAGS = 4
"""Messages cycle through this many flags from 0."""
TAGS = ("", "a", "")
"""Messages cycle through these tags."""
MORE_TAGS = ("", "a", "paidAa", "paidBB")
"""Used once a group subscribes by tag: see ``BY_TAG``."""
ALL = "*"
ReaderKey = tuple[int, str, int, str]
"""Key of a reader's offset: its number, the node, the queue, and its tags."""
BROKERS = ("brokerId", "whichBrokerWhenConsumeSlowly")
"""A group's settings that each recorded change names; others only if they are not the default."""
WAITS_NOT = "\x02WAIT\x01false"
GARBLED = (KeyError, ValueError, IndexError, BrokerError)
"""Exceptions for a malformed answer."""
PULL_ANSWER = ("nextBeginOffset", "minOffset", "maxOffset", "suggestWhichBrokerId")


def send_timeout_ms(settings: Args) -> int:
    """Timeout of a producer under these settings."""
    return int(settings.get("lab.sendTimeoutMs", SEND_TIMEOUT_MS))


class Call(NamedTuple):
    """One invoked operation. ``value``: a send's wait flag, a pull's offset."""

    client: str
    process: int
    op: int
    f: str
    node: str
    message: str | None
    queue: str | None
    value: int | None


class Clients:
    """All clients of a trial. ``address`` returns a broker's, as clients reach it; the lab starts ``client``.

    They use, from the trial's ``settings``, ``lab.sendTimeoutMs`` and ``lab.pullMessages``.
    """

    def __init__(
        self, io: Effects, context: Context, brokers: tuple[str, ...], address: Callable[[str], str], settings: Args
    ) -> None:
        self.nodes = brokers
        self.context = context
        self.add = context.add
        self.client = Client(io, send_timeout_ms(settings) * MS)
        self._most = int(settings.get("lab.pullMessages", 0))
        self._address_of = address
        self.tags: tuple[str, ...] = TAGS
        """For the sent messages, in turn."""
        self.stored: dict[str, int] = {}
        """By node: the start of the last message that it acked since its start."""
        self.in_flight = 0
        self.phase_of: dict[int, str] = {}
        self._processes: dict[str, int] = {}
        self._next_process = 0
        self._next_op = 0
        self._next_message = 0
        self._places: dict[ReaderKey, int] = {}

    def probe(self) -> int:
        """Start a small waiting send to the master; returns its operation number."""
        return self.send(0, 100, True, 0)

    def answered(self) -> bool:
        return not self.in_flight

    def send(self, producer: int, size: int, wait: bool, queue: int) -> int:
        """Start a send to the master; returns its operation number, whose result is in ``phase_of``."""
        return self.send_to(f"producer-{producer}", topology.MASTER, size, wait, queue)

    def send_to(self, client: str, node: str, size: int, wait: bool, queue: int, level: int = 0) -> int:
        """Start a send to any broker of a message with a delay ``level``."""
        self.check(node, "a producer sends to")
        if size > MAX_SIZE:
            raise LabError(f"a message of {size} bytes is above the limit of {MAX_SIZE}; send a smaller one")
        key, flag, tags = self.new_message()
        properties = described(f"KEYS\x01{key}", tags, wait)
        if level:
            properties += f"\x02DELAY\x01{level}"
        body = filled(key, size)
        detail = content(body, tags, flag, level=level) if level else content(body, tags, flag)
        call = self.invoke(client, "send", node, key, _queue(queue), int(wait), detail)
        self.client.send(self.address(call), TOPIC, queue, body, properties, partial(self.sent, call), flag)
        return call.op

    def new_message(self) -> tuple[str, int, str]:
        number = self._next_message
        self._next_message += 1
        return f"m{number}", number % FLAGS, self.tags[number % len(self.tags)]

    def pull(self, reader: int, node: str, queue: int) -> None:
        self.check(node, "a reader pulls from")
        self._pull((reader, node, queue, ALL), "pull", {})

    def select(self, reader: int, node: str, queue: int, tags: str) -> None:
        self.check(node, "a reader pulls from")
        self._pull((reader, node, queue, tags), "select", {"tags": tags})

    def _pull(self, place: ReaderKey, f: str, wanted: dict[str, object]) -> None:
        reader, node, queue, tags = place
        offset = self._places.get(place, 0)
        wanted |= {"most": self._most} if self._most else {}
        detail = json.dumps(wanted) if wanted else None
        call = self.invoke(f"reader-{reader}-{node}", f, node, None, _queue(queue), offset, detail)
        done = partial(self._pulled, place, call)
        self.client.pull(self.address(call), TOPIC, queue, offset, self._most or MAX_PULL, done, tags)

    def change_topic(self, number: int, queues: int, node: str, reads: int, perm: int, used: bool) -> None:
        config = TopicConfig(TOPIC if used else f"t{number}", reads or queues, queues, perm)
        detail = (
            {"queues": queues} | ({"reads": reads} if reads else {}) | ({"perm": perm} if perm != USUAL_PERM else {})
        )
        call = self._administer("topic", node, config.topic_name, detail)
        admin.update_topic(self.client.calls, self.address(call), config, partial(self.ended, call))

    def change_group(
        self, group: int, slowly: int, broker: int, node: str, enabled: bool, retry_queues: int, retries: int,
        from_min: bool, broadcasting: bool, notified: bool,
    ) -> None:  # fmt: skip
        config = SubscriptionGroupConfig(
            f"g{group}", enabled, from_min, broadcasting, retry_queues, retries, broker, slowly, notified
        )
        told, usual = beans.to_json(config), beans.to_json(SubscriptionGroupConfig(config.group_name))
        detail = {name: value for name, value in told.items() if name in BROKERS or value != usual[name]}
        call = self._administer("group", node, config.group_name, detail)
        admin.update_group(self.client.calls, self.address(call), config, partial(self.ended, call))

    def _administer(self, f: str, node: str, name: str, detail: Mapping[str, object]) -> Call:
        self.check(node, "an administrator asks")
        return self.invoke(f"administrator-{node}", f, node, name, detail=json.dumps(detail, sort_keys=True))

    def check(self, node: str, does: str) -> None:
        if node not in self.nodes:
            raise UsageError(f"{does} {' or '.join(self.nodes)} (lab.slaves), not {node!r}")

    def new_process(self) -> int:
        self._next_process += 1
        return self._next_process - 1

    def new_op(self) -> int:
        self._next_op += 1
        return self._next_op - 1

    def begin(
        self, client: str, f: str, node: str, message: str | None, queue: str | None = None, value: int | None = None
    ) -> Call:
        process = self._processes.get(client)
        if process is None:
            process = self._processes[client] = self.new_process()
        self.in_flight += 1
        return Call(client, process, self.new_op(), f, node, message, queue, value)

    def over(self, call: Call, outcome: Outcome) -> None:
        self.in_flight -= 1
        if outcome.phase == "info" and self._processes.get(call.client) == call.process:
            del self._processes[call.client]

    def invoke(
        self, client: str, f: str, node: str, message: str | None, queue: str | None = None,
        value: int | None = None, detail: str | None = None,
    ) -> Call:  # fmt: skip
        call = self.begin(client, f, node, message, queue, value)
        self.note(call, "invoke", f=f, value=value, detail=detail)
        return call

    def note(self, call: Call, kind: str, **columns: object) -> None:
        """Record an event of a call."""
        self.add(
            self.context.now(), kind, call.node, process=call.process, op=call.op, message=call.message,
            queue=call.queue, **columns,
        )  # fmt: skip

    def sent(self, call: Call, outcome: Outcome) -> None:
        self.placed(call, outcome)

    def placed(self, call: Call, outcome: Outcome) -> tuple[int, int] | None:
        """The same; returns the record's offset and its queue offset, if the answer has them."""
        queue_offset = lo = hi = None
        if outcome.phase == "ok" and outcome.answer is not None:
            fields = outcome.answer.fields
            call = answered_queue(call, fields)
            try:
                queue_offset, lo = _long(fields["queueOffset"]), _long(fields["msgId"][16:], 16)
                hi = self.context.end_of_record(call.node, lo)
            except GARBLED as why:
                self.unreadable(call, why)
                return None
        self.ended(call, outcome, queue_offset, lo, hi)
        return None if lo is None or queue_offset is None else (lo, queue_offset)

    def _pulled(self, place: ReaderKey, call: Call, outcome: Outcome) -> None:
        following = low = high = suggested = None
        if outcome.phase == "ok" and outcome.answer is not None:
            try:
                following, low, high, suggested = (_long(outcome.answer.fields[name]) for name in PULL_ANSWER)
                self._deliver(call, outcome.answer.body)
            except GARBLED as why:
                self.unreadable(call, why)
                return
            self._places[place] = following
        self.ended(call, outcome, following, low, high, suggested)

    def _deliver(self, call: Call, body: bytes) -> None:
        at = 0
        while at < len(body):
            found = record.decode(body, at)
            if isinstance(found, Record):
                self.context.delivered(call.process, call.op, call.node, found, body[at : at + found.size], f=call.f)
            at += found.size

    def unreadable(self, call: Call, why: Exception) -> None:
        """The broker's answer is malformed, so the call's effect is unknown."""
        self.ended(call, Outcome("info", UNREADABLE, None), remark=" ".join(quoted(why).split())[:MAX_WORDS])

    def ended(
        self, call: Call, outcome: Outcome, queue_offset: int | None = None, lo: int | None = None,
        hi: int | None = None, broker: int | None = None, remark: str | None = None,
    ) -> None:  # fmt: skip
        self.over(call, outcome)
        self.phase_of[call.op] = outcome.phase
        if outcome.answer is not None:
            remark = outcome.answer.remark
        if call.f == "send" and lo is not None:
            self.stored[call.node] = max(lo, self.stored.get(call.node, 0))
        self.note(
            call, outcome.phase, f=call.f, status=outcome.status, queue_offset=queue_offset, lo=lo, hi=hi,
            value=call.value, detail=remark, broker=broker,
        )  # fmt: skip

    def address(self, call: Call) -> str:
        # Each process has its own connections.
        return f"{self._address_of(call.node)}#{call.process}"


def described(key: str, tags: str, wait: bool) -> str:
    """A message's properties, its key's first."""
    return f"{key}{'' if wait else WAITS_NOT}" + (f"\x02TAGS\x01{tags}" if tags else "")


def filled(key: str, size: int) -> bytes:
    """A body of ``size`` bytes that identifies its message."""
    return (key.encode() * (size // len(key) + 1))[:size]


def answered_queue(call: Call, fields: Mapping[str, str]) -> Call:
    """A call whose queue the broker chose, with that queue."""
    topic, _, number = (call.queue or "").rpartition("/")
    return call._replace(queue=f"{topic}/{fields.get('queueId')}") if number.startswith("-") else call


def _queue(number: int) -> str:
    return f"{TOPIC}/{number}"


def _long(text: str, base: int = 10) -> int:
    """Parse as Java does; ValueError for text that is not such a number."""
    found = int(text, base)
    if found not in LONG:
        raise ValueError(f"{text[:MAX_WORDS]} has more than 64 bits")
    return found
