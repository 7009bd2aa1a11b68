"""Invalid requests, and bytes that are not frames, each with the codes that may refuse it.

A row has a name, the request's code, the difference from a valid request (:data:`VALID`), and the refusing codes.
Measured on 4.9.7 and 5.5.0, master and slave. Several codes are allowed if they mean the same to a client: nothing
happened, and a retry is useless. A slave that accepts no messages may answer that first.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .conversations.asks import READERS, shortened, sized
from .conversations.steps import Ask

_ERROR = frozenset({"SYSTEM_ERROR", "INVALID_PARAMETER"})
"""5.x answers with the second where 4.9 has no better code than the first."""
_ILLEGAL = frozenset({"MESSAGE_ILLEGAL"})
_CLOSED = frozenset({"CLOSED"})
"""A broken frame has neither a request nor a number for an answer: the connection ends."""
_NO_TOPIC = frozenset({"TOPIC_NOT_EXIST"})
_SLAVE = frozenset({"SERVICE_NOT_AVAILABLE"})
"""To any send."""
_UNKNOWN = frozenset({"TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST"})
"""For a broker without the trial's own topic or group: a slave that has just started, or has an empty disk."""
_SENDS = _ERROR | _SLAVE
_NAMES = _SENDS | _ILLEGAL
_BATCHES = _NAMES | _UNKNOWN
_READS = _ERROR | _UNKNOWN
_ENDS = _ERROR | {"SLAVE_NOT_AVAILABLE"}

TOPIC = GROUP = READERS
NOBODYS = "nobody-made-this"
_NO_QUEUE = "10000"
_SEND = f"""producerGroup={GROUP} topic={TOPIC} defaultTopic={NOBODYS} defaultTopicQueueNums=4 queueId=0 sysFlag=0
    bornTimestamp=1690000000000 flag=0 reconsumeTimes=0"""
_BROKER = f"brokerName={NOBODYS} brokerAddr=127.0.0.1:1 clusterName={NOBODYS} brokerId=0"
_QUEUE = f"topic={TOPIC} queueId=0"
_VALID = {
    "SEND_MESSAGE": _SEND,
    "SEND_MESSAGE_V2": _SEND,
    "SEND_BATCH_MESSAGE": f"{_SEND} batch=true",
    "PULL_MESSAGE": f"""consumerGroup={GROUP} {_QUEUE} queueOffset=0 maxMsgNums=1 sysFlag=4 commitOffset=0
        suspendTimeoutMillis=0 subVersion=0 subscription=*""",
    "QUERY_MESSAGE": f"topic={TOPIC} key={NOBODYS} maxNum=1 beginTimestamp=0 endTimestamp=1",
    "QUERY_CONSUMER_OFFSET": f"consumerGroup={GROUP} {_QUEUE}",
    "UPDATE_CONSUMER_OFFSET": f"consumerGroup={GROUP} {_QUEUE} commitOffset=0",
    "UPDATE_AND_CREATE_TOPIC": f"""topic=TBW102 defaultTopic={NOBODYS} readQueueNums=1 writeQueueNums=1 perm=6
        topicFilterType=SINGLE_TAG topicSysFlag=0 order=false""",
    "SEARCH_OFFSET_BY_TIMESTAMP": f"{_QUEUE} timestamp=0",
    "GET_MAX_OFFSET": _QUEUE,
    "GET_MIN_OFFSET": _QUEUE,
    "GET_EARLIEST_MSG_STORETIME": _QUEUE,
    "VIEW_MESSAGE_BY_ID": "offset=0",
    "CONSUMER_SEND_MSG_BACK": f"group={GROUP} delayLevel=0 offset=0",
    "END_TRANSACTION": f"""producerGroup={NOBODYS} tranStateTableOffset=0 commitLogOffset=-1 commitOrRollback=8
        fromTransactionCheck=false msgId= transactionId=""",
    "GET_CONSUMER_LIST_BY_GROUP": f"consumerGroup={NOBODYS}",
    "GET_CONSUMER_CONNECTION_LIST": f"consumerGroup={NOBODYS}",
    "GET_PRODUCER_CONNECTION_LIST": f"producerGroup={NOBODYS}",
    "GET_TOPIC_STATS_INFO": f"topic={NOBODYS}",
    "DELETE_TOPIC_IN_BROKER": "topic=TBW102",
    "DELETE_SUBSCRIPTIONGROUP": f"groupName={NOBODYS}",
    "GET_CONSUME_STATS": f"consumerGroup={NOBODYS}",
    "QUERY_TOPIC_CONSUME_BY_WHO": f"topic={NOBODYS}",
    "UNREGISTER_CLIENT": f"clientID={NOBODYS}",
    "REGISTER_BROKER": f"{_BROKER} haServerAddr=127.0.0.1:2 compressed=false bodyCrc32=0",
    "UNREGISTER_BROKER": _BROKER,
    "QUERY_DATA_VERSION": _BROKER,
    "GET_ROUTEINFO_BY_TOPIC": f"topic={NOBODYS}",
}
VALID: Mapping[str, Mapping[str, str]] = {
    code: {name: value for name, _, value in (word.partition("=") for word in text.split())}
    for code, text in _VALID.items()
}
"""By code: fields of a request that is valid except for its unknown object. A code without fields is absent."""
OPTIONAL = frozenset({
    "reconsumeTimes", "batch", "subscription", "topicSysFlag", "fromTransactionCheck", "transactionId", "compressed",
    "bodyCrc32",
})  # fmt: skip
NO_NUMBERS = ("first", "", "1.0", str(1 << 63))
"""Values that no numeric field accepts."""


