"""CONSUMER_SEND_MSG_BACK (36): a message that a consumer failed to handle is redelivered to its group.

It is put into the group's retry topic, delayed by its level (0: three levels more than its retries), or into the
group's dead letters after too many retries or for a negative level. A slave refuses. Where this differs from RocketMQ,
on purpose: a slave creates no retry topic, and an existing retry topic gets more queues when its group does (RocketMQ
leaves it as it is, and stores messages in queues that no consumer reads). Source:
AbstractSendMessageProcessor.consumerSendMsgBack.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...errors import CodecError, StoreFull
from ...wire import message_id, remoting
from ...wire.bodies import READ, WRITE, SubscriptionGroupConfig
from ...wire.properties import properties_of, properties_to
from ...wire.record import Message, Record
from ..delay import SCHEDULE_TOPIC, queue_of_level
from ..parts import Parts
from ..requests import Refused, Request
from ..topics import dead_letter_topic, retry_topic
from .sending import FORBIDDEN

FIRST_RETRY_LEVEL = 3
DEAD_LETTER_QUEUES = 1


class SendBack:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.store_host = parts.config.store_host

    def on_send_back(self, request: Request) -> None:
        header = request.header
        if self.parts.config.is_slave:
            raise Refused(remoting.SYSTEM_ERROR, "SERVICE_NOT_AVAILABLE: a slave takes no messages")
        group = self.parts.groups.find(header["group"])
        if group is None:
            raise Refused(remoting.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {header['group']}")
        if self._forbids():
            raise Refused(remoting.NO_PERMISSION, FORBIDDEN)
        if group.retry_queue_nums <= 0:
            request.answer()
            return
        found = self.parts.store.record_at(header["offset"])
        if found is None:
            raise Refused(remoting.SYSTEM_ERROR, f"look message by offset failed, {header['offset']}")
        try:
            message = self._again(header, group, found)
            stored = self.parts.puts.put(message)
        except StoreFull:
            raise Refused(remoting.SYSTEM_ERROR, "the disk is full") from None
        self.parts.puts.settle(stored.hi, True, partial(self._answer, request.kept()))

    def _forbids(self) -> bool:
        return not self.parts.config.brokerPermission & WRITE

    def _answer(self, request: Request, status: str) -> None:
        if status == "PUT_OK" or status == "SLAVE_NOT_AVAILABLE":
            request.answer()
        else:
            request.refuse(remoting.SYSTEM_ERROR, status)

    def _again(self, header: Mapping[str, Any], group: SubscriptionGroupConfig, found: Record) -> Message:
        message = found.message
        properties = properties_of(message.properties)
        properties.setdefault("RETRY_TOPIC", message.topic)
        properties["WAIT"] = "false"
        origin = message_id.encode(message.store_host, found.physical_offset)
        properties.setdefault("ORIGIN_MESSAGE_ID", origin)
        retries, level = message.reconsume_times, header["delayLevel"]
        most = header.get("maxReconsumeTimes", group.retry_max_times)
        if retries >= most or level < 0:
            topic, queues, perm, level = dead_letter_topic(group.group_name), DEAD_LETTER_QUEUES, WRITE, 0
        else:
            topic, queues, perm = retry_topic(group.group_name), group.retry_queue_nums, READ | WRITE
            level = min(level or FIRST_RETRY_LEVEL + retries, len(self.parts.store.delays_ms))
        if self.parts.topics.ensure(topic, queues, perm) is None:
            raise CodecError(f"topic[{topic}] not exist, and there is no room for one more")
        # By default a group's retries have one queue; with more of them, the message's own queue spreads the load.
        queue_id = message.queue_id % queues
        if level > 0:
            properties |= {"DELAY": str(level), "REAL_TOPIC": topic, "REAL_QID": str(queue_id)}
            topic, queue_id = SCHEDULE_TOPIC, queue_of_level(level)
        return message._replace(
            topic=topic, queue_id=queue_id, properties=properties_to(properties), store_host=self.store_host,
            reconsume_times=retries + 1,
        )  # fmt: skip
