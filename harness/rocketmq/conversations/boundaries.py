"""Conformance conversations with masters at boundary values: any queue, long names, odd spellings, the largest
numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .asks import (
    DEAD,
    DELETES,
    GROUP,
    GROUP_OF,
    MAKES,
    PRODUCERS,
    RETRY,
    asks_progress,
    at_time,
    by_id,
    commits,
    deletes_group,
    deletes_topic,
    ends,
    grown,
    leaves,
    locks,
    makes_group,
    makes_topic,
    of_key,
    progress,
    pulls,
    sends,
    sends_back,
    sends_batch,
    sets,
    topic_of,
    unlocks,
)
from .masters import FIRST
from .served import (
    CLIENT,
    ELSEWHERE_STORED,
    MOVED,
    REFUSED,
    WAITS,
    Served,
    as_text,
    at,
    expects,
    found,
    holds,
    message,
    only,
    pulled,
    queues,
    stored,
    topic,
)
from .steps import TOPIC, Ask, Conversation, Step

SCHEDULE = "SCHEDULE_TOPIC_XXXX"
MOST_INT, MOST_LONG = (1 << 31) - 1, (1 << 63) - 1
MOST_QUEUES = 10_000
LONGEST_NAME = 127
_ONE_QUEUE = Step("a topic of one queue is made", makes_topic(1, 1))
_MORE = expects(more=1)
_DELAYS = Step("which delays there are", Ask("GET_BROKER_CONFIG"))


def _delay(level: int) -> Ask:
    """The end of the queue of a delay, or of the last delay; the settings were requested before."""
    return ends(f"<delay {level}>", SCHEDULE)._replace(reads=())


def _placed(offset: int) -> Served:
    return expects(queue=0, offset=offset)


def _counted(messages: int, following: int, on_disk: tuple[int, int] | None = None) -> Served:
    """``on_disk``: both numbers if the messages do not count as being in memory."""
    other = None if on_disk is None else as_text(messages=on_disk[0], next=on_disk[1])
    return Served(expects=as_text(messages=messages, next=following), or_expects=other)


def _without_properties(asks: Ask) -> Ask:
    return asks._replace(fields={name: value for name, value in asks.fields.items() if name != "i"})


_PLACE = ("numbers", "queue=queueId", "offset=queueOffset")
_STORED = WAITS.statuses | {"SLAVE_NOT_AVAILABLE", "FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"}
_ANY_QUEUE = (
    _ONE_QUEUE,
    MAKES[1],
    Step("a message is sent to any queue", sends(-1, "1", reads=_PLACE), _placed(0)),
    Step("a message is sent without properties", _without_properties(sends(0, "2", reads=_PLACE)),
         _placed(1)._replace(statuses=_STORED)),
    Step("a message is sent that is not half a transaction", sends(0, "3", reads=_PLACE, TRAN_MSG="false"), _placed(2)),
    Step("a message is sent that is not delayed", sends(0, "4", reads=_PLACE, DELAY="0"), _placed(3)),
    Step("a batch of one is sent", sends_batch(0, "5", reads=_PLACE), _placed(4)),
    *[Step("several are sent at once", sends_batch(0, "6", "7", "8", reads=()))] * 13,
    Step("one more is sent", sends(0, "9", reads=_PLACE), _placed(44)),
    Step("as many are read as are given at once", pulls(0, 0, most=64, reads="counted"), _counted(32, 32, (8, 8))),
    Step("those behind them are read", pulls(0, 32, most=64, reads="counted"), _counted(13, 45, (8, 40))),
    Step("none are asked for, and one is read", pulls(0, 0, most=0, reads="counted"), _counted(1, 1)),
    Step("it is read before its begin", pulls(0, -1), MOVED),
    Step("it is read without a word about tags", pulls(0, 0, "", most=1, reads="counted"), _counted(1, 1)),
    Step("it is read without a subscription", pulls(0, 0, None, most=1, reads="counted"), _counted(1, 1)),
    Step("blanks around a star are a tag", pulls(0, 0, " * "), only("PULL_RETRY_IMMEDIATELY")),
    Step("bars without a tag", pulls(0, 0, "||"), only("SUBSCRIPTION_PARSE_FAILED")),
    Step("the message of the first time there is", at_time(0, 0), at(0)),
    Step("a queue that is not there ends", ends(9), at(0)),
    Step("a half message is sent by its property", sends(0, "6", TRAN_MSG="true", PGROUP=PRODUCERS, reads=())),
    Step("the queue ends before it", ends(0), at(45)),
    _DELAYS,
    Step("where the longest delay ends", _delay(99)),
    Step("a message is delayed for longer than can be", sends(0, "7", DELAY="99"), ELSEWHERE_STORED),
    Step("it waits for the longest delay", grown(_delay(99)), _MORE),
    *DELETES,
)  # fmt: skip

# Properties that decide together where a message is stored. Left out: a delayed half message, from which only the
# reference takes the delay (the operation ``transact`` sends it).

_HALVES = "RMQ_SYS_TRANS_HALF_TOPIC"
_PLACES = {"its queue": ends(0), "the second delay": _delay(2), "the half messages": ends(0, _HALVES)}
_HALF, _LATER = {"TRAN_MSG": "true", "PGROUP": PRODUCERS}, {"DELAY": "2"}


def _sent_on(times: int, place: str, properties: Mapping[str, str]) -> Conversation:
    what = f"a message that failed {times} times, with {' and '.join(properties) or 'no property'},"
    asks = sends(0, "together", times=times, reads=(), **properties)  # type: ignore[arg-type]
    return (
        Step(f"where {place} ends before {what} is sent", _PLACES[place]),
        Step(f"{what} is sent", asks),
        Step(f"{what} is in {place}", grown(_PLACES[place]), _MORE),
    )


_TOGETHER = (
    *MAKES,
    _DELAYS,
    *(
        step
        for times in (0, 1)
        for place, properties in (("its queue", {}), ("the half messages", _HALF), ("the second delay", _LATER))
        for step in _sent_on(times, place, properties)
    ),
    # Consumers before 4.6.1 send a message back so.
    *_sent_on(1, "the second delay", {**_HALF, **_LATER}),
    *DELETES,
)

# Long names. TOPIC has as many letters as the topic that it stands for.

_NAME = f"{TOPIC}%|Zz09_-".ljust(LONGEST_NAME, "t")
_GROUP = f"{TOPIC}%|Zz09_-".ljust(LONGEST_NAME - len("%RETRY%"), "g")
_LONG = message(0, 0, "long", KEYS="k", TAGS="t")
_LONG_NAMES = (
    Step("a topic of the longest name is made", makes_topic(1, 1, topic=_NAME)),
    Step("which topic has the longest name", topic_of(_NAME), topic(1, 1, 6)),
    Step("a group of a long name is made", makes_group(_GROUP)),
    Step("a message is sent to the longest name", sends(0, "long", topic=_NAME, KEYS="k", TAGS="t"), stored(0)),
    Step("the longest name is read", pulls(0, 0, topic=_NAME, group=_GROUP), pulled(1, 1, _LONG)),
    Step("the longest name has the key", of_key("k", topic=_NAME), found(_LONG)),
    Step("where the longest name ends, by a long header", ends(0, _NAME)._replace(is_padded=True), at(1)),
    Step("a topic of a longer name is made", makes_topic(1, 1, topic=f"{_NAME}t"), REFUSED),
    Step("a message is sent to a longer name", sends(0, "no", topic=f"{_NAME}t"),
         only(*REFUSED.statuses, "MESSAGE_ILLEGAL")),
    Step("a topic of no name is made", makes_topic(1, 1, topic=""), REFUSED),
    Step("the longest name is deleted", deletes_topic(_NAME)),
    Step("the long group is deleted", deletes_group(_GROUP)),
)  # fmt: skip
_LARGE = {"brokerId": MOST_LONG, "whichBrokerWhenConsumeSlowly": MOST_LONG}
_SMALL = {"brokerId": 0, "whichBrokerWhenConsumeSlowly": 0}
_LIMITS = (
    Step("a topic without queues is made", makes_topic(0, 0, 0)),
    Step("which topic has no queues", topic_of(), topic(0, 0, 0)),
    Step("a topic of one queue may be anything", makes_topic(1, 1, 1)),
    Step("which topic has one queue", topic_of(), topic(1, 1, 1)),
    Step("a topic of many queues is made", makes_topic(MOST_QUEUES, MOST_QUEUES, 7)),
    Step("which topic has many queues", topic_of(), topic(MOST_QUEUES, MOST_QUEUES, 7)),
    Step("a group of the largest numbers is made", makes_group(retryQueueNums=0, retryMaxTimes=-1, **_LARGE)),
    Step("which group has the largest numbers", GROUP_OF,
         expects(group=[MOST_LONG, True, True, True, True, -1, 0, MOST_LONG])),
    Step("a group of other large numbers is made",
         makes_group(retryQueueNums=MOST_QUEUES, retryMaxTimes=MOST_INT, **_SMALL)),
    Step("which group has other large numbers", GROUP_OF,
         expects(group=[0, True, True, True, True, MOST_INT, MOST_QUEUES, 0])),
    *DELETES,
)  # fmt: skip


def _failed(queue: int, body: str, times: int = 0, short: bool = True) -> Ask:
    return sends(queue, body, times=times, short=short, TAGS="red", colour="b")


def _again(body: str, times: int) -> Served:
    kept = {"TAGS": "red", "colour": "b"}
    return expects(body=body, flag=5, times=times, origin=True, kept=kept)


def _last(queue: int | str, topic: str) -> Ask:
    """The last message of a queue whose end was the answer before."""
    return pulls(queue, "<last offset>", topic=topic, group=GROUP, reads="again")


_TRIED_AGAIN = (
    *MAKES,
    Step("nothing of the group is tried again", makes_group(retryQueueNums=0)),
    Step("a message is sent to be tried never again", _failed(0, "never"), stored(0)),
    Step("it is sent back without effect", sends_back(0)),
    Step("nothing is to be tried again", ends(0, RETRY), at(0)),
    Step("what failed twice is not tried again", makes_group(retryMaxTimes=2)),
    Step("a message is sent that failed twice", _failed(1, "twice", 2), stored(0, 1)),
    Step("where the dead letters end", ends(0, DEAD), at(0)),
    Step("it is sent back too often", sends_back(0), WAITS),
    Step("it is among the dead letters then", grown(ends(0, DEAD)), _MORE),
    Step("the dead letters may be read", makes_topic(1, 1, topic=DEAD)),
    Step("how many dead letters there are", ends(0, DEAD), at(1)),
    Step("the last dead letter is read", _last(0, DEAD), _again("twice", 3)),
    Step("what failed twice is tried again", makes_group(retryMaxTimes=3)),
    _DELAYS,
    Step("where the second delay ends", _delay(2)),
    Step("a message is sent that failed once", _failed(1, "once", 1), stored(1, 1)),
    Step("it is sent back for the second delay", sends_back(2), WAITS),
    Step("it waits for the second delay", grown(_delay(2)), _MORE),
    Step("what waits for the second delay is read", _last("<delay 2>", SCHEDULE), _again("once", 2)),
    Step("a message is sent that is to fail", _failed(0, "fails", short=False), stored(1)),
    Step("where the longest delay ends", _delay(99)),
    Step("it is sent back for longer than can be", sends_back(99), WAITS),
    Step("it waits for the longest delay", grown(_delay(99)), _MORE),
    Step("where the fifth delay ends", _delay(5)),
    Step("another message is sent that failed twice", _failed(1, "twice", 2), stored(2, 1)),
    Step("it is sent back, and the broker chooses", sends_back(0), WAITS),
    Step("it waits for the fifth delay", grown(_delay(5)), _MORE),
    *DELETES,
    Step("the topic is deleted", deletes_topic(DEAD)),
    Step("the topic is deleted", deletes_topic(RETRY)),
)


_SUGGESTED = pulls(0, 0)._replace(reads=("numbers", "broker=suggestWhichBrokerId"))
_INDEXED = of_key("k")._replace(reads=("indexed",))
_SUGGESTS = (
    _ONE_QUEUE,
    Step("the group is to read elsewhere", makes_group(brokerId=3, whichBrokerWhenConsumeSlowly=2)),
    Step("a message is sent to be read elsewhere", sends(0, "1", KEYS="k"), stored(0)),
    Step("slaves are not for reading", sets("slaveReadEnable=false")),
    Step("where it is to be read", _SUGGESTED, expects(broker=0)),
    Step("slaves are for reading", sets("slaveReadEnable=true")),
    Step("where it is to be read then", _SUGGESTED, Served(expects=as_text(broker=3), or_expects=as_text(broker=2))),
    Step("slaves are for reading no more", sets("slaveReadEnable=false\n")),
    Step("where it is to be read at last", _SUGGESTED, expects(broker=0)),
    Step("the message is where its id says", by_id("<place>", "stored at"), expects(host=True, offset=True)),
    Step("the index goes up to it", _INDEXED, expects(bodies=["1"], to_last=True)),
    Step("a second message has its key", sends(0, "2", KEYS="j k"), stored(1)),
    Step("the index goes up to the second one", _INDEXED, expects(bodies=["1", "2"], to_last=True)),
    *DELETES,
)
_PROGRESS = (
    *MAKES,
    Step("a message is sent to be read", sends(1, "read"), stored(0, 1)),
    Step("progress goes beyond the end", commits(1, 999)),
    Step("the progress beyond the end", asks_progress(1), at(999)),
    Step("how far beyond the end it is", progress(topic=TOPIC), queues([0, 0], [1, 999])),
    Step("progress goes to the last number", commits(0, MOST_LONG)),
    Step("the last progress there can be", asks_progress(0), at(MOST_LONG)),
    Step("progress is unknown again", commits(0, -1)),
    Step("progress is unknown again", commits(1, -1)),
    Step("how far the group is without progress", progress(topic=TOPIC), queues([0, 0], [1, 0])),
    Step("where it begins without progress", asks_progress(1), FIRST),
    *DELETES,
)


def _text(version: int, wanted: str = "a") -> str:
    ways = {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": GROUP,
        "messageModel": "CLUSTERING",
    }  # fmt: skip
    taken = {"codeSet": [97], "subString": wanted, "subVersion": version, "tagsSet": ["a"], "topic": "visited"}
    told = {"clientID": CLIENT, "consumerDataSet": [{**ways, "subscriptionDataSet": [taken]}]}
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)


def _said(how: str, text: str, version: int, wanted: str = "a", what: str = "", in_5: bool = True) -> Conversation:
    """A consumer's statement, and the broker's understanding of it."""
    taken = expects(topics={"visited": [wanted, version]})
    asks = Ask("GET_CONSUMER_CONNECTION_LIST", {"consumerGroup": GROUP}, reads=("subscribed",))
    return (
        Step(f"it is said {how}", Ask("HEART_BEAT", body=text.encode()), in_5=in_5),
        Step(f"what was said {what or how}", asks, taken, in_5=in_5),
    )


_SPACED = _text(2).replace(",", " ,\n\t").replace(":", "\f: \b").replace("[", "[ \r\n").replace("}", "\t}")
_ESCAPED = _text(3).replace('"a"', r'"\u00e4\ud83d\ude00\t\n\"\/\\\b\f\r"', 1)
_UNKNOWN = _text(6).replace('"topic"', '"x":{"y":[1,{"z":null},[],{}],"w":1.5e3,"v":-0.5,"t":true},"topic"')
_TWICE = _text(7, "b").replace('"subString"', '"subString":"a","subString"', 1)
_SPELLED = (
    MAKES[1],
    *_said("plainly", _text(1), 1),
    *_said("with blanks", _SPACED, 2),
    *_said("with escapes", _ESCAPED, 3, 'ä😀\t\n"/\\\b\f\r'),
    *_said("with control characters", _text(4, "a\tb").replace(r"\t", "\t\x01"), 4, "a\t\x01b"),
    *_said("in other letters", _text(5, "ä😀"), 5, "ä😀"),
    *_said("beside unknown fields", _UNKNOWN, 6),
    *_said("twice", _TWICE, 7, "b", what="at last"),
    *_said("with nothing", _text(8).replace('"codeSet":[97]', '"codeSet":null'), 8),
    # 5.5.0 reads another parser's JSON.
    *_said("in single quotes", _text(9).replace('"', "'").replace("'a'", "'a\\'\"b'", 1), 9, "a'\"b", in_5=False),
    *_said("with bare names", _text(10).replace('"topic"', "topic").replace('"tagsSet"', "tagsSet"), 10, in_5=False),
    *_said("by the last version", f"\n{_text(MOST_LONG)} \r\n", MOST_LONG),
    Step("the consumer leaves", leaves(consumerGroup=GROUP)),
    DELETES[1],
)


def _locks(client: str, *queues: int, group: str = TOPIC) -> Ask:
    return locks(client, *queues, group=group, topic=TOPIC, broker="b")


def _unlocks(client: str, *queues: int) -> Ask:
    return unlocks(client, *queues, group=TOPIC, topic=TOPIC, broker="b")


_LOCKS = (
    Step("nothing is locked", _locks("one"), holds()),
    Step("a queue is locked, named twice", _locks("one", 5, 5), holds(5)),
    Step("its holder locks it again", _locks("one", 5), holds(5)),
    Step("another group locks the queue, too", _locks("two", 5, group=f"{TOPIC}-other"), holds(5)),
    Step("somebody else gives it back", _unlocks("two", 5, 6)),
    Step("somebody else locks it, without effect", _locks("two", 5), holds()),
    Step("its holder locks it, and more", _locks("one", 5, 6, 7), holds(5, 6, 7)),
    Step("its holder gives some back", _unlocks("one", 5, 7)),
    Step("somebody else locks what is free", _locks("two", 5, 6, 7), holds(5, 7)),
    Step("its holder gives all back", _unlocks("one", 5, 6, 7)),
    Step("somebody else gives all back", _unlocks("two", 5, 6, 7)),
    Step("the other group gives all back", _unlocks("two", 5)),
)
AT_BOUNDARIES: Sequence[Conversation] = (
    _ANY_QUEUE, _TOGETHER, _LONG_NAMES, _LIMITS, _TRIED_AGAIN, _SUGGESTS, _PROGRESS, _SPELLED, _LOCKS,
)  # fmt: skip
