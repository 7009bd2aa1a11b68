"""Steps of visits to masters: what is asked, in bytes, and what is read of the answers.

Nothing that is sent waits for a slave, or for a disk. Source: the request headers of RocketMQ 4.9 and 5.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pairproof.chaos.observers import answer_reader
from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.observers.table_reader import parsed
from pairproof.chaos.rocketmq.questions import FOREVER, Answered
from pairproof.chaos.rocketmq.visits import Fields, Read, Step, as_json
from pairproof.harness.rocketmq.served import said

PRODUCERS = "visiting-producers"
BORN_MS = 1_690_000_000_000
PENDING, HALF, COMMIT, ROLLBACK = 0, 4, 8, 12
SHOWN = ("KEYS", "TAGS", "colour", "TRAN_MSG")
"""Properties that are read of a message; which others there are is the version's choice."""
KEPT = (
    "brokerId", "consumeBroadcastEnable", "consumeEnable", "consumeFromMinEnable", "notifyConsumerIdsChangedEnable",
    "retryMaxTimes", "retryQueueNums", "whichBrokerWhenConsumeSlowly",
)  # fmt: skip
"""What is read of a group."""


SYSTEM_TOPICS = ("BenchmarkTest", "OFFSET_MOVED_EVENT", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC")
TABLES = frozenset({"topicConfigTable", "subscriptionGroupTable"})
"""What an answer with a whole table calls it."""
REPLY = "_REPLY_TOPIC"
"""The end of a topic's name, which begins with the cluster's."""


# What is asked.


def makes_topic(
    name: str, topic: str, readers: int, writers: int, perm: int = 6, kind: str = "SINGLE_TAG", flags: int = 0
) -> Step:
    """A topic is made, or changed."""
    fields = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(readers), "writeQueueNums": str(writers),
        "perm": str(perm), "topicFilterType": kind, "topicSysFlag": str(flags), "order": "false",
    }  # fmt: skip
    return Step(name, Request.UPDATE_AND_CREATE_TOPIC, fields)


def deletes_topic(name: str, topic: str) -> Step:
    """A topic is deleted."""
    return Step(name, Request.DELETE_TOPIC_IN_BROKER, {"topic": topic})


def makes_group(name: str, group: str, **values: object) -> Step:
    """A group is made, or changed; ``values``: what it has of its own."""
    config = {
        "brokerId": 0, "consumeBroadcastEnable": True, "consumeEnable": True, "consumeFromMinEnable": True,
        "groupName": group, "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 16, "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1, **values,
    }  # fmt: skip
    return Step(name, Request.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=as_json(config))


def deletes_group(name: str, group: str) -> Step:
    """A group is deleted, and its progress with it."""
    # 5.x calls it otherwise.
    fields = {"groupName": group, "removeOffset": "true", "cleanOffset": "true"}
    return Step(name, Request.DELETE_SUBSCRIPTIONGROUP, fields)


def sends(
    name: str, topic: str, queue: int, body: bytes, *, flags: int = 0, times: int = 0, short: bool = True,
    **properties: str,
) -> Step:  # fmt: skip
    """A producer sends a message.

    ``times``: its reconsumeTimes, of which three are allowed. ``short``: in the form of SEND_MESSAGE_V2.
    """
    told = {**properties, "WAIT": "false"}
    text = "".join(f"{key}\x01{value}\x02" for key, value in told.items())
    fields = {
        "producerGroup": PRODUCERS, "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": str(queue), "sysFlag": str(flags), "bornTimestamp": str(BORN_MS), "flag": "5", "properties": text,
        "reconsumeTimes": str(times), "unitMode": "false", "maxReconsumeTimes": "3",
    }  # fmt: skip
    read = _stored_elsewhere if flags or "DELAY" in properties else _stored
    if not short:
        return Step(name, Request.SEND_MESSAGE, fields, body, read)
    return Step(name, Request.SEND_MESSAGE_V2, _short(fields), body, read)


def _short(fields: Fields) -> dict[str, str]:
    return dict(zip("abcdefghijklm", fields.values(), strict=False))


def sends_batch(name: str, topic: str, queue: int, *bodies: bytes) -> Step:
    """Messages with these bodies, which are their keys as well, are sent as one."""
    parts = []
    for body in bodies:
        properties = b"KEYS\x01" + body
        inside = struct.pack(">iiii", 0, zlib.crc32(body) & 0x7FFFFFFF, 7, len(body)) + body
        inside += struct.pack(">h", len(properties)) + properties
        parts.append(struct.pack(">i", 4 + len(inside)) + inside)
    one = sends(name, topic, queue, b"".join(parts), short=False)
    assert not callable(one.fields)
    fields = _short({**one.fields, "batch": "true"})
    return one._replace(code=Request.SEND_BATCH_MESSAGE, fields=fields)


