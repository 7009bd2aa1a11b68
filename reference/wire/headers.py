"""The typed header of every request and response: a table of fields, types and required fields.

All fields travel as text. Decoding checks that required fields exist and numbers are in range; a bool is read like
Java's ``Boolean.parseBoolean``. Unknown fields are ignored. SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE travel with
one-letter names, and have the long ones here. Source: the ``*RequestHeader`` and ``*ResponseHeader`` classes of
org.apache.rocketmq.common.protocol.header, RequestCode.
"""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from ..errors import CodecError
from .remoting import (
    FLUSH_DISK_TIMEOUT,
    FLUSH_SLAVE_TIMEOUT,
    PULL_NOT_FOUND,
    PULL_OFFSET_MOVED,
    PULL_RETRY_IMMEDIATELY,
    QUERY_NOT_FOUND,
    SLAVE_NOT_AVAILABLE,
    SUCCESS,
    Command,
)


class RequestCode(IntEnum):
    SEND_MESSAGE = 10
    PULL_MESSAGE = 11
    QUERY_MESSAGE = 12
    QUERY_CONSUMER_OFFSET = 14
    UPDATE_CONSUMER_OFFSET = 15
    UPDATE_AND_CREATE_TOPIC = 17
    GET_ALL_TOPIC_CONFIG = 21
    UPDATE_BROKER_CONFIG = 25
    GET_BROKER_CONFIG = 26
    GET_BROKER_RUNTIME_INFO = 28
    SEARCH_OFFSET_BY_TIMESTAMP = 29
    GET_MAX_OFFSET = 30
    GET_MIN_OFFSET = 31
    GET_EARLIEST_MSG_STORETIME = 32
    VIEW_MESSAGE_BY_ID = 33
    HEART_BEAT = 34
    UNREGISTER_CLIENT = 35
    CONSUMER_SEND_MSG_BACK = 36
    END_TRANSACTION = 37
    GET_CONSUMER_LIST_BY_GROUP = 38
    NOTIFY_CONSUMER_IDS_CHANGED = 40
    LOCK_BATCH_MQ = 41
    UNLOCK_BATCH_MQ = 42
    GET_ALL_CONSUMER_OFFSET = 43
    GET_ALL_DELAY_OFFSET = 45
    REGISTER_BROKER = 103
    UNREGISTER_BROKER = 104
    GET_ROUTEINFO_BY_TOPIC = 105
    GET_BROKER_CLUSTER_INFO = 106
    UPDATE_AND_CREATE_SUBSCRIPTIONGROUP = 200
    GET_ALL_SUBSCRIPTIONGROUP_CONFIG = 201
    GET_TOPIC_STATS_INFO = 202
    GET_CONSUMER_CONNECTION_LIST = 203
    GET_PRODUCER_CONNECTION_LIST = 204
    GET_ALL_TOPIC_LIST_FROM_NAMESERVER = 206
    DELETE_SUBSCRIPTIONGROUP = 207
    GET_CONSUME_STATS = 208
    DELETE_TOPIC_IN_BROKER = 215
    QUERY_TOPIC_CONSUME_BY_WHO = 300
    SEND_MESSAGE_V2 = 310
    SEND_BATCH_MESSAGE = 320
    QUERY_DATA_VERSION = 322


class Field(NamedTuple):
    name: str
    kind: str
    """One of text, int (32 bits), long (64 bits) and bool."""
    required: bool


class Row(NamedTuple):
    """The header of a request, and that of its answers with one of the ``carriers`` codes."""

    request: tuple[Field, ...]
    response: tuple[Field, ...]
    carriers: tuple[int, ...]
    """The response codes with the required fields; any other may omit them."""


def _row(request: str = "", response: str = "", carriers: tuple[int, ...] = (SUCCESS,)) -> Row:
    return Row(_fields(request), _fields(response), carriers)


def _fields(spec: str) -> tuple[Field, ...]:
    found = []
    for word in spec.split():
        name, _, kind = word.rstrip("?").partition(":")
        found.append(Field(name, kind or "text", not word.endswith("?")))
    return tuple(found)


_SEND = """producerGroup topic defaultTopic defaultTopicQueueNums:int queueId:int sysFlag:int bornTimestamp:long
    flag:int properties? reconsumeTimes:int? unitMode:bool? maxReconsumeTimes:int? batch:bool?"""
