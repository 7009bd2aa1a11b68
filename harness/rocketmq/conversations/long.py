"""Long-running conformance conversations, or with several connections: with brokers, masters alone, and name servers.

RocketMQ checks for silent clients and brokers every 10 s, and for pulls whose time is over every 5 s. So each limit is
tested well before it and well after it.

Left out: a half message without an end, since the reference does not ask its producer; and saved progress, which no
client can observe. Sources: RebalanceLockManager (60 s), ConsumerManager and ProducerManager (120 s),
DefaultConsumerIdsChangeListener, PullRequestHoldService, ScheduleMessageService, RouteInfoManager (120 s).
"""

from __future__ import annotations

from collections.abc import Sequence

from .asks import (
    COMMIT,
    DELETES,
    MAKES,
    PENDING,
    RETRY,
    beats,
    compares,
    consumers,
    consumes,
    decides,
    ends,
    goes,
    leaves,
    locks,
    makes_group,
    producers,
    pulls,
    registers,
    sends,
    sends_back,
    sends_batch,
    sets,
    unlocks,
    way,
)
from .masters import COMMITTED, HALF_SENT, SENT_TO_GO_BACK
from .names import SMALL, TWO_WAYS, compared
from .names import TOPIC as REGISTERED
from .served import (
    CLIENT,
    ELSEWHERE,
    ELSEWHERE_STORED,
    MASTER,
    MASTERLESS,
    NO_TOPIC,
    NOTHING,
    NOTHING_NEW,
    OTHER,
    REFUSED,
    SECOND,
    SLAVE,
    TOLD,
    WAITS,
    WITH_MASTER,
    Served,
    as_text,
    at,
    clients,
    holds,
    message,
    only,
    pulled,
    stored,
    ways,
)
from .steps import CLOSES, HEARS, POSTS, TOPIC, Ask, Conversation, Step

GROUP, QUIET = "visiting-group", f"{TOPIC}-visiting-quietly"
S = 1_000
_BOTH = clients(CLIENT, OTHER)
_TOLD = Served(frozenset({TOLD}), as_text(group=GROUP))
_SILENCE, _CLOSED = only(NOTHING), only("CLOSED")


def _closes(name: str, conn: int) -> Step:
    return Step(name, Ask(""), None, conn, does=CLOSES)


def _hears(name: str, conn: int, served: Served, wait_ms: int = 0) -> Step:
    """Whether a member is notified that its group has changed."""
    return Step(name, Ask("NOTIFY_CONSUMER_IDS_CHANGED", reads=("group changed",)), served, conn, wait_ms, HEARS)


def _waits(name: str, queue: int, offset: int, wait_ms: int, wanted: str = "*", conn: int = 0) -> Step:
    return Step(name, pulls(queue, offset, wanted, wait_ms=wait_ms), None, conn, does=POSTS)


def _pulled(name: str, conn: int, wait_ms: int, served: Served) -> Step:
    return Step(name, Ask("PULL_MESSAGE", reads=("pulled",)), served, conn, wait_ms, HEARS)


def _joins(client: str, *topics: str, group: str = GROUP) -> Ask:
    """A client's heartbeat: it joins a group of producers, and with topics also one of consumers of that name."""
    joined = [consumes(group, *((each, "*", 1) for each in topics))] if topics else []
    return beats(client, consumerDataSet=joined, producerDataSet=[{"groupName": group}])


def _parts(client: str, group: str = GROUP) -> Ask:
    return leaves(client, consumerGroup=group, producerGroup=group)


