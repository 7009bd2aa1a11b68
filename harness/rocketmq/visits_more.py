"""How masters answer at the borders of what may be said, slaves, and name servers: see ``visits`` beside this module.

Measured as those are. What 5.5.0 answers otherwise, and the reference as 4.9.7, is in :data:`NOT_IN_5`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pairproof.harness.rocketmq.served import (
    ERROR,
    HA,
    MASTER,
    SLAVE,
    Served,
    at,
    compared,
    found,
    holds,
    message,
    pulled,
    said,
    stored,
)  # fmt: skip

_MOST_INT, _MOST_LONG, _MOST_QUEUES = (1 << 31) - 1, (1 << 63) - 1, 10_000
_FIRST = Served(frozenset({"PUT_OK", "QUERY_NOT_FOUND"}), said(offset=0))
"""A group without progress begins at the queue's first message, if that counts as being in memory."""
_WAITS = Served(frozenset({"PUT_OK", "UNANSWERED"}))
"""The reference waits for a slave, or a disk, where no time passes."""
_STORED = _WAITS.statuses | {"SLAVE_NOT_AVAILABLE", "FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"}
_ILLEGAL = Served(ERROR | {"MESSAGE_ILLEGAL"})
_NO_SENDS = Served(frozenset({"SERVICE_NOT_AVAILABLE", "SYSTEM_BUSY"}))
_MORE = Served(says=said(more=1))
_BUSY = frozenset({"SYSTEM_BUSY", "SUBSCRIPTION_GROUP_NOT_EXIST"})
"""A slave of 5.x that is not for reading; one that makes no groups by itself."""
_LONG = message(0, 0, "long", KEYS="k", TAGS="t")


def _placed(offset: int, queue: int = 0) -> Served:
    return Served(says=said(queue=queue, offset=offset))


def _counted(messages: int, following: int, on_disk: tuple[int, int] | None = None) -> Served:
    """``on_disk``: both numbers where the messages do not count as being in memory."""
    other = None if on_disk is None else said(messages=on_disk[0], next=on_disk[1])
    return Served(says=said(messages=messages, next=following), or_says=other)


def _topic(readers: int, writers: int, perm: int) -> Served:
    return Served(says=said(topic=[readers, writers, perm, False, "SINGLE_TAG", 0]))


def _again(body: str, times: int) -> Served:
    kept = {"TAGS": "red", "colour": "b"}
    return Served(says=said(body=body, flag=5, times=times, origin=True, kept=kept))


def _suggests(broker: int, slow: int | None = None) -> Served:
    return Served(says=said(broker=broker), or_says=None if slow is None else said(broker=slow))


def _wants(tags: str, version: int) -> Served:
    return Served(says=said(topics={"visited": [tags, version]}))


def _indexed(*bodies: str) -> Served:
    return Served(says=said(bodies=list(bodies), to_last=True))


