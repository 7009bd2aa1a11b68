"""Requests that make no sense, and bytes that are not a frame, at a trial's end.

Each broker, and a simulated name server, is sent some when the questions about its log are answered.

They must change nothing. :data:`MOST` a node, drawn by the trial's seed. What may be answered, see
``pairproof.harness.rocketmq.invalid_requests``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq.frames import framed, sized
from pairproof.chaos.rocketmq.provision import GROUP, TOPIC

MOST = 3
SHOWN = 120
"""Characters of a remark."""
NOBODYS = "nobody-made-this"
NO_QUEUE = "10000"
NO_CODE = 9_999
_SEND = {
    "producerGroup": GROUP, "topic": TOPIC, "defaultTopic": NOBODYS, "defaultTopicQueueNums": "4", "queueId": "0",
    "sysFlag": "0", "bornTimestamp": "1690000000000", "flag": "0", "reconsumeTimes": "0",
}  # fmt: skip
_SHORT_NAMES = {
    "producerGroup": "a", "topic": "b", "defaultTopic": "c", "defaultTopicQueueNums": "d", "queueId": "e",
    "sysFlag": "f", "bornTimestamp": "g", "flag": "h", "properties": "i", "reconsumeTimes": "j", "batch": "m",
}  # fmt: skip
_PULL = {
    "consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4",
    "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
}  # fmt: skip
_TOPIC = {
    "topic": "TBW102", "defaultTopic": NOBODYS, "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
}  # fmt: skip
_QUERY = {"topic": TOPIC, "key": NOBODYS, "maxNum": "1", "beginTimestamp": "0", "endTimestamp": "1"}
_END = {
    "producerGroup": NOBODYS, "tranStateTableOffset": "0", "commitLogOffset": "-1", "commitOrRollback": "8",
    "fromTransactionCheck": "false", "msgId": "", "transactionId": "",
}  # fmt: skip
_REGISTER = {
    "brokerName": NOBODYS, "brokerAddr": "127.0.0.1:1", "clusterName": NOBODYS, "haServerAddr": "127.0.0.1:2",
    "brokerId": "0", "compressed": "false", "bodyCrc32": "0",
}  # fmt: skip
_ITEM = struct.pack(">iiiii", 29, 0, 0, 0, 7) + b"nobody'" + bytes(2)
"""Size, magic, checksum, flag and length of a body, the body, and no properties."""
_LONGER_ITEM = _ITEM[:16] + struct.pack(">i", 1_007) + _ITEM[20:]
"""Its body claims a thousand bytes more than it has."""
_SUBSCRIBED = (
    b'{"clientID":"nobody","consumerDataSet":[{"groupName":"nobody","subscriptionDataSet":'
    b'[{"topic":"nobody","subString":"*","subVersion":%s}]}]}'
)
_STATE = b'{"counter":1,"timestamp":1}'
_HEADER = b'{"code":11,"extFields":{},"flag":0,"language":"JAVA","opaque":0,"version":1}'
_BINARY_HEADER = struct.pack(">hbhiiii", 11, 0, 1, 0, 0, 0, 6)
"""Up to six bytes of fields."""
_LIMIT = 16 * 1024 * 1024
"""Bytes of a frame, NettyDecoder's."""


class Invalid(NamedTuple):
    """One request, with its fields as they travel."""

    name: str
    code: int
    fields: Mapping[str, str]
    body: bytes = b""
    frame: bytes = b""
    """Sent instead of all that."""


def _frame(name: str, frame: bytes) -> Invalid:
    return Invalid(name, NO_CODE, {}, frame=frame)


def _batch(name: str, body: bytes, **changed: str) -> Invalid:
    send = _short_send(name, {"batch": "true", **changed})
    return send._replace(code=Request.SEND_BATCH_MESSAGE, body=body)


def _registration(name: str, body: bytes, *missing: str, **changed: str) -> Invalid:
    return Invalid(name, Request.REGISTER_BROKER, _changed(_REGISTER, changed, missing), body)


def _compressed(name: str, *parts: bytes) -> Invalid:
    return _registration(name, zlib.compress(b"".join(parts)), compressed="true")


