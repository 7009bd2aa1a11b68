"""Requests that make no sense: one for each broker at a trial's end, when the questions about its log are answered.

They must change nothing. One a broker, drawn by the trial's seed. What may be answered, see
``pairproof.harness.rocketmq.invalid_requests``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from pairproof.chaos.rocketmq.provision import GROUP, TOPIC
from pairproof.harness.rocketmq.invalid_requests import REFUSALS
from pairproof.reference.wire import headers
from pairproof.reference.wire.headers import RequestCode

SHOWN = 120
"""Characters of a remark."""
NOBODYS = "nobody-made-this"
NO_QUEUE = "10000"
NO_CODE = 9_999
_SEND = {
    "producerGroup": GROUP, "topic": TOPIC, "defaultTopic": NOBODYS, "defaultTopicQueueNums": "4", "queueId": "0",
    "sysFlag": "0", "bornTimestamp": "1690000000000", "flag": "0", "reconsumeTimes": "0",
}  # fmt: skip
_PULL = {
    "consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "queueOffset": "0", "maxMsgNums": "1", "sysFlag": "4",
    "commitOffset": "0", "suspendTimeoutMillis": "0", "subVersion": "0", "subscription": "*",
}  # fmt: skip
_TOPIC = {
    "topic": "TBW102", "defaultTopic": NOBODYS, "readQueueNums": "1", "writeQueueNums": "1", "perm": "6",
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
}  # fmt: skip
_END = {
    "producerGroup": NOBODYS, "tranStateTableOffset": "0", "commitLogOffset": "-1", "commitOrRollback": "8",
    "fromTransactionCheck": "false", "msgId": "", "transactionId": "",
}  # fmt: skip


class Invalid(NamedTuple):
    """One request, with its fields as they travel."""

    name: str
    code: int
    fields: Mapping[str, str]
    body: bytes = b""


def _send(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    return Invalid(name, RequestCode.SEND_MESSAGE, _changed(_SEND, changed, missing), b"nobody's")


def _short_send(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    fields = _changed(_SEND, changed, missing)
    short = {headers.SHORT_NAMES[key]: value for key, value in fields.items()}
    return Invalid(name, RequestCode.SEND_MESSAGE_V2, short, b"nobody's")


def _pull(name: str, changed: Mapping[str, str], *missing: str) -> Invalid:
    return Invalid(name, RequestCode.PULL_MESSAGE, _changed(_PULL, changed, missing))


def _changed(fields: Mapping[str, str], changed: Mapping[str, str], missing: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in {**fields, **changed}.items() if key not in missing}


REQUESTS = {
    each.name: each
    for each in (
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
        Invalid("statistics of a topic that nobody made", RequestCode.GET_TOPIC_STATS_INFO, {"topic": NOBODYS}),
        Invalid(
            "members of a group that nobody joined", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": NOBODYS}
        ),
        Invalid("a query without its topic", RequestCode.QUERY_MESSAGE, {"key": NOBODYS, "maxNum": "1"}),
        Invalid("the message before the log", RequestCode.VIEW_MESSAGE_BY_ID, {"offset": "-1"}),
        Invalid(
            "a new topic with a space", RequestCode.UPDATE_AND_CREATE_TOPIC, {**_TOPIC, "topic": "nobody made this"}
        ),
        Invalid("a change of the template of topics", RequestCode.UPDATE_AND_CREATE_TOPIC, _TOPIC),
        Invalid("the template of topics deleted", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"}),
        Invalid("a commit of no transaction", RequestCode.END_TRANSACTION, _END),
        Invalid("a heartbeat that is not JSON", RequestCode.HEART_BEAT, {}, b'{"clientID":'),
        Invalid("a group that is not JSON", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, b"[nobody"),
        Invalid(
            "progress without its queue", RequestCode.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": GROUP, "topic": TOPIC, "commitOffset": "0"},
        ),
    )
}  # fmt: skip
"""Those of :data:`REFUSALS`."""


def chosen(seed: str, node: str) -> Invalid:
    """What this broker is sent at the end of this trial."""
    return REQUESTS[Random(f"{seed}/invalid/{node}").choice(tuple(REFUSALS))]


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, sent: Invalid, status: str, remark: str | None
) -> None:
    """Record an answer."""
    add(now, "invalid", node, incarnation, f=sent.name, status=status, detail=remark[:SHOWN] if remark else None)