AT_BORDERS: Mapping[str, Served] = {
    "a topic of one queue is made": Served(),
    "a message is sent to any queue": _placed(0),
    "a message is sent without properties": _placed(1)._replace(statuses=_STORED),
    "a message is sent that is not half a transaction": _placed(2),
    "a message is sent that is not delayed": _placed(3),
    "a batch of one is sent": _placed(4),
    "several are sent at once": Served(),
    "one more is sent": _placed(44),
    "as many are read as are given at once": _counted(32, 32, (8, 8)),
    "those behind them are read": _counted(13, 45, (8, 40)),
    "none are asked for, and one is read": _counted(1, 1),
    "it is read before its begin": Served(frozenset({"PULL_OFFSET_MOVED"})),
    "it is read without a word about tags": _counted(1, 1),
    "it is read without a subscription": _counted(1, 1),
    "blanks around a star are a tag": Served(frozenset({"PULL_RETRY_IMMEDIATELY"})),
    "bars without a tag": Served(frozenset({"SUBSCRIPTION_PARSE_FAILED"})),
    "the message of the first time there is": at(0),
    "a queue that is not there ends": at(0),
    "a half message is sent by its property": Served(),
    "the queue ends before it": at(45),
    "which delays there are": Served(),
    "where the longest delay ends": Served(),
    "a message is delayed for longer than can be": Served(says=said(queue=0, ids=1, length=32)),
    "it waits for the longest delay": _MORE,
    "a topic of the longest name is made": Served(),
    "which topic has the longest name": _topic(1, 1, 6),
    "a group of a long name is made": Served(),
    "a message is sent to the longest name": stored(0),
    "the longest name is read": pulled(1, 1, _LONG),
    "the longest name has the key": found(_LONG),
    "where the longest name ends, by a long header": at(1),
    "a topic of a longer name is made": Served(ERROR),
    "a message is sent to a longer name": _ILLEGAL,
    "a topic of no name is made": Served(ERROR),
    "the longest name is deleted": Served(),
    "the long group is deleted": Served(),
    "a topic without queues is made": Served(),
    "which topic has no queues": _topic(0, 0, 0),
    "a topic of one queue may be anything": Served(),
    "which topic has one queue": _topic(1, 1, 1),
    "a topic of many queues is made": Served(),
    "which topic has many queues": _topic(_MOST_QUEUES, _MOST_QUEUES, 7),
    "a group of the largest numbers is made": Served(),
    "which group has the largest numbers": Served(
        says=said(group=[_MOST_LONG, True, True, True, True, -1, 0, _MOST_LONG])
    ),
    "a group of other large numbers is made": Served(),
    "which group has other large numbers": Served(
        says=said(group=[0, True, True, True, True, _MOST_INT, _MOST_QUEUES, 0])
    ),
    "nothing of the group is tried again": Served(),
    "a message is sent to be tried never again": stored(0),
    "it is sent back without effect": Served(),
    "nothing is to be tried again": at(0),
    "what failed twice is not tried again": Served(),
    "a message is sent that failed twice": stored(0, 1),
    "where the dead letters end": at(0),
    "it is sent back too often": _WAITS,
    "it is among the dead letters then": _MORE,
    "the dead letters may be read": Served(),
    "how many dead letters there are": at(1),
    "the last dead letter is read": _again("twice", 3),
    "what failed twice is tried again": Served(),
    "where the second delay ends": Served(),
    "a message is sent that failed once": stored(1, 1),
    "it is sent back for the second delay": _WAITS,
    "it waits for the second delay": _MORE,
    "what waits for the second delay is read": _again("once", 2),
    "a message is sent that is to fail": stored(1),
    "it is sent back for longer than can be": _WAITS,
    "where the fifth delay ends": Served(),
    "another message is sent that failed twice": stored(2, 1),
    "it is sent back, and the broker chooses": _WAITS,
    "it waits for the fifth delay": _MORE,
    "the group is to read elsewhere": Served(),
    "a message is sent to be read elsewhere": stored(0),
    "slaves are not for reading": Served(),
    "where it is to be read": _suggests(0),
    "slaves are for reading": Served(),
    "where it is to be read then": _suggests(3, slow=2),
    "slaves are for reading no more": Served(),
    "where it is to be read at last": _suggests(0),
    "the message is where its id says": Served(says=said(host=True, offset=True)),
    "the index goes up to it": _indexed("1"),
    "a second message has its key": stored(1),
    "the index goes up to the second one": _indexed("1", "2"),
    "progress goes beyond the end": Served(),
    "the progress beyond the end": at(999),
    "how far beyond the end it is": Served(says=said(queues={"0": [0, 0], "1": [1, 999]})),
    "progress goes to the last number": Served(),
    "the last progress there can be": at(_MOST_LONG),
    "progress is unknown again": Served(),
    "how far the group is without progress": Served(says=said(queues={"0": [0, 0], "1": [1, 0]})),
    "where it begins without progress": _FIRST,
    "it is said plainly": Served(),
    "what was said plainly": _wants("a", 1),
    "it is said with blanks": Served(),
    "what was said with blanks": _wants("a", 2),
    "it is said with escapes": Served(),
    "what was said with escapes": _wants('ä😀\t\n"/\\\b\f\r', 3),
    "it is said with control characters": Served(),
    "what was said with control characters": _wants("a\t\x01b", 4),
    "it is said in other letters": Served(),
    "what was said in other letters": _wants("ä😀", 5),
    "it is said beside unknown fields": Served(),
    "what was said beside unknown fields": _wants("a", 6),
    "it is said twice": Served(),
    "what was said at last": _wants("b", 7),
    "it is said with nothing": Served(),
    "what was said with nothing": _wants("a", 8),
    "it is said in single quotes": Served(),
    "what was said in single quotes": _wants("a'\"b", 9),
    "it is said with bare names": Served(),
    "what was said with bare names": _wants("a", 10),
    "it is said by the last version": Served(),
    "what was said by the last version": _wants("a", _MOST_LONG),
    "nothing is locked": holds(),
    "a queue is locked, named twice": holds(5),
    "its holder locks it again": holds(5),
    "another group locks the queue, too": holds(5),
    "somebody else gives it back": Served(),
    "somebody else locks it, without effect": holds(),
    "its holder locks it, and more": holds(5, 6, 7),
    "its holder gives some back": Served(),
    "somebody else locks what is free": holds(5, 7),
    "its holder gives all back": Served(),
    "somebody else gives all back": Served(),
    "the other group gives all back": Served(),
}
BY_SLAVES: Mapping[str, Served] = {
    "a slave is sent a message": _NO_SENDS,
    "a slave is sent a message to a topic that is not there": _NO_SENDS,
    "a slave is to make a topic": Served(ERROR),
    "a slave is to delete a topic": Served(ERROR),
    "a slave is to make a group": Served(ERROR),
    "a slave is to delete a group": Served(ERROR),
    "a slave is sent a message back": Served(ERROR),
    "a slave is to end a transaction": Served(frozenset({"SLAVE_NOT_AVAILABLE"})),
    "a slave's empty queue is read": Served(_BUSY | {"PULL_NOT_FOUND"}),
    "a slave's empty queue is read behind its end": Served(_BUSY | {"PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED"}),
    "a slave's queue is read that is not there": Served(_BUSY | ERROR),
    "a slave's empty queue ends": at(0),
    "a consumer comes to a slave": Served(),
    "a slave is told progress": Served(),
    "the progress that a slave was told": at(9),
    "a slave is told progress by a pull": Served(_BUSY | {"PULL_NOT_FOUND"}),
    "the progress that a slave still has": at(9),
    "a slave is told progress that is none": Served(),
    "no progress that a slave has": at(0),
    "the consumer leaves the slave": Served(),
    "a slave's empty queue begins": at(0),
    "nothing was ever stored in a slave's empty queue": Served(says=said(ms=-1)),
    "nothing is in a slave's empty queue since any time": at(0),
    "how far a slave's empty topic goes": Served(says=said(queues={"0": [0, 0]})),
    "a slave has nothing with such a key": Served(frozenset({"QUERY_NOT_FOUND"})),
    "a slave has nothing so far on": Served(ERROR),
}
_GONE = Served(frozenset({"TOPIC_NOT_EXIST"}))
_REGISTERED = Served(says=said(master="", ha=""))
_WITH_MASTER = Served(says=said(master=MASTER, ha=HA))


