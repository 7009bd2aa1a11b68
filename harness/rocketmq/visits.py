"""Visits: what a client, or a broker, asks in turn that comes, changes its mind and goes; and what is to be answered.

Each step has a name, the codes with which it may be answered, and what the answer must say: a JSON text, as the reader
of answers makes it of lists in any order. Nothing of it depends on what a trial has done before.

Measured on brokers of 4.9.7 and 5.5.0 and a name server of 4.9.7 (tests/java). Sources: ClientManageProcessor,
ConsumerManager, ProducerManager, RebalanceLockManager, RouteInfoManager.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

VISITOR, BROKER, SECOND = "visitor", "visited-broker", "visited-too"
MASTER, SLAVE, ELSEWHERE = "10.0.0.1:10911", "10.0.0.2:10911", "10.0.0.3:10911"
HA, FILTER = "10.0.0.1:10912", "10.0.0.1:10921"
"""The master's further addresses, as it registers them."""
_OK = frozenset({"PUT_OK"})
_ERROR = frozenset({"SYSTEM_ERROR", "INVALID_PARAMETER"})


class Served(NamedTuple):
    """How a step is answered."""

    statuses: frozenset[str] = _OK
    says: str | None = None
    """None: nothing that is read."""


def said(**parts: object) -> str:
    """What an answer says, as one text."""
    return json.dumps(parts, sort_keys=True)


def _takes(**topics: list[object]) -> Served:
    return Served(
        says=said(
            clients=[VISITOR],
            ways=["CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET"],
            topics=topics,
        )
    )


def _holds(*queues: int) -> Served:
    return Served(says=said(queues=list(queues)))


def _leads(queues: list[int], *brokers: str, filters: tuple[str, ...] = ()) -> Served:
    addresses = {str(number): address for number, address in enumerate(brokers)}
    filtering = {brokers[0]: list(filters)} if filters else {}
    return Served(says=said(queues={BROKER: queues}, brokers={BROKER: addresses}, filters=filtering))


def _ways(ways: Mapping[str, tuple[list[int], Mapping[str, str]]]) -> Served:
    """By broker: its queues to read and write with their permissions, and its addresses."""
    queues = {name: numbers for name, (numbers, _) in ways.items()}
    return Served(says=said(queues=queues, brokers={name: each for name, (_, each) in ways.items()}, filters={}))


def _compared(changed: str, counter: int | None) -> Served:
    return Served(says=said(changed=changed, counter=counter))


def _clustered(*brokers: str) -> Served:
    addresses = {str(number): address for number, address in enumerate(brokers)}
    return Served(says=said(brokers=[BROKER] if brokers else [], addresses=addresses or None))


def _stored(offset: int, queue: int = 0, ids: int = 1) -> Served:
    return Served(says=said(offset=offset, queue=queue, ids=ids, length=32))


def _read(most: int, following: int, *messages: list[object]) -> Served:
    return Served(says=said(min=0, max=most, nextBegin=following, messages=list(messages)))


def _found(*messages: list[object]) -> Served:
    return Served(says=said(messages=list(messages)))


def _reads(*groups: str) -> Served:
    return Served(says=said(groups=list(groups)))


def _at(offset: int) -> Served:
    return Served(says=said(offset=offset))


def _message(queue: int, offset: int, body: str, flag: int = 5, flags: int = 0, **properties: str) -> list[object]:
    return [queue, offset, body, flag, flags, 0, 0, properties]


_ONE = _message(1, 0, "one", KEYS="k1 k2", TAGS="red", colour="b")
_TWO = _message(1, 1, "two", KEYS="k3", TAGS="blue")
_THREE = [_message(0, offset, body, 7, KEYS=body) for offset, body in enumerate(("x", "yy", "zzz"))]
_ELSEWHERE = Served(says=said(queue=0, ids=1, length=32))
_FIRST = Served(frozenset({"PUT_OK", "QUERY_NOT_FOUND"}), said(offset=0))
"""A group without progress begins at the queue's first message, if that counts as being in memory."""
_WAITS = Served(frozenset({"PUT_OK", "UNANSWERED"}))
"""The reference waits for a slave, or a disk, where no time passes."""

