"""The consumers of a trial: each a process on its own machine, and their observable actions as events.

A consumer's calls are recorded like a plain client's, with its group and the broker id that it chose. Events on queues
of another broker name include its node, since those queues have the same names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

from ...harness.errors import UsageError
from ...harness.rocketmq import topology
from ...harness.rocketmq.operations.join import BROADCASTING, ORDERLY
from ...harness.rocketmq.operations.scope import BY_TAG, FALTERING, QUEUES
from ...reference.client import admin, listener
from ...reference.client.consumer import Consumer, ConsumerSettings
from ...reference.core.calls import Outcome
from ...reference.core.config import BrokerConfig
from ...reference.core.topics import retry_topic
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.bodies_route import TopicRouteData
from ...reference.wire.properties import properties_of
from ...reference.wire.record import Record
from . import calls_listener
from .clients import ALL, MORE_TAGS, PULL_ANSWER, Clients
from .clients import Call as ClientCall
from .context import Machine
from .planning import OTHER_NAME
from .provision import TOPIC


class Call(NamedTuple):
    op: int
    f: str
    node: str
    queue: str
    broker: int
    queue_offset: int | None
    value: int | None
    message: str | None = None
    """For a message that is sent back."""


class Listener(listener.Listener):
    def __init__(self, clients: Clients, settings: ConsumerSettings) -> None:
        self.clients = clients
        self.context = clients.context
        self.add = clients.add
        self.group = settings.group
        self.f = "broadcasting" if settings.broadcasting else "orderly" if settings.orderly else "clustering"
        self.fixed = settings.default_broker_id if settings.connect_broker_by_user else None
        wanted = settings.topics[TOPIC]
        self.wanted = None if wanted == ALL else json.dumps({"tags": wanted})
        """Its subscribed tags, as recorded in a history; None: all."""
        self.process = clients.new_process()
        self.calls: dict[int, Call] = {}

    def came(self) -> None:
        self.note("consumer", f=self.f, status="on", broker=self.fixed, detail=self.wanted)

    def went(self, lost: bool) -> None:
        self.note("consumer", f=self.f, status="lost" if lost else "off")

    def route_learned(self, topic: str, route: TopicRouteData | None) -> None:
        """A name server answered. A route of another topic counts too if it names brokers of the pair."""
        brokers = route.broker_datas if route is not None else ()
        if topic != TOPIC and all(broker.broker_name == OTHER_NAME for broker in brokers):
            return
        nodes = {
            str(broker_id): self.context.node_at(address)
            for broker in brokers
            if broker.broker_name != OTHER_NAME
            for broker_id, address in broker.broker_addrs.items()
        }
        status = "none" if route is None else "found"
        self.note("route", status=status, detail=json.dumps(nodes, sort_keys=True))

    def query_began(self, op: int, queue: MessageQueue, broker_id: int, address: str) -> None:
        self._began(op, "query", queue, broker_id, address)

    def query_ended(self, op: int, outcome: Outcome, offset: int | None) -> None:
        self._ended(op, outcome, offset)

    def assigned(self, queue: MessageQueue, offset: int) -> None:
        self.note("assign", _owner(queue), status="on", queue=_name(queue), value=offset)

    def given_up(self, queue: MessageQueue, offset: int) -> None:
        self.note("assign", _owner(queue), status="off", queue=_name(queue), value=offset)

    def pull_began(self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str) -> None:
        self._began(op, "pull", queue, broker_id, address, value=offset, detail=self.wanted)

    def delivered(self, op: int, queue: MessageQueue, record: Record, raw: bytes) -> None:
        call = self.calls[op]
        self.context.delivered(self.process, call.op, call.node, record, raw, self.group)

    def pull_ended(self, op: int, outcome: Outcome, header: Mapping[str, Any] | None) -> None:
        if header is None:
            self._ended(op, outcome)
        else:
            following, low, high, suggested = (header[name] for name in PULL_ANSWER)
            self._ended(op, outcome, following, low, high, suggested)

    def commit_began(
        self, op: int, queue: MessageQueue, offset: int, broker_id: int, address: str, with_pull: bool
    ) -> None:
        self._began(op, "commit", queue, broker_id, address, offset, int(with_pull))

    def commit_ended(self, op: int, outcome: Outcome) -> None:
        call = self.calls[op]
        self._ended(op, outcome, call.queue_offset)

    def back_began(
        self, op: int, queue: MessageQueue, record: Record, level: int, most: int, broker_id: int, address: str
    ) -> None:
        told = {"at": record.physical_offset, "times": record.message.reconsume_times, "level": level, "most": most}
        call = Call(
            self.clients.new_op(), "back", self.context.node_at(address), _name(queue), broker_id, record.queue_offset,
            None, key_of(record),
        )  # fmt: skip
        self.calls[op] = call
        self._back(call, "asked", detail=json.dumps(told))

    def back_ended(self, op: int, outcome: Outcome) -> None:
        self._back(self.calls.pop(op), outcome.phase, status=outcome.status)

    def _back(self, call: Call, f: str, **columns: object) -> None:
        self.note(
            "back", call.node, op=call.op, f=f, message=call.message, queue=call.queue,
            queue_offset=call.queue_offset, **columns,
        )  # fmt: skip

    def note(self, kind: str, node: str | None = None, **columns: object) -> None:
        self.add(self.context.now(), kind, node, process=self.process, group=self.group, **columns)

    def _began(
        self, number: int, f: str, queue: MessageQueue, broker: int, address: str, queue_offset: int | None = None,
        value: int | None = None, detail: str | None = None,
    ) -> None:  # fmt: skip
        call = Call(self.clients.new_op(), f, self.context.node_at(address), _name(queue), broker, queue_offset, value)
        self.calls[number] = call
        self.note(
            "invoke", call.node, op=call.op, f=f, queue=call.queue, queue_offset=queue_offset, value=value,
            detail=detail, broker=broker,
        )  # fmt: skip

    def _ended(
        self, number: int, outcome: Outcome, queue_offset: int | None = None, lo: int | None = None,
        hi: int | None = None, broker: int | None = None,
    ) -> None:  # fmt: skip
        call = self.calls.pop(number)
        answer = outcome.answer
        self.note(
            outcome.phase, call.node, op=call.op, f=call.f, status=outcome.status, queue=call.queue,
            queue_offset=queue_offset, lo=lo, hi=hi, value=call.value,
            detail=answer.remark if answer is not None else None, broker=call.broker if broker is None else broker,
        )  # fmt: skip


class Consumers:
    """All consumers of a trial, and their ability CanConsume; without ``name_servers`` there can be none.

    ``machine`` makes their machines by name; ``fixed``: the broker id that users chose.
    """

    def __init__(
        self, clients: Clients, machine: Callable[[str], Machine], build: type[Consumer],
        name_servers: tuple[str, ...], fixed: int | None,
    ) -> None:  # fmt: skip
        self.clients = clients
        self.machine = machine
        self.build = build
        self.name_servers = name_servers
        self.fixed = fixed
        self.hosts: dict[tuple[int, int], Machine] = {}

    def join(self, group: int, consumer: int) -> None:
        """Start one; no effect if it runs."""
        if group == FALTERING:
            raise UsageError(f"group {group} is for fail_consume: use that, or another group")
        if group in BY_TAG:
            self.clients.tags = MORE_TAGS
        self._come("join", group, consumer)

    def fail_consume(self, consumer: int, every: int, times: int, level: int, most: int) -> None:
        """Start one that fails at messages, see CanFalter; no effect if it runs."""

        def fails(message: Record, tries: int) -> int | None:
            chosen = every and not crc32((key_of(message) or "").encode()) % every
            return level if chosen and message.message.reconsume_times + tries < times else None

        self._come("fail_consume", FALTERING, consumer, fails=fails, max_reconsume_times=most)

    def _come(self, op: str, group: int, consumer: int, **more: Any) -> None:
        self._check(op)
        host = self.hosts.get((group, consumer))
        if host is None:
            host = self.hosts[group, consumer] = self.machine(f"consumer-{group}-{consumer}")
        if isinstance(host.node, Consumer) and not host.node.over:
            return
        settings = ConsumerSettings(
            f"c{consumer}", group_name(group), {TOPIC: BY_TAG.get(group, ALL)}, self.name_servers,
            broadcasting=group >= BROADCASTING, orderly=ORDERLY <= group < BROADCASTING,
            consume_from_where="CONSUME_FROM_FIRST_OFFSET",
            connect_broker_by_user=self.fixed is not None, default_broker_id=self.fixed or 0, **more,
        )  # fmt: skip
        listener = Listener(self.clients, settings)
        host.start(lambda: self._made(host, settings, listener))

    def _made(self, host: Machine, settings: ConsumerSettings, listener: Listener) -> Consumer:
        consumer = self.build(host.io, settings, listener)
        calls_listener.listen(consumer, listener.note, self.clients.context.node_at)
        return consumer

    def leave(self, group: int, consumer: int, lost: bool) -> None:
        """One leaves; no effect if it does not run."""
        self._check("leave")
        host = self.hosts.get((group, consumer))
        if host is None or not isinstance(host.node, Consumer) or host.node.over:
            return
        if lost:
            host.call(host.node.abandon)
            host.kill()
        else:
            host.call(host.node.stop)

    def reset(self, group: int) -> None:
        """An administrator resets the progress of a group without members, as mqadmin resetOffsetByTimeOld does."""
        self._check("reset")
        name, clients = group_name(group), self.clients
        if name not in self.groups or name in self.live():
            return
        for number in range(QUEUES):
            queue = MessageQueue(TOPIC, BrokerConfig.brokerName, number)
            place = f"{TOPIC}/{number}"
            call = clients.begin(f"administrator-{topology.MASTER}", "commit", topology.MASTER, None, place)
            columns = {"f": "commit", "group": name, "queue_offset": 0, "value": 0}
            clients.note(call, "invoke", **columns)
            ended = partial(self._reset, call, columns)
            admin.commit_offset(clients.client.calls, clients.address(call), name, queue, 0, ended)

    def _reset(self, call: ClientCall, columns: dict[str, object], outcome: Outcome) -> None:
        self.clients.over(call, outcome)
        self.clients.note(call, outcome.phase, status=outcome.status, **columns)

    def _check(self, op: str) -> None:
        if not self.name_servers:
            raise UsageError(
                f"{op} needs a name server, from which consumers get broker addresses: set lab.nameServer=1"
            )

    def live(self) -> dict[str, list[Consumer]]:
        found: dict[str, list[Consumer]] = {}
        for (group, _), host in sorted(self.hosts.items()):
            if isinstance(host.node, Consumer) and not host.node.over:
                found.setdefault(group_name(group), []).append(host.node)
        return found

    @property
    def groups(self) -> list[str]:
        """All groups that ever had a consumer."""
        return list(dict.fromkeys(group_name(group) for group, _ in sorted(self.hosts)))

    def stand_at(self, ends: Mapping[MessageQueue, int]) -> bool:
        """Whether each group's consumers, together, have consumed every queue up to its end."""
        for group, members in self.live().items():
            topics = (TOPIC, retry_topic(group))
            broadcasting = int(group[1:]) >= BROADCASTING
            shares = [each.progress for each in members]
            if not broadcasting:
                shares = [{queue: offset for share in shares for queue, offset in share.items()}]
            ours = {queue: end for queue, end in ends.items() if queue.topic in topics}
            if any(share.get(queue, -1) < end for share in shares for queue, end in ours.items()):
                return False
        return True


def key_of(record: Record) -> str | None:
    """The history's name for a message."""
    properties = properties_of(record.message.properties)
    return properties.get("KEYS") or properties.get("UNIQ_KEY")


def group_name(group: int) -> str:
    """A group's name by its number."""
    return f"g{group}"


def _name(queue: MessageQueue) -> str:
    return f"{queue.topic}/{queue.queue_id}"


def _owner(queue: MessageQueue) -> str | None:
    return topology.OTHER if queue.broker_name == OTHER_NAME else None
