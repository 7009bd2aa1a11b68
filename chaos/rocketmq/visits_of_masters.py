"""Visits that masters alone are paid: messages sent and read again, transactions, progress, topics, groups, settings.

Each makes its own topic first. Nothing waits for a slave, or for a disk: no time passes while simulated brokers are
visited. What is to be answered, see ``pairproof.harness.rocketmq.visits``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from pairproof.chaos.observers import answer_reader
from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.observers.table_reader import parsed
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.visits import Fields, Read, Step
from pairproof.harness.rocketmq.visits import said

PRODUCERS = "visiting-producers"
BORN_MS = 1_690_000_000_000
HALF, COMMIT, ROLLBACK = 4, 8, 12
FOREVER = (1 << 63) - 1
SHOWN = ("KEYS", "TAGS", "colour", "TRAN_MSG")
"""Properties that are read of a message; which others there are is the version's choice."""
KEPT = ("brokerId", "consumeEnable", "retryMaxTimes", "retryQueueNums", "whichBrokerWhenConsumeSlowly")
"""What is read of a group."""


def _json(told: object) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode()


# What is asked.


def _makes(name: str, topic: str, readers: int, writers: int, perm: int = 6) -> Step:
    fields = {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(readers), "writeQueueNums": str(writers),
        "perm": str(perm), "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
    }  # fmt: skip
    return Step(name, Request.UPDATE_AND_CREATE_TOPIC, fields)


def _deletes(name: str, topic: str) -> Step:
    return Step(name, Request.DELETE_TOPIC_IN_BROKER, {"topic": topic})


def _makes_group(name: str, group: str, **values: object) -> Step:
    config = {
        "brokerId": 0, "consumeBroadcastEnable": True, "consumeEnable": True, "consumeFromMinEnable": True,
        "groupName": group, "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 16, "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1, **values,
    }  # fmt: skip
    return Step(name, Request.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=_json(config))


def _deletes_group(name: str, group: str) -> Step:
    # 5.x calls it otherwise.
    fields = {"groupName": group, "removeOffset": "true", "cleanOffset": "true"}
    return Step(name, Request.DELETE_SUBSCRIPTIONGROUP, fields)


def _sends(
    name: str, topic: str, queue: int, body: bytes, *, flags: int = 0, times: int = 0, short: bool = True,
    **properties: str,
) -> Step:  # fmt: skip
    """``times``: how often it was consumed in vain, of at most three. ``short``: with the fields' short names, as 4.x's clients."""
    told = {**properties, "WAIT": "false"}
    text = "".join(f"{key}\x01{value}\x02" for key, value in told.items())
    fields = {
        "producerGroup": PRODUCERS, "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": str(queue), "sysFlag": str(flags), "bornTimestamp": str(BORN_MS), "flag": "5", "properties": text,
        "reconsumeTimes": str(times), "unitMode": "false", "maxReconsumeTimes": "3",
    }  # fmt: skip
    if not short:
        return Step(name, Request.SEND_MESSAGE, fields, body, _stored)
    read = _stored_elsewhere if flags or "DELAY" in properties else _stored
    return Step(name, Request.SEND_MESSAGE_V2, _short(fields), body, read)


def _short(fields: Fields) -> dict[str, str]:
    return dict(zip("abcdefghijklm", fields.values(), strict=False))


def _sends_batch(name: str, topic: str, queue: int, *bodies: bytes) -> Step:
    parts = []
    for body in bodies:
        properties = b"KEYS\x01" + body
        inside = struct.pack(">iiii", 0, zlib.crc32(body) & 0x7FFFFFFF, 7, len(body)) + body
        inside += struct.pack(">h", len(properties)) + properties
        parts.append(struct.pack(">i", 4 + len(inside)) + inside)
    one = _sends(name, topic, queue, b"".join(parts), short=False)
    assert not callable(one.fields)
    fields = _short({**one.fields, "batch": "true"})
    return one._replace(code=Request.SEND_BATCH_MESSAGE, fields=fields)


def _pulls(
    name: str, topic: str, queue: int, offset: int, wanted: str = "*", most: int = 32, commits: int | None = None
) -> Step:
    """``commits``: the progress that it tells."""
    flags = 4 if commits is None else 5
    fields = {
        "consumerGroup": _group_of(topic), "topic": topic, "queueId": str(queue), "queueOffset": str(offset),
        "maxMsgNums": str(most), "sysFlag": str(flags), "commitOffset": str(commits or 0), "suspendTimeoutMillis": "0", "subVersion": "0",
        "subscription": wanted, "expressionType": "TAG",
    }  # fmt: skip
    return Step(name, Request.PULL_MESSAGE, fields, read=_pulled)


def _of_queue(name: str, code: int, topic: str, queue: int) -> Step:
    return Step(name, code, {"topic": topic, "queueId": str(queue)}, read=_offset)