_LOCKS = (
    Step("a first member locks two queues", locks(CLIENT, 0, 1), holds(0, 1)),
    Step("a second member asks for both after 55 s", locks(OTHER, 0, 1), holds(), 1, 55 * S),
    Step("the first member renews one of them after 57 s", locks(CLIENT, 0), holds(0), 0, 2 * S),
    _closes("the first member's connection ends", 0),
    Step("the second member asks for both after 63 s", locks(OTHER, 0, 1), holds(1), 1, 6 * S),
    Step("the second member asks for the renewed one 55 s later", locks(OTHER, 0), holds(), 1, 49 * S),
    Step("the second member asks for both 62 s later", locks(OTHER, 0, 1), holds(0, 1), 1, 7 * S),
    Step("the second member gives both back", unlocks(OTHER, 0, 1), conn=1),
)
_FORGOTTEN = (
    Step("a first client comes", _joins(CLIENT, "visited")),
    _hears("the first client is told that it came", 0, _TOLD),
    Step("a second client comes", _joins(OTHER, "visited"), conn=1),
    _hears("the first client is told that the second one came", 0, _TOLD, 500),
    Step("the second client beats again after 60 s", _joins(OTHER, "visited"), conn=1, wait_ms=60 * S),
    _hears("the first client is not told that nothing has changed", 0, _SILENCE),
    Step("who consumes after 60 s", consumers(GROUP), _BOTH),
    Step("who consumes after 115 s", consumers(GROUP), _BOTH, wait_ms=54 * S + 500),
    Step("who produces after 115 s", producers(GROUP), _BOTH),
    Step("who consumes after 140 s", consumers(GROUP), clients(OTHER), 1, 25 * S),
    Step("who produces after 140 s", producers(GROUP), clients(OTHER), 1),
    _hears("the first client's connection has been closed", 0, _CLOSED),
    Step("the second client leaves", _parts(OTHER), conn=1),
    Step("who consumes when both have gone", consumers(GROUP), REFUSED, 1),
    Step("who produces when both have gone", producers(GROUP), REFUSED, 1),
)
_ENDED = (
    Step("a first client comes", _joins(CLIENT, "visited")),
    Step("a second client comes", _joins(OTHER, "visited"), conn=1),
    _hears("the first client is told of both", 0, _TOLD, 500),
    _closes("the second client's connection ends", 1),
    _hears("the first client is told that the second one is gone", 0, _TOLD, 500),
    Step("who consumes when one is gone", consumers(GROUP), clients(CLIENT)),
    Step("who produces when one is gone", producers(GROUP), clients(CLIENT)),
    Step("the first client wants one more topic", _joins(CLIENT, "visited", "second")),
    _hears("the first client is told that the group wants more", 0, _TOLD, 100),
    Step("the first client wants it still", _joins(CLIENT, "visited", "second")),
    _hears("the first client is not told of what is as it was", 0, _SILENCE, 100),
    Step("the first client wants one topic less", _joins(CLIENT, "visited")),
    _hears("the first client is told that the group wants less", 0, _TOLD, 100),
    Step("a third client comes", _joins(OTHER, "visited"), conn=2),
    _hears("the first client is told that a third one came", 0, _TOLD, 500),
    Step("the third client leaves", _parts(OTHER), conn=2),
    _hears("the first client is told that the third one left", 0, _TOLD, 500),
    Step("the first client leaves", _parts(CLIENT)),
    Step("who consumes when both have gone", consumers(GROUP), REFUSED, 2),
    Step("who produces when both have gone", producers(GROUP), REFUSED, 2),
)
# 4.9.7 keeps the empty group.
_NOBODY = Served(REFUSED.statuses | {"PUT_OK"}, as_text(clients=[]))
_PRODUCES = (
    Step("a client comes that only produces", _joins(CLIENT)),
    Step("who only produces after 115 s", producers(GROUP), clients(CLIENT), wait_ms=115 * S),
    Step("who only produces after 140 s", producers(GROUP), _NOBODY, 1, 25 * S),
    _hears("its connection has been closed", 0, _CLOSED),
)
_LESS = "visiting-less"
_JOINS_BOTH = beats(
    CLIENT, consumerDataSet=[consumes(each, ("visited", "*", 1)) for each in (GROUP, _LESS)],
    producerDataSet=[{"groupName": each} for each in (GROUP, _LESS)],
)  # fmt: skip
_ONE_LESS = (
    Step("a client comes with two groups", _JOINS_BOTH),
    Step("the client beats for one group after 60 s", _joins(CLIENT, "visited"), wait_ms=60 * S),
    Step("who consumes in the other group after 115 s", consumers(_LESS), clients(CLIENT), wait_ms=55 * S),
    Step("who produces in the other group after 115 s", producers(_LESS), clients(CLIENT)),
    Step("who consumes in the other group after 140 s", consumers(_LESS), _NOBODY, 1, 25 * S),
    Step("who produces in the other group after 140 s", producers(_LESS), _NOBODY, 1),
    # The broker has closed the connection of both.
    Step("who consumes in either group then", consumers(GROUP), _NOBODY, 1),
)
OF_BROKERS: Sequence[Conversation] = (_LOCKS, _FORGOTTEN, _ENDED, _PRODUCES, _ONE_LESS)