_PLAIN = ("SINGLE_TAG", 0)
"""What most topics are besides."""
_SYSTEM_TOPICS = {
    "BenchmarkTest": [1_024, 1_024], "OFFSET_MOVED_EVENT": [1, 1], "SCHEDULE_TOPIC_XXXX": [18, 18],
    "SELF_TEST_TOPIC": [1, 1], "_REPLY_TOPIC": [1, 1],
}  # fmt: skip
_NOT_SUBSCRIBED = Served(frozenset({"SUBSCRIPTION_NOT_EXIST"}))
_RED, _BLUE = _message(0, 0, "one", TAGS="r"), _message(0, 1, "two", TAGS="b")
_KEYED = [_message(0, 0, "1", KEYS="k"), _message(0, 1, "2", KEYS="k j"), _message(1, 0, "3", KEYS="j k")]
_AFTER = _takes(visited=["c", ["c"], [99], 2], third=["*", [], [], 2])

SERVED: Mapping[str, Served] = {
    "a consumer comes": Served(),
    "who consumes": Served(says=said(clients=[VISITOR])),
    "what it takes": _takes(visited=["a || b", ["a", "b"], [97, 98], 1], second=["*", [], [], 1]),
    "the consumer takes something else": Served(),
    "what it takes then": _AFTER,
    "the consumer says what it took before": Served(),
    "what it takes still": _AFTER,
    "the consumer leaves": Served(),
    "what nobody takes": Served(frozenset({"CONSUMER_NOT_ONLINE"})),
    "who is left": Served(_ERROR),
    "a producer comes": Served(),
    "who produces": Served(says=said(clients=[VISITOR])),
    "the producer leaves": Served(),
    "who produces no more": Served(_ERROR),
    "a member locks two queues": _holds(0, 1),
    "another one locks a queue of them, and one more": _holds(2),
    "the first one gives that queue back": Served(),
    "the other one locks it again": _holds(0),
    "the first one locks both again": _holds(1),
    "both give all back": Served(),
    "a master registers": Served(says=said(master="", ha="")),
    "which topics nobody has": Served(says=said(topics=[])),
    "a broker compares before it registers": _compared("true", None),
    "the broker compares, and nothing has changed": _compared("false", 1),
    "both in their cluster": _clustered(MASTER, SLAVE),
    "which topics they have": Served(says=said(topics=["visited"])),
    "the broker compares, and has changed": _compared("true", 1),
    "the broker compares, and has changed no more": _compared("false", 2),
    "the master alone in its cluster": _clustered(MASTER),
    "the broker compares when it has left": _compared("true", None),
    "nobody in the cluster": _clustered(),
    "the way to it": _leads([3, 2, 6], MASTER, filters=(FILTER,)),
    "its slave registers": Served(says=said(master=MASTER, ha=HA)),
    "the way to both": _leads([3, 2, 6], MASTER, SLAVE, filters=(FILTER,)),
    "the master registers a change, compressed": Served(says=said(master="", ha="")),
    "the way to what is changed": _leads([5, 4, 4], MASTER, SLAVE),
    "the slave leaves": Served(),
    "the way to the master alone": _leads([5, 4, 4], MASTER),
    "the master leaves": Served(),
    "the way to nobody": Served(frozenset({"TOPIC_NOT_EXIST"})),
    "a topic is made": Served(),
    "a group is made": Served(),
    "the topic is deleted": Served(),
    "the group is deleted": Served(),
    "a message is sent": _stored(0, 1),
    "the message by its id": _found(_ONE),
    "a second one is sent": _stored(1, 1),
    "three are sent at once": _stored(0, 0, 3),
    "a message is sent to a queue that is not there": Served(_ERROR),
    "where the queue ends": _at(2),
    "where the queue begins": _at(0),
    "how far the topic goes": Served(says=said(queues={"0": [0, 3], "1": [0, 2]})),
    "both are read": _read(2, 2, _ONE, _TWO),
    "one of them is read": _read(2, 1, _ONE),
    "the blue one is read": _read(2, 2, _TWO),
    "nothing green is read": Served(frozenset({"PULL_RETRY_IMMEDIATELY"})),
    "nothing is behind the end": Served(frozenset({"PULL_NOT_FOUND"})),
    "nothing is far behind the end": Served(frozenset({"PULL_OFFSET_MOVED"})),
    "the three are read": _read(3, 3, *_THREE),
    "the last of three is read": _read(3, 3, _THREE[2]),
    "the message by its second key": _found(_ONE),
    "one of three by its key": _found(_THREE[1]),
    "nothing has such a key": Served(frozenset({"QUERY_NOT_FOUND"})),
    "a half message is sent": _ELSEWHERE,
    "nothing is in its queue": _at(0),
    "another group's producer decides": Served(_ERROR),
    "the producer commits": _WAITS,
    "what was committed is read": _read(1, 1, _message(0, 0, "half", flags=8, TAGS="red", TRAN_MSG="true")),
    "another half message is sent": _ELSEWHERE,
    "the producer takes it back": _WAITS,
    "the queue has what was committed": _at(1),
    "a message is sent that is delayed": _ELSEWHERE,
    "nothing comes before its time": _at(0),
    "a message is sent to be sent back": _stored(0, 1),
    "it is sent back for ever": _WAITS,
    "it is among the dead letters": _at(1),
    "it is sent back for a while": _WAITS,
    "it is not to be tried again yet": _at(0),
    "a message is sent to be tried again": _stored(0),
    "it is to be tried again": _at(1),
    "it is sent once too often": Served(),
    "it is to be tried again no more": _at(1),
    "it is a dead letter, too": _at(2),
    "a message is sent to be read": _stored(0, 1),
    "progress is told": Served(),
    "the progress": _at(7),
    "progress goes back": Served(),
    "the progress then": _at(0),
    "a pull tells progress": _read(1, 1, _message(1, 0, "read")),
    "the progress that it told": _at(1),
    "how far the group is": Served(says=said(queues={"0": [0, 0], "1": [1, 1]})),
    "no progress is left": _FIRST,
    "which topic there is": Served(says=said(topic=[2, 2, 6, False, *_PLAIN])),
    "the topic is changed": Served(),
    "which topic there is then": Served(says=said(topic=[3, 1, 4, False, "MULTI_TAG", 3])),
    "which topic is left": Served(says=said(topic=None)),
    "a group is made in its own way": Served(),
    "which group there is": Served(says=said(group=[1, True, False, False, True, 3, 2, 2])),
    "the group may not read": Served(frozenset({"NO_PERMISSION"})),
    "the group is changed": Served(),
    "which group there is then": Served(says=said(group=[0, False, True, True, False, 4, 1, 1])),
    "which group is left": Served(says=said(group=None)),
    "pulls are to wait shortly": Served(),
    "how long pulls wait": Served(says=said(longPollingEnable="false")),
    "pulls are to wait long": Served(),
    "how long pulls wait then": Served(says=said(longPollingEnable="true")),
    "which topics every broker has": Served(says=said(topics=_SYSTEM_TOPICS)),
    "an empty queue ends": _at(0),
    "an empty queue begins": _at(0),
    "nothing is in it since any time": _at(0),
    "nothing was ever stored in it": Served(says=said(ms=-1)),
    "how far an empty topic goes": Served(says=said(queues={"0": [0, 0], "1": [0, 0]})),
    "nothing is at its begin": Served(frozenset({"PULL_NOT_FOUND"})),
    "nothing is behind its begin": Served(frozenset({"PULL_OFFSET_MOVED"})),
    "nobody reads it": _reads(),
    "a red message is sent": _stored(0),
    "a blue message is sent": _stored(1),
    "a group that nobody has joined reads": _NOT_SUBSCRIBED,
    "a consumer of red ones comes": Served(),
    "where its tries again go": Served(says=said(topic=[1, 1, 6, False, *_PLAIN])),
    "it reads what it has subscribed to": _read(2, 2, _RED),
    "it reads what it has not subscribed to yet": Served(frozenset({"SUBSCRIPTION_NOT_LATEST"})),
    "it reads what it has not subscribed to": _NOT_SUBSCRIBED,
    "the consumer wants blue ones": Served(),
    "it reads what it has subscribed to then": _read(2, 2, _BLUE),
    "it reads by an older subscription": _read(2, 2, _BLUE),
    "its progress is told": Served(),
    "how far the group is everywhere": Served(says=said(queues={"0": [2, 1], "1": [0, 0]})),
    "who reads the topic": _reads("-group"),
    "the consumer wants another topic": Served(),
    "how far the group is where it still reads": Served(says=said(queues={})),
    "the consumer of the topic leaves": Served(),
    "a group that nobody is in any more reads": _NOT_SUBSCRIBED,
    "who has read the topic": _reads("-group"),
    "how far the group was": Served(says=said(queues={"0": [2, 1], "1": [0, 0]})),
    "a message with a key is sent": _stored(0),
    "another message with the key is sent": _stored(1),
    "a third message with the key is sent": _stored(0, 1),
    "all that have the key": _found(*_KEYED),
    "the last two that have the key": _found(*_KEYED[1:]),
    "both that have the other key": _found(*_KEYED[1:]),
    "nothing was stored so early": Served(frozenset({"QUERY_NOT_FOUND"})),
    "nothing was stored so late": Served(frozenset({"QUERY_NOT_FOUND"})),
    "nothing has another topic's key": Served(frozenset({"QUERY_NOT_FOUND"})),
    "sends may make topics": Served(),
    "a message is sent to a topic that is not there": _stored(0, 3),
    "which topic was made": Served(says=said(topic=[4, 4, 6, False, *_PLAIN])),
    "a message is sent to a queue that was not made": Served(_ERROR),
    "what made the topic is read": _read(1, 1, _message(3, 0, "first")),
    "nobody may read the topic": Served(),
    "the topic may not be read": Served(frozenset({"NO_PERMISSION"})),
    "the topic has fewer queues to read": Served(),
    "a queue that may not be read": Served(_ERROR),
    "a message is sent to it all the same": _stored(1, 3),
    "the topic has them again": Served(),
    "both were kept": _read(2, 2, _message(3, 0, "first"), _message(3, 1, "second")),
    "what is deleted cannot be read": Served(frozenset({"TOPIC_NOT_EXIST", "SUBSCRIPTION_GROUP_NOT_EXIST"})),
    "a message with a client's own id is sent": _stored(1, 1),
    "the message by its client's id": _found(_message(1, 1, "4")),
    "the message by its client's id as a key": _found(_message(1, 1, "4")),
    "no group is to be made by itself": Served(),
    "a group reads that may not be made": Served(frozenset({"SUBSCRIPTION_GROUP_NOT_EXIST"})),
    "groups are to be made by themselves": Served(),
    "a group reads that is made": Served(frozenset({"PULL_NOT_FOUND"})),
    "a first broker registers": Served(says=said(master="", ha="")),
    "a second broker registers": Served(says=said(master="", ha="")),
    "the way to two brokers": _ways({BROKER: ([3, 2, 6], {"0": MASTER}), SECOND: ([1, 1, 2], {"0": ELSEWHERE})}),
    "two brokers in the cluster": Served(says=said(brokers=[BROKER, SECOND], addresses={"0": MASTER})),
    "the first one's slave registers": Served(says=said(master=MASTER, ha=HA)),
    "the slave takes its master's place": Served(says=said(master="", ha="")),
    "the way to the new master": _ways({BROKER: ([4, 4, 6], {"0": SLAVE}), SECOND: ([1, 1, 2], {"0": ELSEWHERE})}),
    "the old master comes as a slave": Served(says=said(master=SLAVE, ha=HA)),
    "the way to them as they are now": _ways(
        {BROKER: ([4, 4, 6], {"0": SLAVE, "2": MASTER}), SECOND: ([1, 1, 2], {"0": ELSEWHERE})}
    ),
    "somebody leaves in the slave's name": Served(),
    "the way without it": _ways({BROKER: ([4, 4, 6], {"0": SLAVE}), SECOND: ([1, 1, 2], {"0": ELSEWHERE})}),
    "the second broker leaves": Served(),
    "the new master leaves": Served(),
    "the slave leaves at last": Served(),
    "the way when all have left": Served(frozenset({"TOPIC_NOT_EXIST"})),
}

BY_KEY = frozenset({
    "the message by its second key", "one of three by its key", "all that have the key",
    "the last two that have the key", "both that have the other key", "the message by its client's id",
    "the message by its client's id as a key",
})  # fmt: skip
"""What a broker without an index does not find."""
NOT_FOUND = Served(frozenset({"QUERY_NOT_FOUND"}))