class Invalid(NamedTuple):
    name: str
    asks: Ask
    refused: frozenset[str] = _ERROR
    frame: bytes = b""
    """Sent instead of the request."""


def _row(
    name: str, code: str, refused: frozenset[str] = _ERROR, body: bytes | None = None, without: str = "",
    changed: Mapping[str, str] = {}, **more: str,
) -> Invalid:  # fmt: skip
    fields = {
        key: value for key, value in {**VALID.get(code, {}), **changed, **more}.items() if key not in without.split()
    }
    if code in ("SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"):
        fields = shortened(fields)
    if body is None:
        body = b"nobody's" if code.startswith("SEND_") else b""
    return Invalid(name, Ask(code, fields, body), refused)


# Bytes that are not a frame.

_HEADER = b'{"code":11,"extFields":{},"flag":0,"language":"JAVA","opaque":0,"version":1}'
_BINARY_HEADER = struct.pack(">hbhiiii", 11, 0, 1, 0, 0, 0, 6)
"""Up to six bytes of fields."""
_LIMIT = 16 * 1024 * 1024
"""Bytes of a frame, from NettyDecoder."""


def _framed(header: bytes, form: int = 0) -> bytes:
    return struct.pack(">iI", 4 + len(header), form << 24 | len(header)) + header


def _json_frame(**changed: object) -> bytes:
    """A question whose header has these values in place of valid ones."""
    header = {"code": 30, "extFields": {"topic": TOPIC, "queueId": "0"}, "flag": 0, "opaque": 7, "language": "JAVA",
              "version": 407}  # fmt: skip
    return _framed(json.dumps({**header, **changed}).encode())


_FRAMES = tuple(Invalid(f"a frame {what}", Ask(""), _CLOSED, frame) for what, frame in {
    "of one byte more than 16 MiB": struct.pack(">iI", _LIMIT - 3, len(_HEADER)) + _HEADER,
    "whose header is null": _framed(b"null"),
    "with something behind its header's end": _framed(_HEADER + b" x"),
    "whose fields are a list": _json_frame(extFields=[1]),
    "whose fields are an empty list": _json_frame(extFields=[]),
    "whose fields are a text": _json_frame(extFields="topic"),
    "whose code is too large": _json_frame(code=1 << 31),
    "whose number is too large": _json_frame(opaque=1 << 31),
    "whose number is not one": _json_frame(opaque="seven"),
    "whose header is not JSON": _framed(b'{"code":11,'),
    "whose header is a list": _framed(b"[11]"),
    "whose header is longer than it is": struct.pack(">iI", 20, 100) + _HEADER[:16],
    "of more than 16 MiB": struct.pack(">iI", _LIMIT + 1, len(_HEADER)) + _HEADER,
    "of a negative length": struct.pack(">iI", -1, len(_HEADER)) + _HEADER,
    "of an unknown form": _framed(_HEADER, form=7),
    "with a name that is longer than its header": _framed(_BINARY_HEADER + b"\0\x32name", form=1),
}.items())  # fmt: skip

