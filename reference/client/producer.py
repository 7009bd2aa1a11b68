"""A producer, sans-IO: chooses queues, sends, retries failures elsewhere.

A send without a queue uses the topic's queues in turn. A failed try is retried at once, up to ``retries`` times within
the send's timeout, at another broker name if the topic has one. Failures are unsendable requests, lost connections, and
the codes that DefaultMQProducer retries. A stored message is never sent again, whatever the answer reports about slaves
or disk; a lost connection may lead to a message stored twice. A send with a queue is tried once, and so is a one-way
send, which requests no answer. Without a route, or without a writable queue in it, the route is refreshed first, once.

Masters get a heartbeat every 30 s. Left out: creating topics by sending (the default topic), compression, splitting of
batches, transactions, the latency-based choice of brokers. Source: DefaultMQProducerImpl, TopicPublishInfo,
SelectMessageQueueByHash, MQFaultStrategy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ..core.calls import Outcome
from ..errors import CodecError
from ..ports import MS, Effects
from ..wire import headers, remoting
from ..wire.bodies_client import BatchItem, HeartbeatData, MessageQueue, ProducerData, encode_batch
from ..wire.bodies_route import TopicRouteData
from ..wire.headers import RequestCode
from ..wire.properties import java_hash, properties_to
from ..wire.remoting import Command
from .asking import unreadable
from .instance import ClientInstance
from .routes import MASTER_ID
from .settings import ProducerSettings

__all__ = ["Outgoing", "Producer", "ProducerSettings", "Sent"]

MAX_TOPICS = 1_000
MAX_SENDING = 10_000
RETRIED_CODES = frozenset(
    {
        remoting.TOPIC_NOT_EXIST,
        remoting.SERVICE_NOT_AVAILABLE,
        remoting.SYSTEM_ERROR,
        remoting.NO_PERMISSION,
    }
)
UNKNOWN_ERROR = "UNKNOWN_ERROR"
"""The remark of a broker that stored a message but gave up waiting for it."""
ONE_WAY = "one-way"


class Outgoing(NamedTuple):
    """A message to send. Property DELAY carries a delay level, WAIT=false requests no wait."""

    topic: str
    body: bytes
    properties: Mapping[str, str] = {}
    flag: int = 0
    sys_flag: int = 0


class Sent(NamedTuple):
    """How a send ended. ``phase``: ok (stored), fail (certainly not stored), info (unknown)."""

    phase: str
    status: str
    """If ok: PUT_OK, FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE; else why the last try failed."""
    tries: int
    queue: MessageQueue | None
    queue_offset: int | None
    message_id: str
    """``msgId`` of the answer: several of a batch, joined by commas; empty if not ok."""
    answer: Command | None


Done = Callable[[Sent], None]
OnTry = Callable[[Outgoing, MessageQueue, Outcome | None], None]
"""Called when a try begins (None), and with its outcome."""


@dataclass(slots=True, eq=False)
class _Send:
    """A send in flight. ``tries`` so far; ``unknown``: one of them may have stored the message."""

    message: Outgoing
    done: Done
    code: int
    deadline: int
    tries_left: int
    queue: MessageQueue | None
    order_key: str | None
    oneway: bool = False
    tries: int = 0
    last: MessageQueue | None = None
    unknown: bool = False


class Producer(ClientInstance):
    """A node: see :class:`pairproof.reference.ports.Node`.

    Timer keys are ``("producer", ...)`` and ``("call", ...)``. ``on_route`` is called for every answer of a name
    server. ConfigError for invalid settings.
    """

    kind = "producer"
    only_masters = True

    def __init__(
        self,
        io: Effects,
        settings: ProducerSettings,
        on_route: Callable[[str, TopicRouteData | None], None] | None = None,
        on_try: OnTry | None = None,
    ) -> None:
        settings.check()
        super().__init__(io, settings.name_servers)
        self.settings = settings
        self.on_route = on_route
        self.on_try = on_try
        self._topics: dict[str, None] = {}
        self._turn = 0
        self._sending = 0
        self._waiting: dict[_Send, None] = {}

    def send(
        self, message: Outgoing, done: Done, queue: MessageQueue | None = None, order_key: str | None = None
    ) -> None:
        """Send one message. With ``queue``, or the fixed queue of ``order_key``: one try. Otherwise to the topic's
        queues in turn, with ``settings.retries`` more tries, each at another broker name if there is one.

        CodecError if the properties cannot be encoded.
        """
        self._begin(message, RequestCode.SEND_MESSAGE_V2, done, queue, order_key)

    def send_batch(self, topic: str, items: Sequence[BatchItem], done: Done, queue: MessageQueue | None = None) -> None:
        self._begin(Outgoing(topic, encode_batch(items)), RequestCode.SEND_BATCH_MESSAGE, done, queue, None)

    def send_oneway(self, message: Outgoing, done: Done, queue: MessageQueue | None = None) -> None:
        """Send one message without an answer: ``info`` once it is sent; otherwise as :meth:`send`."""
        self._begin(message, RequestCode.SEND_MESSAGE_V2, done, queue, None, oneway=True)

    def _begin(
        self, message: Outgoing, code: int, done: Done, queue: MessageQueue | None, order_key: str | None,
        oneway: bool = False,
    ) -> None:  # fmt: skip
        properties_to(message.properties)
        if self.over or self._sending >= MAX_SENDING or not self._tracks(message.topic):
            status = "closed" if self.over else "too many sends or topics"
            done(Sent("fail", status, 0, None, None, "", None))
            return
        self._sending += 1
        deadline = self.io.now() + self.settings.send_timeout_ms * MS
        tries = 1 if queue is not None or order_key is not None or oneway else 1 + self.settings.retries
        self._try(_Send(message, done, code, deadline, tries, queue, order_key, oneway))

    def _tracks(self, topic: str) -> bool:
        """Whether the topic's route is kept up to date; starts that if the limit allows."""
        if topic in self._topics or len(self._topics) < MAX_TOPICS:
            self._topics[topic] = None
        return topic in self._topics

    def _try(self, send: _Send, refreshed: bool = False) -> None:
        left = send.deadline - self.io.now()
        queue = send.queue or self._pick(send)
        address = self._master(queue)
        if left <= 0:
            self._end(send, "timeout", None)
        elif queue is not None and address is not None:
            send.last = queue
            send.tries += 1
            send.tries_left -= 1
            self._report(send, None)
            self._ask(send, queue, address, left)
        elif refreshed or self.over:
            self._end(send, "no route", None)
        else:
            self._waiting[send] = None
            self.routes.refresh(send.message.topic, partial(self._routed, send))

    def _ask(self, send: _Send, queue: MessageQueue, address: str, left: int) -> None:
        message = send.message
        fields = self._fields(message, queue, send.code == RequestCode.SEND_BATCH_MESSAGE)
        if send.oneway:
            self.calls.send_oneway(address, send.code, fields, message.body)
            self._tried(send, Outcome("info", ONE_WAY, None))
        else:
            self.calls.call(address, send.code, fields, message.body, partial(self._tried, send), left)

    def _report(self, send: _Send, outcome: Outcome | None) -> None:
        if self.on_try is not None and send.last is not None:
            self.on_try(send.message, send.last, outcome)

    def _routed(self, send: _Send) -> None:
        del self._waiting[send]
        self._try(send, True)

    def _tried(self, send: _Send, outcome: Outcome) -> None:
        phase, status, answer = outcome
        self._report(send, outcome)
        if phase == "ok":
            self._stored(send, outcome)
            return
        stored = answer is not None and UNKNOWN_ERROR in (answer.remark or "")
        send.unknown = send.unknown or phase == "info" or stored
        retried = answer is None or answer.code in RETRIED_CODES
        if retried and send.tries_left and not self.over:
            self._try(send)
        else:
            self._end(send, status, answer)

    def _stored(self, send: _Send, outcome: Outcome) -> None:
        phase, status, answer = outcome
        assert answer is not None
        try:
            if answer.code not in remoting.SEND_STATUS:
                raise CodecError(f"code {answer.code} is not an answer to a send")
            header = headers.decode_response(send.code, answer)
        except CodecError:
            send.unknown = True
            self._end(send, unreadable(outcome).status, answer)
            return
        self._sending -= 1
        send.done(Sent(phase, status, send.tries, send.last, header["queueOffset"], header["msgId"], answer))

    def _end(self, send: _Send, status: str, answer: Command | None) -> None:
        self._sending -= 1
        phase = "info" if send.unknown else "fail"
        send.done(Sent(phase, status, send.tries, send.last, None, "", answer))

    def _pick(self, send: _Send) -> MessageQueue | None:
        topic, key = send.message.topic, send.order_key
        if key is None:
            return self._next_queue(topic, send.last.broker_name if send.last else None)
        queues = self.routes.writable(topic)
        return queues[abs(java_hash(key)) % len(queues)] if queues else None

    def _next_queue(self, topic: str, avoid: str | None) -> MessageQueue | None:
        """The next queue in turn, of another broker name than ``avoid`` if possible."""
        queues = self.routes.writable(topic)
        for _ in queues:
            chosen = self._in_turn(queues)
            if chosen.broker_name != avoid:
                return chosen
        # No other broker name has the topic: take the queue after the failed one.
        return self._in_turn(queues) if queues else None

    def _in_turn(self, queues: Sequence[MessageQueue]) -> MessageQueue:
        self._turn += 1
        return queues[(self._turn - 1) % len(queues)]

    def _master(self, queue: MessageQueue | None) -> str | None:
        choice = self.routes.choose(queue.broker_name, MASTER_ID, only_this=True) if queue is not None else None
        return choice.address if choice is not None else None

    def _fields(self, message: Outgoing, queue: MessageQueue, batch: bool) -> dict[str, str]:
        values = {
            "producerGroup": self.settings.group,
            "topic": message.topic,
            "defaultTopic": "TBW102",
            "defaultTopicQueueNums": 4,
            "queueId": queue.queue_id,
            "sysFlag": message.sys_flag,
            "bornTimestamp": self.io.wall_ms(),
            "flag": message.flag,
            "properties": properties_to(message.properties).decode(),
            "reconsumeTimes": 0,
            "unitMode": False,
            "batch": batch,
        }
        return headers.encode_request(RequestCode.SEND_MESSAGE_V2, values)

    def on_stop(self) -> None:
        values = {"clientID": self.settings.client_id, "producerGroup": self.settings.group}
        fields = headers.encode_request(RequestCode.UNREGISTER_CLIENT, values)
        for address in self.routes.addresses(masters_only=True) if not self.over else ():
            if address in self.calls.lines:
                self.calls.send_oneway(address, RequestCode.UNREGISTER_CLIENT, fields)
        super().on_stop()

    def close(self) -> None:
        super().close()
        waiting, self._waiting = self._waiting, {}
        for send in waiting:
            self._end(send, "closed", None)

    def topics(self) -> Iterable[str]:
        return list(self._topics)

    def heartbeat(self) -> HeartbeatData:
        return HeartbeatData(self.settings.client_id, producer_data_set=(ProducerData(self.settings.group),))

    def learned(self, topic: str, route: TopicRouteData | None) -> None:
        if self.on_route is not None:
            self.on_route(topic, route)