def _leads(queues: int, flags: int, **brokers: str) -> Served:
    """To a topic of so many queues, and to brokers by their numbers, each with a letter before it."""
    addresses = {number[1:]: address for number, address in brokers.items()}
    return Served(says=said(queues=[queues, queues, 6, flags], brokers=addresses, cluster="visited"))


_FIRST_TOPIC = _leads(3, 1, b0=MASTER, b1=SLAVE)
_SECOND_TOPIC = _leads(1, 0, b0=MASTER, b1=SLAVE)
_OLDER_TOPIC = _leads(6, 2, b0=MASTER, b1=SLAVE)
BY_NAMES: Mapping[str, Served] = {
    "a slave registers before its master": _REGISTERED,
    "where a slave's topic is": _GONE,
    "a master registers two topics": _REGISTERED,
    "where the first topic is": _FIRST_TOPIC,
    "where the second topic is": _SECOND_TOPIC,
    "which topics were registered": Served(says=said(topics=["visited", "visited-second"])),
    "the master registers others by the same version": _REGISTERED,
    "where the first topic still is": _FIRST_TOPIC,
    "the master's time is another": compared("true", 1),
    "the master registers others by another time": _REGISTERED,
    "where the first topic is then": _leads(5, 0, b0=MASTER, b1=SLAVE),
    "where the second topic still is": _SECOND_TOPIC,
    "the master registers by an older version": _REGISTERED,
    "where the first topic is at last": _OLDER_TOPIC,
    "a broker leaves that never came": Served(),
    "where the first topic is all the same": _OLDER_TOPIC,
    "the slave of two topics leaves": Served(),
    "the master of two topics leaves": Served(),
    "where no topic is any more": _GONE,
    "which topics are left": Served(says=said(topics=[])),
    "a broker registers as a slave": _REGISTERED,
    "it registers as the master": _REGISTERED,
    "where its topic is": _leads(2, 0, b0=MASTER),
    "a slave registers with it": _WITH_MASTER,
    "where its topic is for both": _leads(2, 0, b0=MASTER, b1099511627776=SLAVE),
    "the slave takes its own number": _WITH_MASTER,
    "where its topic is for both then": _leads(2, 0, b0=MASTER, b4=SLAVE),
    "the master of one topic leaves": Served(),
    "where its topic is for the slave": _leads(2, 0, b4=SLAVE),
    "the slave of one topic leaves": Served(),
    "where the topic of nobody is": _GONE,
}
NOT_IN_5 = frozenset({
    # It reads JSON of another parser.
    "it is said in single quotes", "what was said in single quotes",
    "it is said with bare names", "what was said with bare names",
    # Its slaves take what only masters should, and answer nothing else as busy.
    "a slave is to make a topic", "a slave is to make a group", "a slave is to delete a group",
    "a slave is sent a message back", "no progress that a slave has",
})  # fmt: skip