def pulls(
    name: str, topic: str, queue: int, offset: int, wanted: str = "*", most: int = 32, commits: int | None = None,
    version: int | None = None, group: str = "",
) -> Step:  # fmt: skip
    """A group, the topic's unless told, reads a queue.

    ``commits``: the progress that it tells. ``version``: of its subscription, which the broker knows by heartbeats.
    """
    flags = (commits is not None) + 4 * (version is None)
    fields = {
        "consumerGroup": group or group_of(topic), "topic": topic, "queueId": str(queue), "queueOffset": str(offset),
        "maxMsgNums": str(most), "sysFlag": str(flags), "commitOffset": str(commits or 0), "suspendTimeoutMillis": "0",
        "subVersion": str(version or 0), "subscription": wanted, "expressionType": "TAG",
    }  # fmt: skip
    return Step(name, Request.PULL_MESSAGE, fields, read=_pulled)


def of_queue(name: str, code: int, topic: str, queue: int) -> Step:
    """Where a queue begins, or ends."""
    return Step(name, code, {"topic": topic, "queueId": str(queue)}, read=_offset)


def ends(name: str, topic: str, queue: int) -> Step:
    """Where a queue ends."""
    return of_queue(name, Request.GET_MAX_OFFSET, topic, queue)


def of_key(
    name: str, topic: str, key: str, most: int = 32, since: int = 0, until: int = FOREVER, unique: bool = False
) -> Step:
    """The messages that have a key, and were stored between these times; ``unique``: a key that a client gave."""
    more = {"_UNIQUE_KEY_QUERY": "true"} if unique else {}
    fields = {
        "topic": topic, "key": key, "maxNum": str(most), "beginTimestamp": str(since), "endTimestamp": str(until),
        **more,
    }  # fmt: skip
    return Step(name, Request.QUERY_MESSAGE, fields, read=_found)


def at_time(name: str, topic: str, queue: int, ms: int) -> Step:
    """The message of a queue that was stored at that time."""
    fields = {"topic": topic, "queueId": str(queue), "timestamp": str(ms)}
    return Step(name, Request.SEARCH_OFFSET_BY_TIMESTAMP, fields, read=_offset)


def earliest(name: str, topic: str, queue: int) -> Step:
    """When a queue's first message was stored."""
    fields = {"topic": topic, "queueId": str(queue)}
    return Step(name, Request.GET_EARLIEST_MSG_STORETIME, fields, read=_time)