# Brokers.

_ITEM = struct.pack(">iiiii", 29, 0, 0, 0, 7) + b"nobody'" + bytes(2)
"""Size, magic, checksum, flag and length of a body, the body, and no properties."""
_LONGER_ITEM = _ITEM[:16] + struct.pack(">i", 1_007) + _ITEM[20:]
"""Its body claims a thousand bytes more than it has."""
_SUBSCRIBED = (
    '{"clientID":"nobody","consumerDataSet":[{"groupName":"nobody","subscriptionDataSet":'
    '[{"topic":"nobody","subString":"*","subVersion":%s}]}]}'
)
_NO_NUMBER = b'{"clientId":"nobody","consumerGroup":"nobody","mqSet":[{"topic":"nobody","queueId":"first"}]}'
_BEATS = tuple(_row(f"a heartbeat {what}", "HEART_BEAT", body=body.encode()) for what, body in {
    "with something behind its end": '{"clientID":"nobody"} x',
    "with a number too large": _SUBSCRIBED % "9223372036854775808",
    "that is a list": "[]",
    "that is empty": "",
    "that is a text": '"nobody"',
    "that is null": "null",
    "of no client": '{"producerDataSet":[{"groupName":"nobody"}]}',
    "of no group": '{"clientID":"nobody","producerDataSet":[{}]}',
    "whose consumers are a number": '{"clientID":"nobody","consumerDataSet":7}',
    "that ends early": '{"clientID":"nobody"',
    "with a text that does not end": '{"clientID":"nobody',
    "with a list without commas": '{"clientID":"nobody","consumerDataSet":[{} {}]}',
    "with a version that is a word": _SUBSCRIBED % '"newest"',
    "without a colon": '{"clientID" "nobody"}',
    "with an unknown escape": '{"clientID":"\\q"}',
    "with half an escape": '{"clientID":"\\u12"}',
}.items())  # fmt: skip
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
FAR, MOST_INT, MOST_LONG = str(1 << 60), (1 << 31) - 1, (1 << 63) - 1
OF_BROKERS = (
    _row("an unknown code", "9999", frozenset({"REQUEST_CODE_NOT_SUPPORTED"})),
    _row("a send to a topic with a space", "SEND_MESSAGE", _NAMES, topic="nobody made this"),
    _row("a send to the transactions' own topic", "SEND_MESSAGE_V2", _SENDS | {"NO_PERMISSION"}, topic=HALF_TOPIC),
    _row("a send to a queue that is not there", "SEND_MESSAGE_V2", _SENDS | _UNKNOWN, queueId=_NO_QUEUE),
    _row("a send to a topic that nobody made", "SEND_MESSAGE", _NO_TOPIC | _SLAVE, topic=NOBODYS),
    _row("a send that names no topic", "SEND_MESSAGE_V2", _SENDS, without="topic"),
    _row("a send with 32 KiB of properties", "SEND_MESSAGE_V2", _ILLEGAL | _SLAVE | _UNKNOWN,
         properties="a\x01" + "b" * 0x8000),
    _row("a pull of a topic that nobody made", "PULL_MESSAGE", _UNKNOWN, topic=NOBODYS),
    _row("a pull of a queue that is not there", "PULL_MESSAGE", _READS, queueId=_NO_QUEUE),
    _row("a pull that filters by SQL", "PULL_MESSAGE", _READS | {"SUBSCRIPTION_PARSE_FAILED"}, subscription="a > 1",
         expressionType="SQL92"),
    _row("a pull without its queue", "PULL_MESSAGE", _READS, without="queueId"),
    _row("statistics of a topic that nobody made", "GET_TOPIC_STATS_INFO", _NO_TOPIC),
    _row("members of a group that nobody joined", "GET_CONSUMER_LIST_BY_GROUP"),
    _row("a query without its topic", "QUERY_MESSAGE", without="topic beginTimestamp endTimestamp"),
    _row("the message before the log", "VIEW_MESSAGE_BY_ID", offset="-1"),
    _row("a new topic with a space", "UPDATE_AND_CREATE_TOPIC", topic="nobody made this"),
    _row("a change of the template of topics", "UPDATE_AND_CREATE_TOPIC"),
    _row("the template of topics deleted", "DELETE_TOPIC_IN_BROKER"),
    _row("a commit of no transaction", "END_TRANSACTION", _ENDS),
    _row("a heartbeat that is not JSON", "HEART_BEAT", body=b'{"clientID":'),
    _row("a group that is not JSON", "UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", body=b"[nobody"),
    _row("progress without its queue", "UPDATE_CONSUMER_OFFSET", _READS, without="queueId"),
    _row("progress that is not a number", "UPDATE_CONSUMER_OFFSET", _READS, commitOffset="far"),
    _row("a send with a topic of 128 characters", "SEND_MESSAGE_V2", _NAMES, topic="t" * 128),
    _row("a batch with a body longer than it is", "SEND_BATCH_MESSAGE", _BATCHES, _LONGER_ITEM),
    _row("a batch that is delayed", "SEND_BATCH_MESSAGE", _ILLEGAL | _SLAVE | _UNKNOWN, _ITEM, properties="DELAY\x013"),
    _row("a batch that is half a transaction", "SEND_BATCH_MESSAGE", _ILLEGAL | _SLAVE | _UNKNOWN, _ITEM, sysFlag="4"),
    _row("a pull of a queue that is not a number", "PULL_MESSAGE", _READS, queueId="first"),
    _row("a query for many messages", "QUERY_MESSAGE", maxNum="many"),
    _row("members of no group", "GET_CONSUMER_LIST_BY_GROUP", without="consumerGroup"),
    _row("a time in no queue", "SEARCH_OFFSET_BY_TIMESTAMP", _READS, without="queueId"),
    _row("a topic of an unknown kind", "UPDATE_AND_CREATE_TOPIC", topic=NOBODYS, topicFilterType="NO_TAG"),
    _row("a topic of unknown size", "UPDATE_AND_CREATE_TOPIC", topic=NOBODYS, without="readQueueNums"),
    _row("the half messages' topic deleted", "DELETE_TOPIC_IN_BROKER", topic=HALF_TOPIC),
    _row("the end of a transaction at no offset", "END_TRANSACTION", _ENDS, without="commitLogOffset"),
    _row("a heartbeat of ten thousand lists", "HEART_BEAT", body=b'{"clientID":' + b"[" * 10_000),
    _row("a lock that is not JSON", "LOCK_BATCH_MQ", body=b'{"mqSet":[{"topic"'),
    *_FRAMES,
    *_BEATS,
    _row("a pull of a queue before the first", "PULL_MESSAGE", _READS, queueId="-1"),
    _row("a send of no number of a queue", "SEND_MESSAGE_V2", _SENDS, queueId="first"),
    _row("a send to a topic without a name", "SEND_MESSAGE_V2", _NAMES, topic=""),
    _row("a batch of none", "SEND_BATCH_MESSAGE", _BATCHES, b""),
    _row("a batch that ends early", "SEND_BATCH_MESSAGE", _BATCHES, _ITEM[:20]),
    _row("a batch with something behind its end", "SEND_BATCH_MESSAGE", _BATCHES, _ITEM + b"x"),
    _row("the message far behind the log", "VIEW_MESSAGE_BY_ID", offset=FAR),
    _row("a new topic without a name", "UPDATE_AND_CREATE_TOPIC", topic=""),
    _row("a new topic of 128 characters", "UPDATE_AND_CREATE_TOPIC", topic="t" * 128),
    _row("the deletion of a topic without a name", "DELETE_TOPIC_IN_BROKER", topic=""),
    _row("a lock of no body", "LOCK_BATCH_MQ"),
    _row("a lock of a queue that is not a number", "LOCK_BATCH_MQ", body=_NO_NUMBER),
    _row("a query without its end", "QUERY_MESSAGE", without="endTimestamp"),
    _row("a commit without its decision", "END_TRANSACTION", _ENDS, without="commitOrRollback"),
    _row("the decision of a transaction at no half message", "END_TRANSACTION", _ENDS, commitLogOffset=FAR),
    _row("a time that is not a number", "SEARCH_OFFSET_BY_TIMESTAMP", timestamp="now"),
    _row("a queue's number that is too large", "GET_MAX_OFFSET", queueId=str(MOST_INT + 1)),
    _row("a queue's number that is too small", "GET_MIN_OFFSET", queueId=str(-MOST_INT - 2)),
    _row("an offset that is too large", "VIEW_MESSAGE_BY_ID", offset=str(MOST_LONG + 1)),
    _row("progress that is too large", "UPDATE_CONSUMER_OFFSET", _READS, commitOffset=str(MOST_LONG + 1)),
    _row("progress of an empty number", "UPDATE_CONSUMER_OFFSET", _READS, queueId=""),
    _row("progress of a number with a point", "UPDATE_CONSUMER_OFFSET", _READS, queueId="1.0"),
    _row("progress of no queue", "QUERY_CONSUMER_OFFSET", _READS, without="queueId"),
    _row("a message sent back from no offset", "CONSUMER_SEND_MSG_BACK", without="offset"),
    _row("an unlock that is not JSON", "UNLOCK_BATCH_MQ", body=b'{"mqSet":[{"topic"'),
    _row("connections of a group that nobody joined", "GET_CONSUMER_CONNECTION_LIST",
         frozenset({"CONSUMER_NOT_ONLINE"})),
    _row("producers of a group that nobody joined", "GET_PRODUCER_CONNECTION_LIST"),
    _row("the deletion of no group", "DELETE_SUBSCRIPTIONGROUP", without="groupName"),
    _row("where no queue ends", "GET_MAX_OFFSET", _READS, without="queueId"),
    _row("where no queue begins", "GET_MIN_OFFSET", _READS, without="queueId"),
    _row("since when no queue is", "GET_EARLIEST_MSG_STORETIME", _READS, without="queueId"),
    _row("the message at no offset", "VIEW_MESSAGE_BY_ID", without="offset"),
)  # fmt: skip

