"""Messages that the application could not handle: sent back to their master, to come again by the group's retry topic.

The progress of the queue waits for that. What was not sent back, because nobody could be asked, or answered, or the
master refused, is given to the application once more after 5 s. A queue that was given up meanwhile is its next
owner's, who gets these messages again.

Left out: what RocketMQ does first where a send-back fails, which is to send a copy to the retry topic by a producer.
Source: ConsumeMessageConcurrentlyService.processConsumeResult, DefaultMQPushConsumerImpl.sendMessageBack.
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
    """Of one consumer."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def consume(self, held: ProcessQueue, message: Record, tries: int = 0) -> None:
        """Give the application a message of a queue that the consumer has; ``tries``: how often it has failed."""
        fails = self.shared.settings.fails
        level = fails(message, tries) if fails is not None else None
        if level is None:
            held.failed.pop(message.queue_offset, None)
        else:
            held.failed[message.queue_offset] = message, tries + 1
            self._send(held, message, level)

    def again(self, queue: MessageQueue, offset: int) -> None:
        """The time of a message that was not sent back has come."""
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