def _ends(name: str, topic: str, queue: int) -> Step:
    return _of_queue(name, Request.GET_MAX_OFFSET, topic, queue)


def _of_key(name: str, topic: str, key: str) -> Step:
    fields = {"topic": topic, "key": key, "maxNum": "32", "beginTimestamp": "0", "endTimestamp": str(FOREVER)}
    return Step(name, Request.QUERY_MESSAGE, fields, read=_found)


def _by_id(name: str) -> Step:
    return Step(name, Request.VIEW_MESSAGE_BY_ID, lambda before: {"offset": str(_place(before))}, read=_found)


def _commits(name: str, topic: str, queue: int, offset: int) -> Step:
    return Step(name, Request.UPDATE_CONSUMER_OFFSET, {**_progress(topic, queue), "commitOffset": str(offset)})


def _asks_progress(name: str, topic: str, queue: int) -> Step:
    return Step(name, Request.QUERY_CONSUMER_OFFSET, _progress(topic, queue), read=_offset)


def _progress(topic: str, queue: int) -> dict[str, str]:
    return {"consumerGroup": _group_of(topic), "topic": topic, "queueId": str(queue)}


def _group_of(topic: str) -> str:
    return f"{topic}-group"


def _decides(name: str, decision: int, producers: str = PRODUCERS) -> Step:
    """End the transaction of the last half message."""

    def fields(before: Sequence[Answered]) -> Fields:
        half = _last_stored(before)
        return {
            "producerGroup": producers, "tranStateTableOffset": half.fields["queueOffset"],
            "commitLogOffset": str(_place(before)), "commitOrRollback": str(decision), "fromTransactionCheck": "false",
            "msgId": half.fields["msgId"],
        }  # fmt: skip

    return Step(name, Request.END_TRANSACTION, fields)


def _sends_back(name: str, level: int, topic: str) -> Step:
    def fields(before: Sequence[Answered]) -> Fields:
        return {
            "offset": str(_place(before)), "group": _group_of(topic), "delayLevel": str(level), "originTopic": topic,
            "originMsgId": _last_stored(before).fields["msgId"], "unitMode": "false",
        }  # fmt: skip

    return Step(name, Request.CONSUMER_SEND_MSG_BACK, fields)


def _sets(name: str, text: bytes) -> Step:
    return Step(name, Request.UPDATE_BROKER_CONFIG, body=text)


def _place(before: Sequence[Answered]) -> int:
    """Where in the log the message lies that was stored last: its id ends with that, in hexadecimal digits."""
    return int(_last_stored(before).fields["msgId"].split(",")[0][-16:], 16)


def _last_stored(before: Sequence[Answered]) -> Answered:
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
    return said(**fields, messages=[_shown(each) for each in answer_reader.messages(answered.body)])


def _found(answered: Answered) -> str:
    return said(messages=[_shown(each) for each in answer_reader.messages(answered.body)])


def _shown(message: Mapping[str, Any]) -> list[object]:
    """Place, body, flag, transaction, age, times, properties."""
    properties = {name: message["properties"][name] for name in SHOWN if name in message["properties"]}
    return [
        message["queue"], message["offset"], message["body"], message["flag"], message["flags"],
        message["born_ms"] - BORN_MS, message["times"], properties,
    ]  # fmt: skip


def _offset(answered: Answered) -> str:
    return said(offset=int(answered.fields["offset"]))


def _figures(*names: str) -> Read:
    def read(answered: Answered) -> str:
        found = answer_reader.queues(answered.body, names)
        return said(queues={str(queue): numbers for queue, numbers in found.items()})

    return read


def _topic(topic: str) -> Read:
    def read(answered: Answered) -> str:
        told: Any = parsed(answered.body)
        found = told["topicConfigTable"].get(topic)
        names = ("readQueueNums", "writeQueueNums", "perm", "order")
        return said(topic=None if found is None else [found[each] for each in names])

    return read


def _group(group: str) -> Read:
    def read(answered: Answered) -> str:
        told: Any = parsed(answered.body)
        found = told["subscriptionGroupTable"].get(group)
        return said(group=None if found is None else [found[each] for each in KEPT])

    return read


def _setting(answered: Answered) -> str:
    return said(**answer_reader.properties(answered.body, ("longPollingEnable",)))


# Visits.