# Name servers.

_STATE = b'{"counter":1,"timestamp":1}'


def _registration(what: str, body: bytes, without: str = "", crc: str = "0") -> Invalid:
    return _row(f"a registration {what}", "REGISTER_BROKER", body=body, without=without, bodyCrc32=crc)


def _compressed(what: str, body: bytes) -> Invalid:
    return _row(f"a compressed registration {what}", "REGISTER_BROKER", body=body, compressed="true")


OF_NAMES = (
    _row("a route of a topic that nobody made", "GET_ROUTEINFO_BY_TOPIC", _NO_TOPIC),
    _row("a route of no topic", "GET_ROUTEINFO_BY_TOPIC", without="topic"),
    _registration("with another checksum", b"{}", crc="1"),
    _registration("that is not JSON", b'{"topicConfig'),
    _compressed("that is not compressed", b"{}"),
    _compressed("that ends early", zlib.compress(bytes(400))[:-3]),
    _compressed("of zeros", zlib.compress(bytes(400))),
    _compressed("with half a number", zlib.compress(sized(_STATE) + bytes(2))),
    _compressed("with a part longer than all", zlib.compress(struct.pack(">i", 1_000) + _STATE)),
    _compressed("with a part of negative length", zlib.compress(struct.pack(">i", -2) + _STATE)),
    _compressed("of fewer topics than it says", zlib.compress(sized(_STATE) + bytes([0, 0, 0, 2]))),
    _compressed("whose state is a list", zlib.compress(sized(b"[1]") + bytes(4) + sized(b"[]"))),
    _registration("whose topics are a number", b'{"topicConfigSerializeWrapper":7}'),
    _registration("of no address", b"{}", without="brokerAddr"),
    _row("a state of topics that is not JSON", "QUERY_DATA_VERSION", body=b"new"),
    *_FRAMES,
    _row("a broker without an address that leaves", "UNREGISTER_BROKER", without="brokerAddr"),
)