def readers_of(name: str, topic: str) -> Step:
    """Which groups read a topic; what is read of their names is what follows the topic's."""

    def read(answered: Answered) -> str:
        told: Any = parsed(answered.body)
        return said(groups=sorted(each.removeprefix(topic) for each in told["groupList"]))

    return Step(name, Request.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": topic}, read=read)


def by_id(name: str) -> Step:
    """The message that was stored last, by its id."""
    return Step(name, Request.VIEW_MESSAGE_BY_ID, lambda before: {"offset": str(place(before))}, read=_found)


def commits(name: str, topic: str, queue: int, offset: int) -> Step:
    """A group's progress in a queue is told."""
    return Step(name, Request.UPDATE_CONSUMER_OFFSET, {**_progress(topic, queue), "commitOffset": str(offset)})


def asks_progress(name: str, topic: str, queue: int) -> Step:
    """A group's progress in a queue."""
    return Step(name, Request.QUERY_CONSUMER_OFFSET, _progress(topic, queue), read=_offset)


def _progress(topic: str, queue: int) -> dict[str, str]:
    return {"consumerGroup": group_of(topic), "topic": topic, "queueId": str(queue)}


def group_of(topic: str) -> str:
    """The name of a topic's group."""
    return f"{topic}-group"


def decides(name: str, decision: int, producers: str = PRODUCERS) -> Step:
    """End the transaction of the last half message."""

    def fields(before: Sequence[Answered]) -> Fields:
        half = last_stored(before)
        return {
            "producerGroup": producers, "tranStateTableOffset": half.fields["queueOffset"],
            "commitLogOffset": str(place(before)), "commitOrRollback": str(decision), "fromTransactionCheck": "false",
            "msgId": half.fields["msgId"],
        }  # fmt: skip

    return Step(name, Request.END_TRANSACTION, fields)


def sends_back(name: str, level: int, topic: str) -> Step:
    """A consumer sends back what was stored last; ``level``: of its delay, -1: never again, 0: the broker's own."""

    def fields(before: Sequence[Answered]) -> Fields:
        return {
            "offset": str(place(before)), "group": group_of(topic), "delayLevel": str(level), "originTopic": topic,
            "originMsgId": last_stored(before).fields["msgId"], "unitMode": "false",
        }  # fmt: skip

    return Step(name, Request.CONSUMER_SEND_MSG_BACK, fields)


def sets(name: str, text: bytes) -> Step:
    """Settings are changed."""
    return Step(name, Request.UPDATE_BROKER_CONFIG, body=text)


def place(before: Sequence[Answered]) -> int:
    """Where in the log the message lies that was stored last: its id ends with that, in hexadecimal digits."""
    return int(last_stored(before).fields["msgId"].split(",")[0][-16:], 16)


def last_stored(before: Sequence[Answered]) -> Answered:
    """IndexError if none was."""
    return [each for each in before if "msgId" in each.fields][-1]


# What is read.


def _stored(answered: Answered) -> str:
    return said(offset=int(answered.fields["queueOffset"]), **_named(answered))


def _stored_elsewhere(answered: Answered) -> str:
    """Of a message whose queue offset is in a queue that others have sent to, too."""
    return said(**_named(answered))


def _named(answered: Answered) -> dict[str, int]:
    ids = answered.fields["msgId"].split(",")
    return {"queue": int(answered.fields["queueId"]), "ids": len(ids), "length": len(ids[0])}


def _pulled(answered: Answered) -> str:
    fields = {name: int(answered.fields[f"{name}Offset"]) for name in ("nextBegin", "min", "max")}
    return said(**fields, messages=_messages(answered))


def _found(answered: Answered) -> str:
    return said(messages=_messages(answered))


def _messages(answered: Answered) -> list[list[object]]:
    return [_shown(each) for each in answer_reader.messages(answered.body)]


def _shown(message: Mapping[str, Any]) -> list[object]:
    """Place, body, flag, transaction, age, times, properties."""
    properties = {name: message["properties"][name] for name in SHOWN if name in message["properties"]}
    return [
        message["queue"], message["offset"], message["body"], message["flag"], message["flags"],
        message["born_ms"] - BORN_MS, message["times"], properties,
    ]  # fmt: skip


def _offset(answered: Answered) -> str:
    return said(offset=int(answered.fields["offset"]))


def _time(answered: Answered) -> str:
    return said(ms=int(answered.fields["timestamp"]))


def shown_queues(*names: str) -> Read:
    """These figures of each queue."""

    def read(answered: Answered) -> str:
        found = answer_reader.queues(answered.body, names)
        return said(queues={str(queue): numbers for queue, numbers in found.items()})

    return read


def shown_topic(topic: str) -> Read:
    """What a table of topics has of one."""

    def read(answered: Answered) -> str:
        told: Any = parsed(answered.body)
        found = told["topicConfigTable"].get(topic)
        names = ("readQueueNums", "writeQueueNums", "perm", "order", "topicFilterType", "topicSysFlag")
        return said(topic=None if found is None else [found[each] for each in names])

    return read


def version_of(name: str, code: int) -> Step:
    """Whether a table's version is a later one than when it was asked for last."""

    def compare(answered: Answered, before: Sequence[Answered]) -> str:
        told: Any = parsed(answered.body)
        kinds = told.keys() & TABLES
        for each in reversed(before):
            last: Any = parsed(each.body) if each.body else {}
            if kinds & last.keys():
                first, then = (each["dataVersion"] for each in (last, told))
                return said(grown=then["counter"] > first["counter"], later=then["timestamp"] >= first["timestamp"])
        return said(grown=None)

    return Step(name, code, compare=compare)


def shown_system_topics(answered: Answered) -> str:
    """How many queues to read and to write the topics have that every broker of 4.9 and 5.x has."""
    told: Any = parsed(answered.body)
    found = {
        REPLY if name.endswith(REPLY) else name: [each["readQueueNums"], each["writeQueueNums"]]
        for name, each in told["topicConfigTable"].items()
        if name in SYSTEM_TOPICS or name.endswith(REPLY)
    }  # fmt: skip
    return said(topics=found)


def shown_group(group: str) -> Read:
    """What a table of groups has of one."""

    def read(answered: Answered) -> str:
        told: Any = parsed(answered.body)
        found = told["subscriptionGroupTable"].get(group)
        return said(group=None if found is None else [found[each] for each in KEPT])

    return read


def shown_settings(answered: Answered) -> str:
    """The settings that visitors change."""
    return said(**answer_reader.properties(answered.body, ("longPollingEnable",)))
