"""Visits to masters at the borders of what may be said: any queue, long names, odd spellings, numbers that just fit.

What is to be answered, see ``pairproof.harness.rocketmq.visits_more``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from pairproof.chaos.observers import answer_reader
from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.observers.table_reader import parsed
from pairproof.chaos.rocketmq.frames import padded
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.steps_of_masters import (
    PRODUCERS,
    asks_progress,
    at_time,
    commits,
    deletes_group,
    deletes_topic,
    ends,
    group_of,
    last_stored,
    makes_group,
    makes_topic,
    of_key,
    place,
    pulls,
    sends,
    sends_back,
    sends_batch,
    sets,
    shown_group,
    shown_queues,
    shown_topic,
)
from pairproof.chaos.rocketmq.visits import Fields, Step, as_json, leaves
from pairproof.chaos.rocketmq.visits_of_masters import MADE, Visit, deleted, made
from pairproof.harness.rocketmq.served import VISITOR, said

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
MOST_INT, MOST_LONG = (1 << 31) - 1, (1 << 63) - 1
MOST_QUEUES = 10_000
LONGEST_NAME = 127


# What is asked.


def _without(step: Step, *names: str) -> Step:
    assert not callable(step.fields)
    return step._replace(fields={name: value for name, value in step.fields.items() if name not in names})


def _delays(name: str) -> Step:
    return Step(name, Request.GET_BROKER_CONFIG)


def _queue_of(level: int, before: Sequence[Answered]) -> int:
    """Where messages of a delay wait, or of the last one there is; the settings were asked for before."""
    (settings, *_) = [each.body.decode() for each in before if b"messageDelayLevel=" in each.body]
    (text,) = [each for each in settings.splitlines() if each.startswith("messageDelayLevel=")]
    return min(level, len(text.split(" "))) - 1


def _waiting(name: str, level: int) -> Step:
    """Where the queue of a delay ends."""
    return Step(
        name, Request.GET_MAX_OFFSET, lambda before: {"topic": SCHEDULE, "queueId": str(_queue_of(level, before))}
    )


def _grown(step: Step) -> Step:
    """By how many messages a queue has grown since the end of a queue was asked for last."""

    def compare(answered: Answered, before: Sequence[Answered]) -> str:
        found = [int(each.fields["offset"]) for each in before if set(each.fields) == {"offset"}]
        return said(more=int(answered.fields["offset"]) - found[-1])

    return step._replace(compare=compare)


def _last_of(name: str, topic: str, group: str, level: int = 1) -> Step:
    """The last message of a queue whose end was the answer before: of a delay's, or a topic's only one."""

    def fields(before: Sequence[Answered]) -> Fields:
        queue = _queue_of(level, before) if topic == SCHEDULE else 0
        asked = pulls(name, topic, queue, int(before[-1].fields["offset"]) - 1, group=group).fields
        assert not callable(asked)
        return asked

    return Step(name, Request.PULL_MESSAGE, fields, compare=_shown_again)


def _beats(name: str, text: str) -> Step:
    return Step(name, Request.HEART_BEAT, body=text.encode())


# What is read.


def _counted(answered: Answered) -> str:
    """How many messages came, and where the next ones are."""
    found = answer_reader.messages(answered.body)
    return said(messages=len(found), next=int(answered.fields["nextBeginOffset"]))


def _suggested(answered: Answered) -> str:
    return said(broker=int(answered.fields["suggestWhichBrokerId"]))


def _shown_again(answered: Answered, before: Sequence[Answered]) -> str:
    """What was stored once more of the message that was sent last."""
    (told,) = answer_reader.messages(answered.body)
    properties = told["properties"]
    its_own = properties["ORIGIN_MESSAGE_ID"] == last_stored(before).fields["msgId"]
    kept = {name: properties.get(name) for name in ("TAGS", "colour")}
    return said(body=told["body"], flag=told["flag"], times=told["times"], origin=its_own, kept=kept)


def _indexed(answered: Answered, before: Sequence[Answered]) -> str:
    """Whether the index goes up to the last message that was found, and which those are."""
    where = [offset for offset, _ in answer_reader.records(answered.body)]
    found = answer_reader.messages(answered.body)
    up_to, last = int(answered.fields["indexLastUpdatePhyoffset"]), place(before)
    # It may go further: a delayed message of somebody else may have come meanwhile.
    goes = up_to == last or up_to >= last + found[-1]["size"]
    return said(bodies=[each["body"] for each in found], to_last=goes and where[-1] == last)


def _stored_at(answered: Answered, before: Sequence[Answered]) -> str:
    """Whether the id that a producer was given names the broker that the message says, and where it is in the log."""
    ((offset, _),) = answer_reader.records(answered.body)
    host = bytes.fromhex(last_stored(before).fields["msgId"])[:8]
    return said(host=host == answer_reader.store_host(answered.body), offset=offset == place(before))


def _subscribed(answered: Answered) -> str:
    """To what the group has subscribed, and by which version."""
    told: Any = parsed(answered.body)
    found = told["subscriptionTable"]
    return said(topics={name: [each["subString"], each["subVersion"]] for name, each in found.items()})


def _any_queue(topic: str) -> Visit:
    def read(answered: Answered) -> str:
        return said(queue=int(answered.fields["queueId"]), offset=int(answered.fields["queueOffset"]))

    def placed(step: Step) -> Step:
        return step._replace(read=read)

    return (
        makes_topic("a topic of one queue is made", topic, 1, 1), makes_group("a group is made", group_of(topic)),
        placed(sends("a message is sent to any queue", topic, -1, b"1")),
        _without(placed(sends("a message is sent without properties", topic, 0, b"2")), "i"),
        placed(sends("a message is sent that is not half a transaction", topic, 0, b"3", TRAN_MSG="false")),
        placed(sends("a message is sent that is not delayed", topic, 0, b"4", DELAY="0")),
        sends_batch("a batch of one is sent", topic, 0, b"5")._replace(read=read),
        *[sends_batch("several are sent at once", topic, 0, b"6", b"7", b"8")._replace(read=None)] * 13,
        placed(sends("one more is sent", topic, 0, b"9")),
        pulls("as many are read as are given at once", topic, 0, 0, most=64)._replace(read=_counted),
        pulls("those behind them are read", topic, 0, 32, most=64)._replace(read=_counted),
        pulls("none are asked for, and one is read", topic, 0, 0, most=0)._replace(read=_counted),
        pulls("it is read before its begin", topic, 0, -1),
        pulls("it is read without a word about tags", topic, 0, 0, "", most=1)._replace(read=_counted),
        _without(pulls("it is read without a subscription", topic, 0, 0, most=1), "subscription")._replace(
            read=_counted
        ),
        pulls("blanks around a star are a tag", topic, 0, 0, " * "),
        pulls("bars without a tag", topic, 0, 0, "||"),
        at_time("the message of the first time there is", topic, 0, 0),
        ends("a queue that is not there ends", topic, 9),
        sends("a half message is sent by its property", topic, 0, b"6", TRAN_MSG="true", PGROUP=PRODUCERS)._replace(
            read=None
        ),
        ends("the queue ends before it", topic, 0),
        _delays("which delays there are"), _waiting("where the longest delay ends", 99),
        sends("a message is delayed for longer than can be", topic, 0, b"7", DELAY="99"),
        _grown(_waiting("it waits for the longest delay", 99)),
        *deleted(topic),
    )  # fmt: skip


def _long_names(topic: str) -> Visit:
    name = f"{topic}%|Zz09_-".ljust(LONGEST_NAME, "t")
    group = f"{topic}%|Zz09_-".ljust(LONGEST_NAME - len("%RETRY%"), "g")
    table = Step("which topic has the longest name", Request.GET_ALL_TOPIC_CONFIG, read=shown_topic(name))
    return (
        makes_topic("a topic of the longest name is made", name, 1, 1), table,
        makes_group("a group of a long name is made", group),
        sends("a message is sent to the longest name", name, 0, b"long", KEYS="k", TAGS="t"),
        pulls("the longest name is read", name, 0, 0, group=group),
        of_key("the longest name has the key", name, "k"),
        Step("where the longest name ends, by a long header", Request.GET_MAX_OFFSET, {"topic": name, "queueId": "0"},
             read=lambda answered: said(offset=int(answered.fields["offset"])), form=padded),
        makes_topic("a topic of a longer name is made", f"{name}t", 1, 1),
        sends("a message is sent to a longer name", f"{name}t", 0, b"no"),
        makes_topic("a topic of no name is made", "", 1, 1),
        deletes_topic("the longest name is deleted", name), deletes_group("the long group is deleted", group),
    )  # fmt: skip


def _limits(topic: str) -> Visit:
    group = group_of(topic)
    topics = Step("which topic has no queues", Request.GET_ALL_TOPIC_CONFIG, read=shown_topic(topic))
    groups = Step("which group has the largest numbers", Request.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
                  read=shown_group(group))  # fmt: skip
    return (
        makes_topic("a topic without queues is made", topic, 0, 0, 0), topics,
        makes_topic("a topic of one queue may be anything", topic, 1, 1, 1),
        topics._replace(name="which topic has one queue"),
        makes_topic("a topic of many queues is made", topic, MOST_QUEUES, MOST_QUEUES, 7),
        topics._replace(name="which topic has many queues"),
        makes_group("a group of the largest numbers is made", group, retryQueueNums=0, retryMaxTimes=-1,
                    brokerId=MOST_LONG, whichBrokerWhenConsumeSlowly=MOST_LONG),
        groups,
        makes_group("a group of other large numbers is made", group, retryQueueNums=MOST_QUEUES,
                    retryMaxTimes=MOST_INT, brokerId=0, whichBrokerWhenConsumeSlowly=0),
        groups._replace(name="which group has other large numbers"),
        *deleted(topic),
    )  # fmt: skip


def _tried_again(topic: str) -> Visit:
    group = group_of(topic)
    retry, dead = f"%RETRY%{group}", f"%DLQ%{group}"
    return (
        *made(topic),
        makes_group("nothing of the group is tried again", group, retryQueueNums=0),
        sends("a message is sent to be tried never again", topic, 0, b"never", TAGS="red", colour="b"),
        sends_back("it is sent back without effect", 0, topic),
        ends("nothing is to be tried again", retry, 0),
        makes_group("what failed twice is not tried again", group, retryMaxTimes=2),
        sends("a message is sent that failed twice", topic, 1, b"twice", times=2, TAGS="red", colour="b"),
        ends("where the dead letters end", dead, 0),
        sends_back("it is sent back too often", 0, topic),
        _grown(ends("it is among the dead letters then", dead, 0)),
        makes_topic("the dead letters may be read", dead, 1, 1),
        ends("how many dead letters there are", dead, 0),
        _last_of("the last dead letter is read", dead, group),
        makes_group("what failed twice is tried again", group, retryMaxTimes=3),
        _delays("which delays there are"), _waiting("where the second delay ends", 2),
        sends("a message is sent that failed once", topic, 1, b"once", times=1, TAGS="red", colour="b"),
        sends_back("it is sent back for the second delay", 2, topic),
        _grown(_waiting("it waits for the second delay", 2)),
        _last_of("what waits for the second delay is read", SCHEDULE, group, 2),
        sends("a message is sent that is to fail", topic, 0, b"fails", short=False, TAGS="red", colour="b"),
        _waiting("where the longest delay ends", 99),
        sends_back("it is sent back for longer than can be", 99, topic),
        _grown(_waiting("it waits for the longest delay", 99)),
        _waiting("where the fifth delay ends", 5),
        sends("another message is sent that failed twice", topic, 1, b"twice", times=2, TAGS="red", colour="b"),
        sends_back("it is sent back, and the broker chooses", 0, topic),
        _grown(_waiting("it waits for the fifth delay", 5)),
        *deleted(topic), deletes_topic("the topic is deleted", dead), deletes_topic("the topic is deleted", retry),
    )  # fmt: skip


def _suggests(topic: str) -> Visit:
    def reads(name: str) -> Step:
        return pulls(name, topic, 0, 0)._replace(read=_suggested)

    return (
        makes_topic("a topic of one queue is made", topic, 1, 1),
        makes_group("the group is to read elsewhere", group_of(topic), brokerId=3, whichBrokerWhenConsumeSlowly=2),
        sends("a message is sent to be read elsewhere", topic, 0, b"1", KEYS="k"),
        sets("slaves are not for reading", b"slaveReadEnable=false"), reads("where it is to be read"),
        sets("slaves are for reading", b"slaveReadEnable=true"), reads("where it is to be read then"),
        sets("slaves are for reading no more", b"slaveReadEnable=false\n"), reads("where it is to be read at last"),
        Step("the message is where its id says", Request.VIEW_MESSAGE_BY_ID,
             lambda before: {"offset": str(place(before))}, compare=_stored_at),
        of_key("the index goes up to it", topic, "k")._replace(compare=_indexed),
        sends("a second message has its key", topic, 0, b"2", KEYS="j k"),
        of_key("the index goes up to the second one", topic, "k")._replace(compare=_indexed),
        *deleted(topic),
    )  # fmt: skip


def _progress(topic: str) -> Visit:
    asked = {"consumerGroup": group_of(topic), "topic": topic}
    figures = shown_queues("brokerOffset", "consumerOffset")
    return (
        *made(topic),
        sends("a message is sent to be read", topic, 1, b"read"),
        commits("progress goes beyond the end", topic, 1, 999),
        asks_progress("the progress beyond the end", topic, 1),
        Step("how far beyond the end it is", Request.GET_CONSUME_STATS, asked, read=figures),
        commits("progress goes to the last number", topic, 0, MOST_LONG),
        asks_progress("the last progress there can be", topic, 0),
        commits("progress is unknown again", topic, 0, -1), commits("progress is unknown again", topic, 1, -1),
        Step("how far the group is without progress", Request.GET_CONSUME_STATS, asked, read=figures),
        asks_progress("where it begins without progress", topic, 1),
        *deleted(topic),
    )  # fmt: skip


def _spelled(topic: str) -> Visit:
    group = group_of(topic)
    asks = Step("what was said plainly", Request.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group},
                read=_subscribed)  # fmt: skip
    ways = {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": group,
        "messageModel": "CLUSTERING",
    }  # fmt: skip

    def text(version: int, wanted: str = "a") -> str:
        taken = {
            "codeSet": [97], "subString": wanted, "subVersion": version, "tagsSet": ["a"], "topic": "visited",
        }  # fmt: skip
        told = {"clientID": VISITOR, "consumerDataSet": [{**ways, "subscriptionDataSet": [taken]}]}
        return json.dumps(told, separators=(",", ":"), ensure_ascii=False)

    spaced = text(2).replace(",", " ,\n\t").replace(":", "\f: \b").replace("[", "[ \r\n").replace("}", "\t}")
    escaped = text(3).replace('"a"', r'"\u00e4\ud83d\ude00\t\n\"\/\\\b\f\r"', 1)
    unknown = text(6).replace('"topic"', '"x":{"y":[1,{"z":null},[],{}],"w":1.5e3,"v":-0.5,"t":true},"topic"')
    large = text(MOST_LONG)
    return (
        makes_group("a group is made", group),
        _beats("it is said plainly", text(1)), asks,
        _beats("it is said with blanks", spaced), asks._replace(name="what was said with blanks"),
        _beats("it is said with escapes", escaped), asks._replace(name="what was said with escapes"),
        _beats("it is said with control characters", text(4, "a\tb").replace(r"\t", "\t\x01")),
        asks._replace(name="what was said with control characters"),
        _beats("it is said in other letters", text(5, "ä😀")), asks._replace(name="what was said in other letters"),
        _beats("it is said beside unknown fields", unknown),
        asks._replace(name="what was said beside unknown fields"),
        _beats("it is said twice", text(7, "b").replace('"subString"', '"subString":"a","subString"', 1)),
        asks._replace(name="what was said at last"),
        _beats("it is said with nothing", text(8).replace('"codeSet":[97]', '"codeSet":null')),
        asks._replace(name="what was said with nothing"),
        _beats("it is said in single quotes", text(9).replace('"', "'").replace("'a'", "'a\\'\"b'", 1)),
        asks._replace(name="what was said in single quotes"),
        _beats("it is said with bare names", text(10).replace('"topic"', "topic").replace('"tagsSet"', "tagsSet")),
        asks._replace(name="what was said with bare names"),
        _beats("it is said by the last version", f"\n{large} \r\n"),
        asks._replace(name="what was said by the last version"),
        leaves("the consumer leaves", consumerGroup=group), deletes_group("the group is deleted", group),
    )  # fmt: skip


def _locks(topic: str) -> Visit:
    def asked(name: str, code: int, client: str, *queues: int, group: str = "") -> Step:
        named = [{"brokerName": "b", "queueId": each, "topic": topic} for each in queues]
        return Step(name, code, body=as_json({"clientId": client, "consumerGroup": group or topic, "mqSet": named}),
                    read=_held if code == Request.LOCK_BATCH_MQ else None)  # fmt: skip

    def locks(name: str, client: str, *queues: int, group: str = "") -> Step:
        return asked(name, Request.LOCK_BATCH_MQ, client, *queues, group=group)

    return (
        locks("nothing is locked", "one"),
        locks("a queue is locked, named twice", "one", 5, 5),
        locks("its holder locks it again", "one", 5),
        locks("another group locks the queue, too", "two", 5, group=f"{topic}-other"),
        asked("somebody else gives it back", Request.UNLOCK_BATCH_MQ, "two", 5, 6),
        locks("somebody else locks it, without effect", "two", 5),
        locks("its holder locks it, and more", "one", 5, 6, 7),
        asked("its holder gives some back", Request.UNLOCK_BATCH_MQ, "one", 5, 7),
        locks("somebody else locks what is free", "two", 5, 6, 7),
        asked("its holder gives all back", Request.UNLOCK_BATCH_MQ, "one", 5, 6, 7),
        asked("somebody else gives all back", Request.UNLOCK_BATCH_MQ, "two", 5, 6, 7),
        asked("the other group gives all back", Request.UNLOCK_BATCH_MQ, "two", 5),
    )


def _held(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    return said(queues=sorted(each["queueId"] for each in told["lockOKMQSet"]))


BORDERS: Sequence[Callable[[str], Visit]] = (
    _any_queue, _long_names, _limits, _tried_again, _suggests, _progress, _spelled, _locks,
)  # fmt: skip
"""As ``pairproof.chaos.rocketmq.visits_of_masters.VISITS``."""
OF_MASTERS = tuple(each(MADE) for each in BORDERS)