_SENT = "msgId queueId:int queueOffset:long transactionId? MSG_REGION? TRACE_ON:bool?"
_STORED = (SUCCESS, FLUSH_DISK_TIMEOUT, SLAVE_NOT_AVAILABLE, FLUSH_SLAVE_TIMEOUT)
_PULL = """consumerGroup topic queueId:int queueOffset:long maxMsgNums:int sysFlag:int commitOffset:long
    suspendTimeoutMillis:long subVersion:long subscription? expressionType?"""
_PULLED = "suggestWhichBrokerId:long nextBeginOffset:long minOffset:long maxOffset:long"
_PULLS = (SUCCESS, PULL_NOT_FOUND, PULL_RETRY_IMMEDIATELY, PULL_OFFSET_MOVED)
_BROKER = "brokerName brokerAddr clusterName brokerId:long"
_QUERIED = "indexLastUpdateTimestamp:long indexLastUpdatePhyoffset:long"
_TOPIC = """topic defaultTopic readQueueNums:int writeQueueNums:int perm:int topicFilterType topicSysFlag:int?
    order:bool"""

_WITH_FIELDS = {
    RequestCode.SEND_MESSAGE: _row(_SEND, _SENT, _STORED),
    RequestCode.SEND_MESSAGE_V2: _row(_SEND, _SENT, _STORED),
    RequestCode.SEND_BATCH_MESSAGE: _row(_SEND, _SENT, _STORED),
    RequestCode.PULL_MESSAGE: _row(_PULL, _PULLED, _PULLS),
    RequestCode.QUERY_MESSAGE: _row(
        "topic key maxNum:int beginTimestamp:long endTimestamp:long _UNIQUE_KEY_QUERY:bool?",
        _QUERIED,
        (SUCCESS, QUERY_NOT_FOUND),
    ),
    RequestCode.QUERY_CONSUMER_OFFSET: _row("consumerGroup topic queueId:int", "offset:long"),
    RequestCode.UPDATE_CONSUMER_OFFSET: _row("consumerGroup topic queueId:int commitOffset:long"),
    RequestCode.UPDATE_AND_CREATE_TOPIC: _row(_TOPIC),
    RequestCode.GET_BROKER_CONFIG: _row("", "version"),
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: _row("topic queueId:int timestamp:long", "offset:long"),
    RequestCode.GET_MAX_OFFSET: _row("topic queueId:int", "offset:long"),
    RequestCode.GET_MIN_OFFSET: _row("topic queueId:int", "offset:long"),
    RequestCode.GET_EARLIEST_MSG_STORETIME: _row("topic queueId:int", "timestamp:long"),
    RequestCode.VIEW_MESSAGE_BY_ID: _row("offset:long"),
    RequestCode.UNREGISTER_CLIENT: _row("clientID producerGroup? consumerGroup?"),
    RequestCode.CONSUMER_SEND_MSG_BACK: _row(
        "offset:long group delayLevel:int originMsgId? originTopic? unitMode:bool? maxReconsumeTimes:int?"
    ),
    RequestCode.END_TRANSACTION: _row(
        """producerGroup tranStateTableOffset:long commitLogOffset:long commitOrRollback:int msgId
        fromTransactionCheck:bool? transactionId?"""
    ),
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: _row("consumerGroup"),
    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED: _row("consumerGroup"),
    RequestCode.GET_TOPIC_STATS_INFO: _row("topic"),
    RequestCode.GET_CONSUMER_CONNECTION_LIST: _row("consumerGroup"),
    RequestCode.GET_PRODUCER_CONNECTION_LIST: _row("producerGroup"),
    RequestCode.DELETE_SUBSCRIPTIONGROUP: _row("groupName removeOffset:bool?"),
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: _row("topic"),
    RequestCode.GET_CONSUME_STATS: _row("consumerGroup topic?"),
    RequestCode.DELETE_TOPIC_IN_BROKER: _row("topic"),
    RequestCode.REGISTER_BROKER: _row(
        f"{_BROKER} haServerAddr compressed:bool? bodyCrc32:int?", "haServerAddr? masterAddr?"
    ),
    RequestCode.UNREGISTER_BROKER: _row(_BROKER),
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _row("topic acceptStandardJsonOnly:bool?"),
    RequestCode.QUERY_DATA_VERSION: _row(_BROKER, "changed:bool"),
}
HEADERS: Mapping[int, Row] = {code: _WITH_FIELDS.get(code, _row()) for code in RequestCode}