_UNTOLD = (
    Step("a group is made that wants to hear nothing", makes_group(QUIET, notifyConsumerIdsChangedEnable=False)),
    Step("a client joins it", _joins(CLIENT, "visited", group=QUIET)),
    Step("another client joins it", _joins(OTHER, "visited", group=QUIET), conn=1),
    Step("who is in the group that hears nothing", consumers(QUIET), _BOTH),
    Step("the other client leaves it", _parts(OTHER, QUIET), conn=1),
    _hears("the client hears nothing of all that", 0, _SILENCE, 500),
    Step("the client leaves it", _parts(CLIENT, QUIET)),
    Step("the group wants to hear again", makes_group(QUIET)),
)
_LONG = Step("pulls are to wait long", sets("longPollingEnable=true"))
_HELD = (
    _LONG,
    *MAKES,
    _waits("a pull waits for 20 s", 1, 0, 20 * S),
    Step("a message comes into the queue beside", sends(0, "beside"), stored(0), 1),
    _pulled("nothing has come for the pull", 0, 1 * S, _SILENCE),
    Step("a message comes for the pull", sends(1, "awaited"), stored(0, 1), 1),
    _pulled("the pull is answered at once", 0, 500, pulled(1, 1, message(1, 0, "awaited"))),
    _waits("a pull waits for 7 s", 1, 1, 7 * S),
    _pulled("nothing comes before the time is over", 0, 6 * S, _SILENCE),
    _pulled("the time of the pull is over", 0, 7 * S, NOTHING_NEW),
    _waits("a pull waits on a connection that ends", 1, 1, 20 * S),
    _closes("the connection ends on which it waits", 0),
    Step("a message comes when nobody waits", sends(1, "late"), stored(1, 1), 1),
    Step("the message for which nobody waited", pulls(1, 1), pulled(2, 2, message(1, 1, "late")), 1),
    *[each._replace(conn=1) for each in DELETES],
)
# Alternatively the broker has checked in between, as it does every 5 s, and the pull may continue.
_BLUE = pulled(2, 2, message(0, 1, "two", TAGS="blue"))._replace(
    statuses=frozenset({"PUT_OK", "PULL_RETRY_IMMEDIATELY"})
)
_RED = pulled(1, 1, message(0, 0, "one", TAGS="red"))
_HELD_BY_TAG = (
    _LONG,
    *MAKES,
    _waits("a pull waits for a blue one", 0, 0, 15 * S, "blue"),
    _waits("a pull waits for any", 0, 0, 15 * S, conn=2),
    Step("a red one comes", sends(0, "one", TAGS="red"), stored(0), 1),
    _pulled("the red one is enough for the other pull", 2, 500, _RED),
    Step("a blue one comes", sends(0, "two", TAGS="blue"), stored(1), 1),
    _pulled("the blue one has come", 0, 500, _BLUE),
    *DELETES,
)
_HELD_SHORTLY = (
    Step("pulls are to wait shortly", sets("longPollingEnable=false")),
    *MAKES,
    _waits("a pull wants to wait for 30 s", 0, 0, 30 * S),
    _pulled("nothing has come for it yet", 0, 700, _SILENCE),
    _pulled("it has not waited for so long", 0, 7 * S, NOTHING_NEW),
    _LONG,
    *DELETES,
)
_LATER = pulled(1, 1, message(0, 0, "later", TAGS="red"))
_DELAYED = (
    *MAKES,
    Step("a message is sent that is delayed", sends(0, "later", DELAY="1", TAGS="red"), ELSEWHERE_STORED),
    Step("nothing has come after 700 ms", ends(0), at(0), 1, 700),
    Step("the delayed message has come", pulls(0, 0), _LATER, 1, 1_300),
    SENT_TO_GO_BACK,
    Step("it is sent back for a second", sends_back(1), WAITS),
    Step("it is not back after 700 ms", ends(0, RETRY), at(0), 1, 700),
    Step("it is back after 2 s", ends(0, RETRY), at(1), 1, 1_300),
    *DELETES,
)
_PENDING = (
    *MAKES,
    HALF_SENT,
    # RocketMQ does not answer that.
    Step("the producer does not know yet", decides(PENDING), None, 1, does=POSTS),
    Step("nothing is in its queue", ends(0), at(0)),
    Step("the producer commits", decides(COMMIT), WAITS, 1),
    Step("what was committed is read", pulls(0, 0), COMMITTED, 1, 500),
    *DELETES,
)
_FAR = (
    *MAKES,
    # More than the 800 entries of a queue that one pull examines.
    *[Step("other ones are sent", sends_batch(0, "1", "2", "3", "4", reads=()))] * 201,
    Step("a blue one is sent behind them", sends(0, "blue", TAGS="blue", reads=())),
    Step("a pull ends before the blue one", pulls(0, 0, "blue"), only("PULL_RETRY_IMMEDIATELY")),
    # On real brokers a pull ends at the end of a queue's file, too.
    Step(
        "a pull at the blue one finds it", pulls(0, 804, "blue"), pulled(805, 805, message(0, 804, "blue", TAGS="blue"))
    ),
    *DELETES,
)
OF_MASTERS: Sequence[Conversation] = (_UNTOLD, _HELD, _HELD_BY_TAG, _HELD_SHORTLY, _DELAYED, _PENDING, _FAR)

