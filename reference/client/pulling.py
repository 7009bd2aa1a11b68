"""Long-polls a consumer's queues, one pull per queue at a time.

A pull goes to the configured broker id (``connect_broker_by_user``), or else to the one that the queue's last answer
suggested, initially 0; see :func:`pairproof.reference.client.routes.choose`. Without any broker of the name the route
is refreshed once; then the queue pauses 3 s. A pull from a master carries the group's progress unless it is 0.

The messages of an answer are consumed at once and in order, so at most one answer (16 MiB) is held. Messages with other
tags are skipped: brokers filter only by the tags' hash. The next pull follows at once, but at least 20 ms after one
without progress. An illegal offset (21) freezes the queue for 10 s; then its progress is set to the broker's proposal,
and the queue is given up, to be assigned again. After any other answer the route is refreshed, every 3 s at most, and
the queue pauses 3 s; a pull fails after 30 s. Source: PullAPIWrapper, DefaultMQPushConsumerImpl.pullMessage, where only
failures delay a pull.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from ..core.calls import Outcome
from ..errors import CodecError
from ..wire import headers, remoting
from ..wire.bodies_client import MessageQueue
from ..wire.headers import RequestCode
from ..wire.record import Record
from ..wire.remoting import Command
from .asking import messages, unreadable
from .process_queue import ProcessQueue, Shared
from .routes import MASTER_ID, Choice
from .sending_back import SendingBack
from .settings import SECOND
from .subscription import Subscriptions

COMMIT_FLAG = 0x1
SUSPEND_FLAG = 0x2
SUBSCRIPTION_FLAG = 0x4
SUSPEND_MS = 15_000
PULL_TIMEOUT_NS = 30 * SECOND
RETRY_NS = 3 * SECOND
REST_NS = SECOND // 50
FROZEN_NS = 10 * SECOND
PULLED = (
    remoting.SUCCESS,
    remoting.PULL_NOT_FOUND,
    remoting.PULL_RETRY_IMMEDIATELY,
    remoting.PULL_OFFSET_MOVED,
)


class _Pull(NamedTuple):
    held: ProcessQueue
    op: int
    commit: int | None
    began: int


@dataclass(eq=False)
class Pulling:
    """The pulls of one consumer. ``corrected``: the queue's progress was corrected, and it must be assigned again."""

    shared: Shared
    subscriptions: Subscriptions
    sending_back: SendingBack
    corrected: Callable[[ProcessQueue], None]
    suggested: dict[MessageQueue, int] = field(default_factory=dict)

    def wanted(self, queue: MessageQueue) -> int:
        """The broker id for the next pull: RocketMQ's recalculatePullFromWhichNode."""
        settings = self.shared.settings
        return settings.default_broker_id if settings.connect_broker_by_user else self.suggested.get(queue, MASTER_ID)

    def choice(self, queue: MessageQueue) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, self.wanted(queue))

    def carries(self, held: ProcessQueue, choice: Choice) -> bool:
        return not choice.is_slave and held.progress > 0 and not self.shared.settings.broadcasting

    def wants(self, message: Record) -> bool:
        return self.subscriptions.wants(message.message.topic, message)

    def start(self, held: ProcessQueue, refreshed: bool = False) -> None:
        """Pull until the queue is given up. ``refreshed``: its route has just been requested."""
        shared, queue = self.shared, held.queue
        if shared.held.get(queue) is not held or held.frozen:
            return
        if not shared.holds(held):
            # The lock's next renewal may succeed.
            self._later(held)
            return
        choice = self.choice(queue)
        if choice is not None:
            self._pull(held, choice)
        elif refreshed:
            self._later(held)
        else:
            shared.routes.refresh(queue.topic, partial(self.start, held, True))

    def resume(self, queue: MessageQueue) -> None:
        held = self.shared.held.get(queue)
        if held is not None:
            self.start(held)

    def thaw(self, queue: MessageQueue) -> None:
        held = self.shared.held.get(queue)
        if held is not None:
            self.corrected(held)

    def given_up(self, queue: MessageQueue) -> None:
        """Cancel the queue's wake-ups."""
        self.shared.alarms.cancel("pull", queue)
        self.shared.alarms.cancel("thaw", queue)

    def _later(self, held: ProcessQueue) -> None:
        self.shared.alarms.after(RETRY_NS, "pull", held.queue)

    def _pull(self, held: ProcessQueue, choice: Choice) -> None:
        shared, queue = self.shared, held.queue
        carries = self.carries(held, choice)
        subscription = self.subscriptions[queue.topic]
        values = {
            "consumerGroup": shared.settings.group,
            "topic": queue.topic,
            "queueId": queue.queue_id,
            "queueOffset": held.next_offset,
            "maxMsgNums": shared.settings.pull_batch_size,
            "sysFlag": SUSPEND_FLAG | SUBSCRIPTION_FLAG | (COMMIT_FLAG if carries else 0),
            "commitOffset": held.progress,
            "suspendTimeoutMillis": SUSPEND_MS,
            "subVersion": subscription.sub_version,
            "subscription": subscription.sub_string,
            "expressionType": subscription.expression_type,
        }
        commit = None
        if carries:
            commit = shared.next_op()
            shared.listener.commit_began(commit, queue, held.progress, choice.broker_id, choice.address, True)
        pull = _Pull(held, shared.next_op(), commit, shared.io.now())
        shared.listener.pull_began(pull.op, queue, held.next_offset, choice.broker_id, choice.address)
        fields = headers.encode_request(RequestCode.PULL_MESSAGE, values)
        ended = partial(self._ended, pull)
        shared.calls.call(choice.address, RequestCode.PULL_MESSAGE, fields, b"", ended, PULL_TIMEOUT_NS)

    def _ended(self, pull: _Pull, outcome: Outcome) -> None:
        shared, held = self.shared, pull.held
        header: Mapping[str, Any] | None = None
        found: list[tuple[Record, bytes]] = []
        if outcome.phase == "ok" and outcome.answer is not None:
            try:
                header, found = _read(outcome.answer)
            except CodecError:
                outcome = unreadable(outcome)
        if header is not None:
            self.suggested[held.queue] = header["suggestWhichBrokerId"]
        consumes = header is not None and shared.holds(held)
        if header is not None:
            for message, raw in found:
                self._consume(pull, message, raw, header["nextBeginOffset"])
        shared.listener.pull_ended(pull.op, outcome, header)
        if pull.commit is not None:
            shared.listener.commit_ended(pull.commit, outcome)
        if shared.held.get(held.queue) is not held or held.frozen:
            return
        if header is None or outcome.answer is None:
            shared.routes.refresh_if_old(held.queue.topic)
            self._later(held)
        elif consumes:
            self._go_on(pull, outcome.answer.code, header["nextBeginOffset"])
        else:
            self._later(held)

    def _consume(self, pull: _Pull, message: Record, raw: bytes, next_offset: int) -> None:
        held = pull.held
        if not self.shared.holds(held):
            return
        if self.wants(message):
            self.shared.listener.delivered(pull.op, held.queue, message, raw)
            self.sending_back.consume(held, message)
        # Progress never passes the broker's next offset, whatever a record contains.
        held.consumed = max(held.consumed, min(message.queue_offset + 1, next_offset))

    def _go_on(self, pull: _Pull, code: int, offset: int) -> None:
        held, now = pull.held, self.shared.io.now()
        moved = offset > held.next_offset
        held.next_offset = offset
        if code == remoting.PULL_OFFSET_MOVED:
            held.frozen = True
            self.shared.alarms.at(now + FROZEN_NS, "thaw", held.queue)
            return
        held.consumed = max(held.consumed, offset)
        at = pull.began + REST_NS
        if moved or at <= now:
            self.start(held)
        else:
            self.shared.alarms.at(at, "pull", held.queue)


def _read(answer: Command) -> tuple[Mapping[str, Any], list[tuple[Record, bytes]]]:
    """The header, and the messages with their bytes. CodecError unless it answers a pull."""
    if answer.code not in PULLED:
        raise CodecError(f"code {answer.code} is not an answer to a pull")
    header = headers.decode_response(RequestCode.PULL_MESSAGE, answer)
    return header, messages(answer.body)
