"""Conformance conversations with name servers: brokers register, change, leave, repeat a version, and change their
number.

Source: RouteInfoManager.
"""

from __future__ import annotations

from collections.abc import Sequence

from .asks import ALL_TOPICS, CLUSTERS, STANDARD, compares, goes, registers, way
from .served import (
    BROKER,
    ELSEWHERE,
    FILTER,
    HA,
    MASTER,
    MASTERLESS,
    NO_TOPIC,
    SECOND,
    SLAVE,
    WITH_MASTER,
    Served,
    clustered,
    expects,
    leads,
    ways,
)
from .steps import Ask, Conversation, Step

TOPIC, SMALL = {"visited": (3, 2, 6)}, {"visited": (1, 1, 2)}


def compared(changed: str, counter: int | None) -> Served:
    """Whether the topics differ from the registered ones, and their version."""
    return expects(changed=changed, counter=counter)


_CHANGED = {"visited": (5, 4, 4)}
_ONE = (
    Step("which topics nobody has", ALL_TOPICS, expects(topics=[])),
    Step("a broker compares before it registers", compares(MASTER, 1), compared("true", None)),
    Step("a master registers", registers(0, MASTER, TOPIC, 1, FILTER), MASTERLESS),
    Step("the way to it", way(STANDARD), leads([3, 2, 6], MASTER, filters=(FILTER,))),
    Step("the broker compares, and nothing has changed", compares(MASTER, 1), compared("false", 1)),
    Step("its slave registers", registers(1, SLAVE, TOPIC, 1), WITH_MASTER),
    Step("the way to both", way(), leads([3, 2, 6], MASTER, SLAVE, filters=(FILTER,))),
    Step("both in their cluster", CLUSTERS, clustered(MASTER, SLAVE)),
    Step("which topics they have", ALL_TOPICS, expects(topics=["visited"])),
    Step("the broker compares, and has changed", compares(MASTER, 2), compared("true", 1)),
    Step("the master registers a change, compressed", registers(0, MASTER, _CHANGED, 2, compressed=True), MASTERLESS),
    Step("the way to what is changed", way(STANDARD), leads([5, 4, 4], MASTER, SLAVE)),
    Step("the broker compares, and has changed no more", compares(MASTER, 2), compared("false", 2)),
    Step("the slave leaves", goes(1, SLAVE)),
    Step("the way to the master alone", way(), leads([5, 4, 4], MASTER)),
    Step("the master alone in its cluster", CLUSTERS, clustered(MASTER)),
    Step("the master leaves", goes(0, MASTER)),
    Step("the way to nobody", way(), NO_TOPIC),
    Step("the broker compares when it has left", compares(MASTER, 2), compared("true", None)),
    Step("nobody in the cluster", CLUSTERS, clustered()),
)
TWO_WAYS = ways(visited_broker=([3, 2, 6], {"0": MASTER}), visited_too=([1, 1, 2], {"0": ELSEWHERE}))
_SLAVES_WAY = ways(visited_broker=([4, 4, 6], {"0": SLAVE}), visited_too=([1, 1, 2], {"0": ELSEWHERE}))
_BOTH_WAYS = ways(visited_broker=([4, 4, 6], {"0": SLAVE, "2": MASTER}), visited_too=([1, 1, 2], {"0": ELSEWHERE}))
_TWO = (
    Step("a first broker registers", registers(0, MASTER, TOPIC, 1), MASTERLESS),
    Step("a second broker registers", registers(0, ELSEWHERE, SMALL, 1, broker=SECOND), MASTERLESS),
    Step("the way to two brokers", way(), TWO_WAYS),
    Step("two brokers in the cluster", CLUSTERS, expects(brokers=[BROKER, SECOND], addresses={"0": MASTER})),
    Step("the first one's slave registers", registers(1, SLAVE, TOPIC, 1), WITH_MASTER),
    Step("the slave takes its master's place", registers(0, SLAVE, {"visited": (4, 4, 6)}, 3), MASTERLESS),
    Step("the way to the new master", way(STANDARD), _SLAVES_WAY),
    Step(
        "the old master comes as a slave", registers(2, MASTER, {"visited": (9, 9, 6)}, 1), expects(master=SLAVE, ha=HA)
    ),
    Step("the way to them as they are now", way(), _BOTH_WAYS),
    Step("somebody leaves in the slave's name", goes(2, HA)),
    Step("the way without it", way(), _SLAVES_WAY),
    Step("the second broker leaves", goes(0, ELSEWHERE, SECOND)),
    Step("the new master leaves", goes(0, SLAVE)),
    Step("the slave leaves at last", goes(2, MASTER)),
    Step("the way when all have left", way(), NO_TOPIC),
)


