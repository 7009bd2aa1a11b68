"""Bodies between clients and brokers: heartbeats, group members, queue locks, statistics, message batches.

JSON bodies go through :mod:`pairproof.reference.wire.beans`; a batch (320) has its own format. Enumerations are Java's
names. Source: HeartbeatData, ConsumerData, SubscriptionData, LockBatchRequestBody, LockBatchResponseBody,
GetConsumerListByGroupResponseBody, TopicStatsTable, ConsumeStats, ConsumerConnection, MessageDecoder.encodeMessages.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from ..errors import CodecError


class ProducerData(NamedTuple):
    group_name: str


class SubscriptionData(NamedTuple):
    topic: str
    sub_string: str = "*"
    tags_set: tuple[str, ...] = ()
    code_set: tuple[int, ...] = ()
    """Java's hashes of the tags."""
    sub_version: int = 0
    """Milliseconds since the epoch; a group's newest subscription wins."""
    expression_type: str = "TAG"
    class_filter_mode: bool = False


class ConsumerData(NamedTuple):
    group_name: str
    consume_type: str = "CONSUME_PASSIVELY"
    """CONSUME_PASSIVELY is a push consumer, CONSUME_ACTIVELY a pull consumer."""
    message_model: str = "CLUSTERING"
    consume_from_where: str = "CONSUME_FROM_LAST_OFFSET"
    subscription_data_set: tuple[SubscriptionData, ...] = ()
    unit_mode: bool = False


class HeartbeatData(NamedTuple):
    """HEART_BEAT (34)."""

    client_id: str
    producer_data_set: tuple[ProducerData, ...] = ()
    consumer_data_set: tuple[ConsumerData, ...] = ()


class ConsumerList(NamedTuple):
    """GET_CONSUMER_LIST_BY_GROUP (38)."""

    consumer_id_list: tuple[str, ...] = ()


class MessageQueue(NamedTuple):
    topic: str
    broker_name: str
    queue_id: int


class LockBatchRequest(NamedTuple):
    """LOCK_BATCH_MQ (41) and UNLOCK_BATCH_MQ (42)."""

    consumer_group: str
    client_id: str
    mq_set: tuple[MessageQueue, ...] = ()


class LockBatchResponse(NamedTuple):
    """The answer to LOCK_BATCH_MQ (41): the queues that the client holds now."""

    lock_ok_mq_set: tuple[MessageQueue, ...] = ()


class TopicOffset(NamedTuple):
    """A queue's logical range, ``max_offset`` excluded."""

    min_offset: int
    max_offset: int
    last_update_timestamp: int
    """Store time of the last message, in ms since the epoch; 0 without one."""


class TopicStatsTable(NamedTuple):
    """GET_TOPIC_STATS_INFO (202)."""

    offset_table: dict[MessageQueue, TopicOffset]


class OffsetWrapper(NamedTuple):
    broker_offset: int
    consumer_offset: int
    last_timestamp: int
    """Store time of the last consumed message, in ms since the epoch; 0 without one."""


class ConsumeStats(NamedTuple):
    """GET_CONSUME_STATS (208)."""

    offset_table: dict[MessageQueue, OffsetWrapper]
    consume_tps: float = 0.0


class Connection(NamedTuple):
    client_id: str
    client_addr: str
    language: str = "OTHER"
    version: int = 0


class ProducerConnection(NamedTuple):
    """GET_PRODUCER_CONNECTION_LIST (204)."""

    connection_set: tuple[Connection, ...] = ()


class ConsumerConnection(NamedTuple):
    """GET_CONSUMER_CONNECTION_LIST (203)."""

    connection_set: tuple[Connection, ...]
    subscription_table: dict[str, SubscriptionData]
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None


class BatchItem(NamedTuple):
    """One message of SEND_BATCH_MESSAGE (320)."""

    body: bytes
    properties: bytes = b""
    """In the format of :func:`properties.properties_to`."""
    flag: int = 0


_ITEM_HEAD = Struct(">iiiii")
_SHORT = Struct(">h")
_ITEM_SIZE = _ITEM_HEAD.size + _SHORT.size


def encode_batch(items: Iterable[BatchItem]) -> bytes:
    """The items one after the other: size, magic 0, CRC 0, flag, body and properties with their lengths."""
    parts = []
    try:
        for body, properties, flag in items:
            size = _ITEM_SIZE + len(body) + len(properties)
            parts += [_ITEM_HEAD.pack(size, 0, 0, flag, len(body)), body, _SHORT.pack(len(properties)), properties]
    except StructError as why:
        raise CodecError("message of a batch does not fit: its flag, or the length of a part") from why
    return b"".join(parts)


def decode_batch(data: bytes) -> list[BatchItem]:
    """The items; magic and CRC are ignored. CodecError for inconsistent lengths."""
    items, at = [], 0
    while at < len(data):
        left = len(data) - at
        if left < _ITEM_SIZE:
            raise CodecError(f"batch has {left} bytes left at {at}: too few for a message")
        size, _, _, flag, body_size = _ITEM_HEAD.unpack_from(data, at)
        body_at = at + _ITEM_HEAD.size
        properties_at = body_at + body_size + _SHORT.size
        end = at + size
        if body_size < 0 or end > len(data) or properties_at > end:
            raise CodecError(f"message at {at} of a batch of {len(data)} bytes claims {size}, its body {body_size}")
        (properties_size,) = _SHORT.unpack_from(data, properties_at - _SHORT.size)
        if properties_size < 0 or properties_at + properties_size != end:
            raise CodecError(f"message at {at} of a batch has {size} bytes, its properties claim {properties_size}")
        items.append(BatchItem(data[body_at : body_at + body_size], data[properties_at:end], flag))
        at = end
    return items