def visits(topic: str = "visited") -> Sequence[Sequence[Step]]:
    """All of them, each in this topic, and in the group that is named after it; neither is there before."""
    group = _group_of(topic)
    retry, dead = f"%RETRY%{group}", f"%DLQ%{group}"
    makes, makes_group = _makes("a topic is made", topic, 2, 2), _makes_group("a group is made", group)
    deletes, deletes_group = _deletes("the topic is deleted", topic), _deletes_group("the group is deleted", group)
    topics = Step("which topic there is", Request.GET_ALL_TOPIC_CONFIG, read=_topic(topic))
    groups = Step("which group there is", Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, read=_group(group))
    settings = Step("how long pulls wait", Request.GET_BROKER_CONFIG, read=_setting)
    reads = _figures("minOffset", "maxOffset")
    figures = Step("how far the topic goes", Request.GET_TOPIC_STATS_INFO, {"topic": topic}, read=reads)
    asked = {"consumerGroup": group, "topic": topic}
    reads = _figures("brokerOffset", "consumerOffset")
    consumed = Step("how far the group is", Request.GET_CONSUME_STATS, asked, read=reads)
    half = {"flags": HALF, "TRAN_MSG": "true", "PGROUP": PRODUCERS}
    return (
        (
            makes, makes_group,
            _sends("a message is sent", topic, 1, b"one", KEYS="k1 k2", TAGS="red", colour="b"),
            _by_id("the message by its id"),
            _sends("a second one is sent", topic, 1, b"two", short=False, TAGS="blue", KEYS="k3"),
            _sends_batch("three are sent at once", topic, 0, b"x", b"yy", b"zzz"),
            _sends("a message is sent to a queue that is not there", topic, 2, b"no"),
            _ends("where the queue ends", topic, 1),
            _of_queue("where the queue begins", Request.GET_MIN_OFFSET, topic, 1),
            figures,
            _pulls("both are read", topic, 1, 0),
            _pulls("one of them is read", topic, 1, 0, most=1),
            _pulls("the blue one is read", topic, 1, 0, "blue"),
            _pulls("nothing green is read", topic, 1, 0, "green || black"),
            _pulls("nothing is behind the end", topic, 1, 2),
            _pulls("nothing is far behind the end", topic, 1, 9),
            _pulls("the three are read", topic, 0, 0),
            _pulls("the last of three is read", topic, 0, 2),
            _of_key("the message by its second key", topic, "k2"),
            _of_key("one of three by its key", topic, "yy"),
            _of_key("nothing has such a key", topic, "k4"),
            deletes, deletes_group,
        ),
        (
            makes, makes_group,
            _sends("a half message is sent", topic, 0, b"half", TAGS="red", **half),
            _ends("nothing is in its queue", topic, 0),
            _decides("another group's producer decides", COMMIT, "strangers"),
            _decides("the producer commits", COMMIT),
            _pulls("what was committed is read", topic, 0, 0),
            _sends("another half message is sent", topic, 0, b"gone", **half),
            _decides("the producer takes it back", ROLLBACK),
            _ends("the queue has what was committed", topic, 0),
            deletes, deletes_group,
        ),
        (
            makes, makes_group,
            _sends("a message is sent that is delayed", topic, 0, b"later", DELAY="1"),
            _ends("nothing comes before its time", topic, 0),
            _sends("a message is sent to be sent back", topic, 1, b"back", TAGS="red"),
            _sends_back("it is sent back for ever", -1, topic),
            _ends("it is among the dead letters", dead, 0),
            _sends_back("it is sent back for a while", 0, topic),
            _ends("it is not to be tried again yet", retry, 0),
            _sends("a message is sent to be tried again", retry, 0, b"again", times=2),
            _ends("it is to be tried again", retry, 0),
            _sends("it is sent once too often", retry, 0, b"again", times=4),
            _ends("it is to be tried again no more", retry, 0),
            _ends("it is a dead letter, too", dead, 0),
            deletes, deletes_group,
        ),
        (
            makes, makes_group,
            _sends("a message is sent to be read", topic, 1, b"read"),
            _commits("progress is told", topic, 1, 7),
            _asks_progress("the progress", topic, 1),
            _commits("progress goes back", topic, 1, 0),
            _asks_progress("the progress then", topic, 1),
            _pulls("a pull tells progress", topic, 1, 0, commits=1),
            _asks_progress("the progress that it told", topic, 1),
            consumed,
            deletes_group, makes_group,
            _asks_progress("no progress is left", topic, 1),
            deletes,
        ),
        (
            makes, topics,
            _makes("the topic is changed", topic, 3, 1, 4),
            topics._replace(name="which topic there is then"),
            deletes, topics._replace(name="which topic is left"),
            _makes_group("a group is made in its own way", group, retryQueueNums=2, retryMaxTimes=3, brokerId=1,
                         whichBrokerWhenConsumeSlowly=2, consumeEnable=False),
            groups,
            _pulls("the group may not read", topic, 0, 0),
            _makes_group("the group is changed", group, retryMaxTimes=4),
            groups._replace(name="which group there is then"),
            deletes_group, groups._replace(name="which group is left"),
        ),
        (
            _sets("pulls are to wait shortly", b"longPollingEnable=false\n"),
            settings,
            _sets("pulls are to wait long", b"longPollingEnable=true\n"),
            settings._replace(name="how long pulls wait then"),
        ),
    )  # fmt: skip


OF_MASTERS = visits()