def _registers(
    number: int, address: str, version: tuple[int, int], first: tuple[int, int], second: tuple[int, int] | None = None
) -> Ask:
    """``version``: its counter, and the milliseconds of its time; each topic has its queues and its system flags."""
    given = {"visited": first} if second is None else {"visited": first, "visited-second": second}
    topics = {name: (queues, queues, 6, flags) for name, (queues, flags) in given.items()}
    return registers(number, address, topics, version[0], ms=version[1], ha=HA)


def _leads(queues: int, flags: int, brokers: dict[str, str]) -> Served:
    """To a topic of so many queues, and to brokers by their numbers."""
    return expects(queues=[queues, queues, 6, flags], brokers=brokers, cluster="visited")


_FIRST, _SECOND = way(STANDARD, reads="flagged"), way(STANDARD, topic="visited-second", reads="flagged")
_LISTS = ALL_TOPICS._replace(reads=("all listed",))
_PAIR = {"0": MASTER, "1": SLAVE}
_AGAIN = (
    Step("a slave registers before its master", _registers(1, SLAVE, (9, 9), (9, 9)), MASTERLESS),
    Step("where a slave's topic is", way(), NO_TOPIC),
    Step("a master registers two topics", _registers(0, MASTER, (1, 1), (3, 1), (1, 0)), MASTERLESS),
    Step("where the first topic is", _FIRST, _leads(3, 1, _PAIR)),
    Step("where the second topic is", _SECOND, _leads(1, 0, _PAIR)),
    Step("which topics were registered", _LISTS, expects(topics=["visited", "visited-second"])),
    Step("the master registers others by the same version", _registers(0, MASTER, (1, 1), (5, 0)), MASTERLESS),
    Step("where the first topic still is", _FIRST, _leads(3, 1, _PAIR)),
    Step("the master's time is another", compares(MASTER, 1, ms=2), compared("true", 1)),
    Step("the master registers others by another time", _registers(0, MASTER, (1, 2), (5, 0)), MASTERLESS),
    Step("where the first topic is then", _FIRST, _leads(5, 0, _PAIR)),
    Step("where the second topic still is", _SECOND, _leads(1, 0, _PAIR)),
    Step("the master registers by an older version", _registers(0, MASTER, (0, 0), (6, 2)), MASTERLESS),
    Step("where the first topic is at last", _FIRST, _leads(6, 2, _PAIR)),
    Step("a broker leaves that never came", goes(7, "10.0.0.7:10911")),
    Step("where the first topic is all the same", _FIRST, _leads(6, 2, _PAIR)),
    Step("the slave of two topics leaves", goes(1, SLAVE)),
    Step("the master of two topics leaves", goes(0, MASTER)),
    Step("where no topic is any more", way(), NO_TOPIC),
    Step("which topics are left", _LISTS, expects(topics=[])),
)
_FAR = 1 << 40


def _unchecked(asks: Ask) -> Ask:
    """Without a checksum: the body is not checked."""
    return asks._replace(fields={name: value for name, value in asks.fields.items() if name != "bodyCrc32"})


_NUMBER = (
    Step("a broker registers as a slave", _registers(3, MASTER, (1, 1), (2, 0)), MASTERLESS),
    Step("it registers as the master", _unchecked(_registers(0, MASTER, (1, 1), (2, 0))), MASTERLESS),
    Step("where its topic is", _FIRST, _leads(2, 0, {"0": MASTER})),
    Step("a slave registers with it", _registers(_FAR, SLAVE, (1, 1), (8, 0)), WITH_MASTER),
    Step("where its topic is for both", _FIRST, _leads(2, 0, {"0": MASTER, str(_FAR): SLAVE})),
    Step("the slave takes its own number", _registers(4, SLAVE, (1, 1), (8, 0)), WITH_MASTER),
    Step("where its topic is for both then", _FIRST, _leads(2, 0, {"0": MASTER, "4": SLAVE})),
    Step("the master of one topic leaves", goes(0, MASTER)),
    Step("where its topic is for the slave", _FIRST, _leads(2, 0, {"4": SLAVE})),
    Step("the slave of one topic leaves", goes(4, SLAVE)),
    Step("where the topic of nobody is", way(), NO_TOPIC),
)
OF_NAMES: Sequence[Conversation] = (_ONE, _TWO, _AGAIN, _NUMBER)