# The long names in the table's order; 'n', the broker's name, is ignored like its long form 'bname'.
SHORT_NAMES = dict(zip([field.name for field in _fields(_SEND)], "abcdefghijklm", strict=True))
_SHORT_CODES = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
_BITS = {"int": 31, "long": 63}
_TYPES = {"text": str, "bool": bool, "int": int, "long": int}
_SURE_DIGITS = {"int": 9, "long": 18}
"""A number of so few digits is in range."""
_integer = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


_Plan = Mapping[str, tuple[str, Field]]
"""A header's fields by their long names, each with its name on the wire."""


def _plan(fields: tuple[Field, ...], code: int) -> _Plan:
    short = SHORT_NAMES if code in _SHORT_CODES else {}
    return {each.name: (short.get(each.name, each.name), each) for each in fields}


_REQUESTS = {code: _plan(row.request, code) for code, row in HEADERS.items()}
_RESPONSES = {code: _plan(row.response, SUCCESS) for code, row in HEADERS.items()}
_OTHER_RESPONSES = {
    code: _plan(tuple(field._replace(required=False) for field in row.response), SUCCESS)
    for code, row in HEADERS.items()
}


def decode_request(command: Command) -> dict[str, Any]:
    """The request's header by long names, without missing optional fields.

    CodecError names the missing or malformed field, or the unknown code.
    """
    return _decode(_request(command.code), command.fields, command.code, None)


def decode_response(request_code: int, command: Command) -> dict[str, Any]:
    """The header of an answer to ``request_code``, as :func:`decode_request`."""
    return _decode(_answer(request_code, command.code), command.fields, request_code, command.code)


def encode_request(code: int, values: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a request, from values by long names (None: omitted); CodecError as :func:`decode_request`."""
    return _encode(_request(code), values, code, None)


def encode_response(request_code: int, values: Mapping[str, Any], code: int = SUCCESS) -> dict[str, str]:
    """The fields of the answer ``code``, as :func:`encode_request`."""
    return _encode(_answer(request_code, code), values, request_code, code)


def _request(code: int) -> _Plan:
    plan = _REQUESTS.get(code)
    if plan is None:
        raise CodecError(f"request type {code} is in no header table")
    return plan


def _answer(request_code: int, code: int) -> _Plan:
    _request(request_code)
    return (_RESPONSES if code in HEADERS[request_code].carriers else _OTHER_RESPONSES)[request_code]


def _title(request_code: int, code: int | None) -> str:
    name = RequestCode(request_code).name
    return f"header of {name}" if code is None else f"header of answer {code} to {name}"


def _decode(plan: _Plan, texts: Mapping[str, str], request_code: int, code: int | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for travels, (name, kind, required) in plan.values():
        text = texts.get(travels)
        if text is None:
            if required:
                raise CodecError(f"{_title(request_code, code)} lacks its field {name!r}")
        elif kind == "text":
            values[name] = text
        elif kind == "bool":
            values[name] = text.lower() == "true"
        elif len(text) <= _SURE_DIGITS[kind] and text.isdecimal() and text.isascii():
            values[name] = int(text)
        else:
            if not _integer.fullmatch(text) or not _fits(int(text), kind):
                raise CodecError(f"{_title(request_code, code)} has {text[:40]!r} in its field {name!r}: no {kind}")
            values[name] = int(text)
    return values


def _encode(plan: _Plan, values: Mapping[str, Any], request_code: int, code: int | None) -> dict[str, str]:
    if not values.keys() <= plan.keys():
        unknown = sorted(values.keys() - plan.keys())[0]
        raise CodecError(f"{_title(request_code, code)} has no field {unknown!r}")
    texts: dict[str, str] = {}
    for travels, (name, kind, required) in plan.values():
        value = values.get(name)
        if value is None:
            if required:
                raise CodecError(f"{_title(request_code, code)} lacks its field {name!r}")
            continue
        if type(value) is not _TYPES[kind] or not _fits(value, kind):
            raise CodecError(f"{_title(request_code, code)} has {value!r:.40} in its field {name!r}: no {kind}")
        texts[travels] = ("true" if value else "false") if kind == "bool" else str(value)
    return texts


def _fits(value: Any, kind: str) -> bool:
    return kind not in _BITS or bool(-(1 << _BITS[kind]) <= value < 1 << _BITS[kind])
