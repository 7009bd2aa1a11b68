"""Sends: SEND_MESSAGE (10), SEND_MESSAGE_V2 (310) and SEND_BATCH_MESSAGE (320).

A message is checked, given its topic (created from the client's template if needed), its queue and the stored
properties, then put; the answer waits as the broker's role and flush type require. Delayed messages go to the queue of
their level, half messages to the half topic, and messages with too many retries to the group's dead letters.

Where this differs from RocketMQ, on purpose: a slave refuses before any effect, so it creates no topic. Left out: trace
topics, reply messages, the page cache's limits. Source: SendMessageProcessor, AbstractSendMessageProcessor.msgCheck,
TopicValidator, CommitLog.asyncPutMessage.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from ...errors import CodecError, StoreFull
from ...wire import message_id, remoting
from ...wire.bodies import READ, WRITE, TopicConfig
from ...wire.bodies_client import decode_batch
from ...wire.headers import RequestCode
from ...wire.properties import properties_of, properties_to
from ...wire.record import Message
from .. import topics
from ..config import packed_ipv4
from ..delay import SCHEDULE_TOPIC, level_of, queue_of_level
from ..parts import Parts
from ..requests import Refused, Request
from ..store import Stored
from ..topics import dead_letter_topic
from .transactions import half_message, is_half

RETRY = "%RETRY%"
DEAD_LETTER_QUEUES = 1
MAX_BATCH = 10_000
FORBIDDEN = "this broker takes no sends (brokerPermission)"
STATUS_FIELDS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": True}
_TRANSACTION = 0xC


class Sending:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        config = parts.config
        self.store_host = config.store_host
        self._cluster = f"CLUSTER\x01{config.brokerClusterName}"
        self._turn = 0

    def refuses_role(self) -> bool:
        return self.parts.config.is_slave

    def queue_for(self, topic: TopicConfig, wanted: int) -> int:
        """The queue of a send; a negative ``wanted`` leaves the choice to the broker."""
        if wanted >= max(topic.read_queue_nums, topic.write_queue_nums):
            raise Refused(
                remoting.SYSTEM_ERROR, f"request queueId[{wanted}] is illegal: {topic.topic_name} has "
                f"{topic.write_queue_nums} queues for writing",
            )  # fmt: skip
        if wanted >= 0:
            return wanted
        self._turn += 1
        return self._turn % max(1, topic.write_queue_nums)

    def answer(self, request: Request, ids: list[str], queue_id: int, queue_offset: int, status: str) -> None:
        values = {"msgId": ",".join(ids), "queueId": queue_id, "queueOffset": queue_offset, **STATUS_FIELDS}
        request.answer(remoting.CODE_OF_STATUS[status], values)

    def on_send(self, request: Request) -> None:
        if self.refuses_role():
            raise Refused(remoting.SERVICE_NOT_AVAILABLE, "a slave takes no messages")
        header = request.header
        try:
            topic = self._topic(header)
            queue_id = self.queue_for(topic, header["queueId"])
            batch = header.get("batch", False) or request.command.code == RequestCode.SEND_BATCH_MESSAGE
            messages = (self._batch if batch else self._single)(request, topic.topic_name, queue_id)
            stored, wait = self._put(messages), _waits(header.get("properties", ""))
        except StoreFull:
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "the disk is full")
        except CodecError as why:
            request.refuse(remoting.MESSAGE_ILLEGAL, str(why))
        else:
            ids = [message_id.encode(self.store_host, each.lo) for each in stored]
            answer = partial(self.answer, request.kept(), ids, queue_id, stored[0].queue_offset)
            self.parts.puts.settle(stored[-1].hi, wait, answer, self.parts.peers.when_through)

    def _put(self, messages: list[Message]) -> list[Stored]:
        puts = self.parts.puts
        return puts.put_batch(messages) if len(messages) > 1 else [puts.put(messages[0])]

    def _topic(self, header: Mapping[str, Any]) -> TopicConfig:
        name = header["topic"]
        if not topics.NAME.fullmatch(name):
            raise Refused(
                remoting.MESSAGE_ILLEGAL, "the topic is longer than 127 or has other characters than %|a-zA-Z0-9_-"
            )
        if name in topics.NO_SENDS:
            raise Refused(remoting.NO_PERMISSION, f"{name} is a system topic")
        table = self.parts.topics
        known = table.get(name)
        # Only of ordered topics: the route has no queue here for others, and clients send those elsewhere.
        if known is not None and known.order and not self.parts.config.brokerPermission & WRITE:
            raise Refused(remoting.NO_PERMISSION, FORBIDDEN)
        found = table.for_send(name, header["defaultTopic"], header["defaultTopicQueueNums"])
        if found is None and name.startswith(RETRY):
            found = table.ensure(name, 1, WRITE | READ)
        if found is None:
            raise Refused(remoting.TOPIC_NOT_EXIST, f"topic[{name}] not exist, and no template to make it from: "
                                                    "create it first")  # fmt: skip
        return found

    def _single(self, request: Request, topic: str, queue_id: int) -> list[Message]:
        header = request.header
        given = header.get("properties", "")
        message = self._message(request, topic, queue_id, request.command.body, given, header["flag"])
        if topic.startswith(RETRY):
            message = self._dead_letter(header, message)
        if is_half(message):
            return [half_message(message)]
        return [self._delayed(message)]

    def _batch(self, request: Request, topic: str, queue_id: int) -> list[Message]:
        items = decode_batch(request.command.body)
        if not 0 < len(items) <= MAX_BATCH:
            raise CodecError(f"a batch of {len(items)} messages: from 1 to {MAX_BATCH} are allowed")
        common = request.header.get("properties", "")
        found = []
        for body, properties, flag in items:
            # Properties of the batch apply to each message.
            given = "\x02".join(part for part in (properties.decode("utf-8", "replace"), common) if part)
            message = self._message(request, topic, queue_id, body, given, flag)
            if is_half(message) or level_of(properties_of(message.properties), self.parts.store.delays_ms):
                raise CodecError("a batch can neither be delayed nor part of a transaction")
            found.append(message)
        return found

    def _message(self, request: Request, topic: str, queue_id: int, body: bytes, given: str, flag: int) -> Message:
        header = request.header
        address, port = self.parts.io.address(request.conn)
        # As 4.9 stores them: without WAIT, which concerns only this broker, and with the cluster's name.
        stored = [each for each in given.split("\x02") if each and not each.startswith(("WAIT\x01", "CLUSTER\x01"))]
        return Message(
            topic=topic,
            queue_id=queue_id,
            body=body,
            properties="\x02".join([*stored, self._cluster]).encode("utf-8", "replace"),
            flag=flag,
            sys_flag=header["sysFlag"],
            born_ms=header["bornTimestamp"],
            born_host=(packed_ipv4(address), port),
            store_host=self.store_host,
            reconsume_times=header.get("reconsumeTimes", 0),
        )

    def _delayed(self, message: Message) -> Message:
        if b"DELAY\x01" not in message.properties or message.sys_flag & _TRANSACTION in (0x4, 0xC):
            return message
        properties = properties_of(message.properties)
        level = level_of(properties, self.parts.store.delays_ms)
        if level <= 0:
            return message
        properties |= {"DELAY": str(level), "REAL_TOPIC": message.topic, "REAL_QID": str(message.queue_id)}
        return message._replace(
            topic=SCHEDULE_TOPIC, queue_id=queue_of_level(level), properties=properties_to(properties)
        )

    def _dead_letter(self, header: Mapping[str, Any], message: Message) -> Message:
        group = self.parts.groups.find(message.topic[len(RETRY) :])
        if group is None:
            raise Refused(remoting.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {message.topic}")
        most = header.get("maxReconsumeTimes", group.retry_max_times)
        if message.reconsume_times < most:
            return message
        name = dead_letter_topic(group.group_name)
        if self.parts.topics.ensure(name, DEAD_LETTER_QUEUES, WRITE) is None:
            raise Refused(remoting.SYSTEM_ERROR, f"{name} cannot be made")
        properties = {key: value for key, value in properties_of(message.properties).items() if key != "DELAY"}
        return message._replace(topic=name, queue_id=0, properties=properties_to(properties))


def _waits(properties: str) -> bool:
    """Whether a send waits for durability: unless its property WAIT is anything but true."""
    for each in properties.split("\x02"):
        if each.startswith("WAIT\x01"):
            return each[5:].lower() == "true"
    return True
