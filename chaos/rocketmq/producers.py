"""The producers of a trial that look up routes, choose queues and retry: each a process on its own machine.

Their send is a call ``produce`` in the history, from the application's request to its result; the start and end of each
attempt are recorded as well. Producers with an even number have RocketMQ's limit of 3 s for all attempts of a send
together, the others the trial's own, which is long enough for waiting sends. The retries are RocketMQ's two.

Left out: batches; an end: producers run as long as the trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from ...harness.errors import UsageError
from ...harness.rocketmq import topology
from ...harness.rocketmq.operations.produce import ONE_WAY, ORDER, QUEUE
from ...harness.rocketmq.operations.scope import SMALL
from ...harness.texts.content import content
from ...reference.client.producer import Outgoing, Producer, ProducerSettings, Sent
from ...reference.client.routes import MASTER_ID
from ...reference.core.calls import Outcome
from ...reference.wire.bodies_client import MessageQueue
from . import calls_listener
from .clients import Call, Clients, filled
from .context import Machine
from .provision import TOPIC

USUAL_TIMEOUT_MS = 3_000
RETRIES = 2
ANY = -1


class Producers:
    """Implements CanProduce; without ``name_servers`` there can be no producer. ``machine`` makes their machines by
    name, ``timeout_ms`` is the trial's limit of a send, ``master`` the pair's broker name.
    """

    def __init__(
        self, clients: Clients, machine: Callable[[str], Machine], build: type[Producer],
        name_servers: tuple[str, ...], timeout_ms: int, master: str,
    ) -> None:  # fmt: skip
        self.clients = clients
        self.machine = machine
        self.build = build
        self.name_servers = name_servers
        self.timeout_ms = timeout_ms
        self.master = master
        self.hosts: dict[int, Machine] = {}
        self.calls: dict[str, Call] = {}

    def produce(self, producer: int, how: str, wait: bool, queue: int) -> None:
        host = self._host(producer)
        key, flag, tags = self.clients.new_message()
        body = filled(key, SMALL)
        tries = 1 if how in (ONE_WAY, ORDER, QUEUE) else 1 + RETRIES
        said = content(body, tags, flag, how=how, producer=producer, tries=tries, within=self._within_ms(producer))
        number = queue if how == QUEUE else ANY
        call = self.clients.invoke(
            f"sender-{producer}", "produce", topology.MASTER, key, f"{TOPIC}/{number}", int(wait), said
        )
        self.calls[key] = call
        properties = {"KEYS": key, **({} if wait else {"WAIT": "false"}), **({"TAGS": tags} if tags else {})}
        host.call(self._begin, host.node, Outgoing(TOPIC, body, properties, flag), how, queue)

    def _begin(self, producer: Producer, message: Outgoing, how: str, queue: int) -> None:
        done = partial(self._ended, message.properties["KEYS"])
        if how == ONE_WAY:
            producer.send_oneway(message, done)
        elif how == QUEUE:
            producer.send(message, done, MessageQueue(TOPIC, self.master, queue))
        else:
            producer.send(message, done, order_key=f"order-{queue}" if how == ORDER else None)

    def _within_ms(self, producer: int) -> int:
        return self.timeout_ms if producer % 2 else USUAL_TIMEOUT_MS

    def _host(self, producer: int) -> Machine:
        """Its machine; starts the producer if needed."""
        if not self.name_servers:
            raise UsageError("produce needs a name server, which has the topic's route: set lab.nameServer=1")
        host = self.hosts.get(producer)
        if host is None:
            host = self.hosts[producer] = self.machine(f"producer-{producer}")
        if host.node is None:
            settings = ProducerSettings(
                f"p{producer}", "pairproof", self.name_servers, RETRIES, self._within_ms(producer)
            )
            machine, process = host, self.clients.new_process()
            host.start(lambda: self._made(machine, settings, process))
        return host

    def _made(self, machine: Machine, settings: ProducerSettings, process: int) -> Producer:
        producer = self.build(machine.io, settings, None, partial(self._tried, machine))
        context = self.clients.context

        def note(kind: str, node: str, **columns: object) -> None:
            self.clients.add(context.now(), kind, node, process=process, **columns)

        calls_listener.listen(producer, note, context.node_at)
        return producer

    def _ended(self, key: str, sent: Sent) -> None:
        self.clients.sent(self.calls.pop(key), Outcome(sent.phase, sent.status, sent.answer))

    def _tried(self, machine: Machine, message: Outgoing, queue: MessageQueue, outcome: Outcome | None) -> None:
        key = message.properties["KEYS"]
        if outcome is None:
            producer = machine.node
            assert isinstance(producer, Producer)
            master = producer.routes.brokers[queue.broker_name][MASTER_ID]
            node, place = self.clients.context.node_at(master), f"{queue.topic}/{queue.queue_id}"
            self.calls[key] = self.calls[key]._replace(node=node, queue=place)
            phase, status, remark = "began", None, _known(producer, message.topic)
        else:
            phase, status = outcome.phase, outcome.status
            remark = outcome.answer.remark or "" if outcome.answer is not None else ""
        self.clients.note(self.calls[key], "try", f=phase, status=status, detail=remark or None)


def _known(producer: Producer, topic: str) -> str:
    queues = producer.routes.writable(topic)
    return json.dumps({"names": len({each.broker_name for each in queues}), "queues": len(queues)})