# Name servers. In each conversation one broker expires: the check of 4.9.7 may end at the first one that it finds.

_ONE_WAY = ways(visited_broker=([3, 2, 6], {"0": MASTER}))
_TOO = registers(0, ELSEWHERE, SMALL, 1, broker=SECOND)
_AGES = (
    Step("a first broker registers", registers(0, MASTER, REGISTERED, 1), MASTERLESS),
    Step("a second broker registers", _TOO, MASTERLESS, 1),
    Step("the first broker compares after 60 s", compares(MASTER, 1), compared("false", 1), 0, 60 * S),
    Step("the way to two brokers", way(), TWO_WAYS, 1, 55 * S),
    Step("the way to the broker that was heard of", way(), _ONE_WAY, 0, 25 * S),
    _hears("the second broker's connection has been closed", 1, _CLOSED),
    Step("the first broker leaves", goes(0, MASTER)),
    Step("the way to nobody", way(), NO_TOPIC),
)
_LONELY = (
    Step("a lonely broker registers", registers(0, MASTER, REGISTERED, 1), MASTERLESS),
    Step("the lonely broker compares after 60 s", compares(MASTER, 1), compared("false", 1), 0, 60 * S),
    Step("the way to it 115 s after it was heard of", way(), _ONE_WAY, 1, 115 * S),
    Step("the way to nobody", way(), NO_TOPIC, 1, 25 * S),
    _hears("the lonely broker's connection has been closed", 0, _CLOSED),
)
_LOST = (
    Step("a master registers", registers(0, MASTER, REGISTERED, 1), MASTERLESS),
    Step("its slave registers", registers(1, SLAVE, REGISTERED, 1), WITH_MASTER, 1),
    Step("a second master registers", _TOO, MASTERLESS, 2),
    _closes("the slave's connection ends", 1),
    Step("the way to two brokers", way(), TWO_WAYS, 2, 500),
    Step("the master registers over another connection", registers(0, MASTER, REGISTERED, 1), MASTERLESS, 3),
    _closes("the master's old connection ends", 0),
    Step("the way to two brokers", way(), TWO_WAYS, 2, 500),
    _closes("the master's new connection ends", 3),
    Step("the way to the second one alone", way(), ways(visited_too=([1, 1, 2], {"0": ELSEWHERE})), 2, 500),
    Step("the second broker leaves", goes(0, ELSEWHERE, SECOND), conn=2),
    Step("the way to nobody", way(), NO_TOPIC, 2),
)
OF_NAMES: Sequence[Conversation] = (_AGES, _LONELY, _LOST)