# One wrong field, by the fields of valid requests.

_TAKEN = {
    "SEND_MESSAGE": "producerGroup defaultTopic defaultTopicQueueNums reconsumeTimes",
    "SEND_MESSAGE_V2": "producerGroup defaultTopic defaultTopicQueueNums reconsumeTimes",
    "PULL_MESSAGE": "commitOffset suspendTimeoutMillis subVersion",
    "QUERY_MESSAGE": "topic key",
    "QUERY_CONSUMER_OFFSET": "consumerGroup topic",
    "UPDATE_CONSUMER_OFFSET": "consumerGroup topic",
    "UNREGISTER_CLIENT": "clientID",
    "GET_CONSUME_STATS": "consumerGroup",
    "QUERY_TOPIC_CONSUME_BY_WHO": "topic",
}
"""Fields that 4.9.7 and 5.5.0 ignore: only the reference checks them."""
_REFUSED = {
    **dict.fromkeys(("SEND_MESSAGE", "SEND_MESSAGE_V2", "SEND_BATCH_MESSAGE"), _BATCHES),
    **dict.fromkeys(("PULL_MESSAGE", "UPDATE_CONSUMER_OFFSET"), _READS),
    "END_TRANSACTION": _ENDS,
}


def _illegal(codes: Iterable[str], taken: bool = False) -> Iterator[Invalid]:
    """For each field of these requests: without it if it is required, and with invalid numbers if it is numeric.

    ``taken``: the fields in which RocketMQ accepts that; otherwise all others.
    """
    for code in codes:
        for field, value in VALID[code].items():
            if (field in _TAKEN.get(code, "").split()) is not taken:
                continue
            refused = _REFUSED.get(code, _ERROR)
            if field not in OPTIONAL:
                yield _row(f"{code} without {field}", code, refused, without=field)
            if value.removeprefix("-").isdecimal():
                for text in NO_NUMBERS:
                    yield _row(f"{code} with {field} {text or 'empty'}", code, refused, changed={field: text})


