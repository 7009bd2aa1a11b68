"""Sends failed messages back to their master, for redelivery through the group's retry topic.

The queue's progress waits for that. A message that could not be sent back (no broker, no answer, a refusal) is given to
the application again after 5 s. After a queue was given up, its next owner gets these messages.

Left out: RocketMQ's first resort after a failed send-back, a copy sent to the retry topic by a producer. Source:
ConsumeMessageConcurrentlyService.processConsumeResult, DefaultMQPushConsumerImpl.sendMessageBack.
"""

from functools import partial

from ..core.calls import Outcome
from ..wire import message_id
from ..wire.bodies_client import MessageQueue
from ..wire.headers import RequestCode
from ..wire.record import Record
from .asking import ask
from .process_queue import ProcessQueue, Shared
from .routes import MASTER_ID
from .settings import SECOND

AGAIN_NS = 5 * SECOND
CALL_NS = 5 * SECOND


class SendingBack:
    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def consume(self, held: ProcessQueue, message: Record, tries: int = 0) -> None:
        """Give a message to the application; ``tries``: its failures so far."""
        fails = self.shared.settings.fails
        level = fails(message, tries) if fails is not None else None
        if level is None:
            held.failed.pop(message.queue_offset, None)
        else:
            held.failed[message.queue_offset] = message, tries + 1
            self._send(held, message, level)

    def retry(self, queue: MessageQueue, offset: int) -> None:
        held = self.shared.held.get(queue)
        if held is not None and offset in held.failed:
            self.consume(held, *held.failed[offset])

    def _send(self, held: ProcessQueue, message: Record, level: int) -> None:
        shared, queue = self.shared, held.queue
        choice = shared.routes.choose(queue.broker_name, MASTER_ID, only_this=True)
        if choice is None:
            shared.routes.refresh_if_old(queue.topic)
            self._later(held, message)
            return
        most, op = shared.settings.max_reconsume_times, shared.next_op()
        values = {
            "offset": message.physical_offset,
            "group": shared.settings.group,
            "delayLevel": level,
            "originMsgId": message_id.encode(message.message.store_host, message.physical_offset),
            "originTopic": message.message.topic,
            "unitMode": False,
            "maxReconsumeTimes": most,
        }
        shared.listener.back_began(op, queue, message, level, most, choice.broker_id, choice.address)
        done = partial(self._ended, held, message, op)
        ask(shared.calls, choice.address, RequestCode.CONSUMER_SEND_MSG_BACK, values, done, timeout_ns=CALL_NS)

    def _ended(self, held: ProcessQueue, message: Record, op: int, outcome: Outcome) -> None:
        self.shared.listener.back_ended(op, outcome)
        if outcome.phase == "ok":
            held.failed.pop(message.queue_offset, None)
        elif self.shared.held.get(held.queue) is held:
            self._later(held, message)

    def _later(self, held: ProcessQueue, message: Record) -> None:
        self.shared.alarms.after(AGAIN_NS, "back", held.queue, message.queue_offset)