def _send(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    return Invalid(name, Request.SEND_MESSAGE, _changed(_SEND, changed, missing), b"nobody's")


def _short_send(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    fields = _changed(_SEND, changed, missing)
    short = {_SHORT_NAMES[key]: value for key, value in fields.items()}
    return Invalid(name, Request.SEND_MESSAGE_V2, short, b"nobody's")


def _pull(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    return Invalid(name, Request.PULL_MESSAGE, _changed(_PULL, changed, missing))


def _changed(fields: Mapping[str, str], changed: Mapping[str, str], missing: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in {**fields, **changed}.items() if key not in missing}


def _json_frame(name: str, **changed: object) -> Invalid:
    """A question whose header has these values instead of its own."""
    header = {"code": Request.GET_MAX_OFFSET, "extFields": {"topic": TOPIC, "queueId": "0"}, "flag": 0, "opaque": 7,
              "language": "JAVA", "version": 407}  # fmt: skip
    return _frame(name, framed(json.dumps({**header, **changed}).encode()))


def _beat(name: str, body: bytes) -> Invalid:
    return Invalid(name, Request.HEART_BEAT, {}, body)


def _missing(name: str, code: int, fields: Mapping[str, str], *missing: str) -> Invalid:
    return Invalid(name, code, _changed(fields, {}, missing))


_FRAMES = (
    _frame("a frame of one byte more than 16 MiB", struct.pack(">iI", _LIMIT - 3, len(_HEADER)) + _HEADER),
    _frame("a frame whose header is null", framed(b"null")),
    _frame("a frame with something behind its header's end", framed(_HEADER + b" x")),
    _json_frame("a frame whose fields are a list", extFields=[1]),
    _json_frame("a frame whose fields are an empty list", extFields=[]),
    _json_frame("a frame whose fields are a text", extFields="topic"),
    _json_frame("a frame whose code is too large", code=1 << 31),
    _json_frame("a frame whose number is too large", opaque=1 << 31),
    _json_frame("a frame whose number is not one", opaque="seven"),
    _frame("a frame whose header is not JSON", framed(b'{"code":11,')),
    _frame("a frame whose header is a list", framed(b"[11]")),
    _frame("a frame whose header is longer than it is", struct.pack(">iI", 20, 100) + _HEADER[:16]),
    _frame("a frame of more than 16 MiB", struct.pack(">iI", _LIMIT + 1, len(_HEADER)) + _HEADER),
    _frame("a frame of a negative length", struct.pack(">iI", -1, len(_HEADER)) + _HEADER),
    _frame("a frame of an unknown form", framed(_HEADER, form=7)),
    _frame("a frame with a name that is longer than its header", framed(_BINARY_HEADER + b"\0\x32name", form=1)),
)
_OF_BROKERS = (
        Invalid("an unknown code", NO_CODE, {}),
        _send("a send to a topic with a space", {"topic": "nobody made this"}),
        _short_send("a send to the transactions' own topic", {"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}),
        _short_send("a send to a queue that is not there", {"queueId": NO_QUEUE}),
        _send("a send to a topic that nobody made", {"topic": NOBODYS}),
        _short_send("a send that names no topic", {}, "topic"),
        _short_send("a send with 32 KiB of properties", {"properties": "a\x01" + "b" * 0x8000}),
        _pull("a pull of a topic that nobody made", {"topic": NOBODYS}),
        _pull("a pull of a queue that is not there", {"queueId": NO_QUEUE}),
        _pull("a pull that filters by SQL", {"subscription": "a > 1", "expressionType": "SQL92"}),
        _pull("a pull without its queue", {}, "queueId"),
        Invalid("statistics of a topic that nobody made", Request.GET_TOPIC_STATS_INFO, {"topic": NOBODYS}),
        Invalid(
            "members of a group that nobody joined", Request.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": NOBODYS}
        ),
        Invalid("a query without its topic", Request.QUERY_MESSAGE, {"key": NOBODYS, "maxNum": "1"}),
        Invalid("the message before the log", Request.VIEW_MESSAGE_BY_ID, {"offset": "-1"}),
        Invalid(
            "a new topic with a space", Request.UPDATE_AND_CREATE_TOPIC, {**_TOPIC, "topic": "nobody made this"}
        ),
        Invalid("a change of the template of topics", Request.UPDATE_AND_CREATE_TOPIC, _TOPIC),
        Invalid("the template of topics deleted", Request.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"}),
        Invalid("a commit of no transaction", Request.END_TRANSACTION, _END),
        Invalid("a heartbeat that is not JSON", Request.HEART_BEAT, {}, b'{"clientID":'),
        Invalid("a group that is not JSON", Request.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b"[nobody"),
        Invalid(
            "progress without its queue", Request.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": GROUP, "topic": TOPIC, "commitOffset": "0"},
        ),
        Invalid(
            "progress that is not a number", Request.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "commitOffset": "far"},
        ),
        _short_send("a send with a topic of 128 characters", {"topic": "t" * 128}),
        _batch("a batch with a body longer than it is", _LONGER_ITEM),
        _batch("a batch that is delayed", _ITEM, properties="DELAY\x013"),
        _batch("a batch that is half a transaction", _ITEM, sysFlag="4"),
        _pull("a pull of a queue that is not a number", {"queueId": "first"}),
        Invalid("a query for many messages", Request.QUERY_MESSAGE, {**_QUERY, "maxNum": "many"}),
        Invalid("members of no group", Request.GET_CONSUMER_LIST_BY_GROUP, {}),
        Invalid("a time in no queue", Request.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": TOPIC, "timestamp": "0"}),
        Invalid("a topic of an unknown kind", Request.UPDATE_AND_CREATE_TOPIC,
                {**_TOPIC, "topic": NOBODYS, "topicFilterType": "NO_TAG"}),
        Invalid("a topic of unknown size", Request.UPDATE_AND_CREATE_TOPIC,
                _changed(_TOPIC, {"topic": NOBODYS}, ("readQueueNums",))),
        Invalid("the half messages' topic deleted", Request.DELETE_TOPIC_IN_BROKER,
                {"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}),
        Invalid("the end of a transaction at no offset", Request.END_TRANSACTION,
                _changed(_END, {}, ("commitLogOffset",))),
        Invalid("a heartbeat of ten thousand lists", Request.HEART_BEAT, {}, b'{"clientID":' + b"[" * 10_000),
        Invalid("a lock that is not JSON", Request.LOCK_BATCH_MQ, {}, b'{"mqSet":[{"topic"'),
        *_FRAMES,
        _beat("a heartbeat with something behind its end", b'{"clientID":"nobody"} x'),
        _beat("a heartbeat with a number too large", _SUBSCRIBED % b'9223372036854775808'),
        _beat("a heartbeat that is a list", b"[]"),
        _beat("a heartbeat that is empty", b""),
        _beat("a heartbeat that is a text", b'"nobody"'),
        _beat("a heartbeat that is null", b"null"),
        _beat("a heartbeat of no client", b'{"producerDataSet":[{"groupName":"nobody"}]}'),
        _beat("a heartbeat of no group", b'{"clientID":"nobody","producerDataSet":[{}]}'),
        _beat("a heartbeat whose consumers are a number", b'{"clientID":"nobody","consumerDataSet":7}'),
        _beat("a heartbeat that ends early", b'{"clientID":"nobody"'),
        _beat("a heartbeat with a text that does not end", b'{"clientID":"nobody'),
        _beat("a heartbeat with a list without commas", b'{"clientID":"nobody","consumerDataSet":[{} {}]}'),
        _beat("a heartbeat with a version that is a word", _SUBSCRIBED % b'"newest"'),
        _beat("a heartbeat without a colon", b'{"clientID" "nobody"}'),
        _beat("a heartbeat with an unknown escape", b'{"clientID":"\\q"}'),
        _beat("a heartbeat with half an escape", b'{"clientID":"\\u12"}'),
        _pull("a pull of a queue before the first", {"queueId": "-1"}),
        _short_send("a send of no number of a queue", {"queueId": "first"}),
        _short_send("a send to a topic without a name", {"topic": ""}),
        _batch("a batch of none", b""),
        _batch("a batch that ends early", _ITEM[:20]),
        _batch("a batch with something behind its end", _ITEM + b"x"),
        Invalid("the message far behind the log", Request.VIEW_MESSAGE_BY_ID, {"offset": str(1 << 60)}),
        Invalid("a new topic without a name", Request.UPDATE_AND_CREATE_TOPIC, {**_TOPIC, "topic": ""}),
        Invalid("a new topic of 128 characters", Request.UPDATE_AND_CREATE_TOPIC, {**_TOPIC, "topic": "t" * 128}),
        Invalid("the deletion of a topic without a name", Request.DELETE_TOPIC_IN_BROKER, {"topic": ""}),
        _missing("a lock of no body", Request.LOCK_BATCH_MQ, {}),
        Invalid("a lock of a queue that is not a number", Request.LOCK_BATCH_MQ, {},
                b'{"clientId":"nobody","consumerGroup":"nobody","mqSet":[{"topic":"nobody","queueId":"first"}]}'),
        _missing("a query without its end", Request.QUERY_MESSAGE, _QUERY, "endTimestamp"),
        _missing("a commit without its decision", Request.END_TRANSACTION, _END, "commitOrRollback"),
        Invalid("the decision of a transaction at no half message", Request.END_TRANSACTION,
                {**_END, "commitLogOffset": str(1 << 60)}),
        Invalid("a time that is not a number", Request.SEARCH_OFFSET_BY_TIMESTAMP,
                {"topic": TOPIC, "queueId": "0", "timestamp": "now"}),
        Invalid("a queue's number that is too large", Request.GET_MAX_OFFSET,
            {"topic": TOPIC, "queueId": str(1 << 31)}),
        Invalid("a queue's number that is too small", Request.GET_MIN_OFFSET,
                {"topic": TOPIC, "queueId": str(-(1 << 31) - 1)}),
        Invalid("an offset that is too large", Request.VIEW_MESSAGE_BY_ID, {"offset": str(1 << 63)}),
        Invalid("progress that is too large", Request.UPDATE_CONSUMER_OFFSET,
                {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "commitOffset": str(1 << 63)}),
        Invalid("progress of an empty number", Request.UPDATE_CONSUMER_OFFSET,
                {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "", "commitOffset": "0"}),
        Invalid("progress of a number with a point", Request.UPDATE_CONSUMER_OFFSET,
                {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "1.0", "commitOffset": "0"}),
        Invalid("progress of no queue", Request.QUERY_CONSUMER_OFFSET, {"consumerGroup": GROUP, "topic": TOPIC}),
        Invalid("a message sent back from no offset", Request.CONSUMER_SEND_MSG_BACK,
                {"group": GROUP, "delayLevel": "0"}),
        Invalid("an unlock that is not JSON", Request.UNLOCK_BATCH_MQ, {}, b'{"mqSet":[{"topic"'),
        Invalid("connections of a group that nobody joined", Request.GET_CONSUMER_CONNECTION_LIST,
                {"consumerGroup": NOBODYS}),
        Invalid("producers of a group that nobody joined", Request.GET_PRODUCER_CONNECTION_LIST,
                {"producerGroup": NOBODYS}),
        Invalid("the deletion of no group", Request.DELETE_SUBSCRIPTIONGROUP, {}),
        Invalid("where no queue ends", Request.GET_MAX_OFFSET, {"topic": TOPIC}),
        Invalid("where no queue begins", Request.GET_MIN_OFFSET, {"topic": TOPIC}),
        Invalid("since when no queue is", Request.GET_EARLIEST_MSG_STORETIME, {"topic": TOPIC}),
        Invalid("the message at no offset", Request.VIEW_MESSAGE_BY_ID, {}),
)  # fmt: skip
_OF_NAMES = (
    Invalid("a route of a topic that nobody made", Request.GET_ROUTEINFO_BY_TOPIC, {"topic": NOBODYS}),
    Invalid("a route of no topic", Request.GET_ROUTEINFO_BY_TOPIC, {}),
    _registration("a registration with another checksum", b"{}", bodyCrc32="1"),
    _registration("a registration that is not JSON", b'{"topicConfig'),
    _registration("a compressed registration that is not compressed", b"{}", compressed="true"),
    _registration("a compressed registration that ends early", zlib.compress(bytes(400))[:-3], compressed="true"),
    _registration("a compressed registration of zeros", zlib.compress(bytes(400)), compressed="true"),
    _compressed("a compressed registration with half a number", sized(_STATE), bytes(2)),
    _compressed("a compressed registration with a part longer than all", struct.pack(">i", 1_000), _STATE),
    _compressed("a compressed registration with a part of negative length", struct.pack(">i", -2), _STATE),
    _compressed("a compressed registration of fewer topics than it says", sized(_STATE), bytes([0, 0, 0, 2])),
    _compressed("a compressed registration whose state is a list", sized(b"[1]"), bytes(4), sized(b"[]")),
    _registration("a registration whose topics are a number", b'{"topicConfigSerializeWrapper":7}'),
    _registration("a registration of no address", b"{}", "brokerAddr"),
    Invalid("a state of topics that is not JSON", Request.QUERY_DATA_VERSION, _REGISTER, b"new"),
    *_FRAMES,
    Invalid(
        "a broker without an address that leaves", Request.UNREGISTER_BROKER, _changed(_REGISTER, {}, ("brokerAddr",))
    ),
)
REQUESTS = {each.name: each for each in (*_OF_BROKERS, *_OF_NAMES)}
"""Those of ``pairproof.harness.rocketmq.invalid_requests``."""
OF_BROKERS, OF_NAMES = tuple(each.name for each in _OF_BROKERS), tuple(each.name for each in _OF_NAMES)


def chosen(seed: str, node: str, names: Sequence[str] = OF_BROKERS) -> list[Invalid]:
    """What this node is sent at the end of this trial, of these."""
    return [REQUESTS[each] for each in Random(f"{seed}/invalid/{node}").sample(names, MOST)]


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, sent: Invalid, status: str, remark: str | None
) -> None:
    """Record an answer."""
    add(now, "invalid", node, incarnation, f=sent.name, status=status, detail=remark[:SHOWN] if remark else None)