_TO_NAMES = ("REGISTER_BROKER", "UNREGISTER_BROKER", "QUERY_DATA_VERSION", "GET_ROUTEINFO_BY_TOPIC")
_TO_BROKERS = tuple(code for code in VALID if code not in _TO_NAMES)
ILLEGAL_FOR_BROKERS = tuple(_illegal(_TO_BROKERS))
ILLEGAL_FOR_REFERENCE = (
    *ILLEGAL_FOR_BROKERS,
    *_illegal(_TO_BROKERS, taken=True),
    _row("progress of a queue before the first", "UPDATE_CONSUMER_OFFSET", _READS, queueId="-1"),
    _row("progress of a queue that no topic can have", "UPDATE_CONSUMER_OFFSET", _READS, queueId=_NO_QUEUE),
    _row("progress of a topic with a space", "UPDATE_CONSUMER_OFFSET", _READS, topic="nobody made this"),
    _row("a pull of more than 1,000 tags", "PULL_MESSAGE", _READS, subscription="||".join(["t"] * 1_001)),
)
ILLEGAL_FOR_NAMES = (
    *_illegal(_TO_NAMES),
    _compressed("with something behind its end", zlib.compress(sized(_STATE) + bytes(4) + sized(b"[]") + b"x")),
)
REQUESTS: Mapping[str, Invalid] = {
    each.name: each for each in (*OF_BROKERS, *OF_NAMES, *ILLEGAL_FOR_REFERENCE, *ILLEGAL_FOR_NAMES)
}
