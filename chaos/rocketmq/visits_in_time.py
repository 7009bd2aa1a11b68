"""Visits in which time passes, or which use several connections: to brokers, to masters alone, and to name servers.

RocketMQ looks around from time to time: for clients and brokers that are silent every 10 s, for pulls whose time is
over every 5 s. So each limit is asked about well before it and well behind it. What is to be answered, see
``pairproof.harness.rocketmq.visits_in_time``.

Left out: a half message that nobody ends, since the reference does not ask its producer; that progress is saved, which
no visitor sees.
Source: RebalanceLockManager, ConsumerManager, ProducerManager, DefaultConsumerIdsChangeListener,
PullRequestHoldService, ScheduleMessageService, RouteInfoManager.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.chaos.rocketmq.steps_of_masters import (
    COMMIT,
    HALF,
    PENDING,
    PRODUCERS,
    decides,
    ends,
    group_of,
    makes_group,
    pulls,
    sends,
    sends_back,
    sets,
)
from pairproof.chaos.rocketmq.visits import (
    CLOSES,
    HEARS,
    POSTS,
    Read,
    Step,
    as_json,
    compares,
    connected,
    consumes,
    goes,
    locks,
    members,
    registers,
    unlocks,
    way,
)
from pairproof.chaos.rocketmq.visits_of_masters import Visit, deleted, made
from pairproof.harness.rocketmq.served import ELSEWHERE, MASTER, OTHER, SECOND, SLAVE, VISITOR, said

GROUP, SILENT_GROUP = "visiting-group", "visiting-quietly"
S = 1_000


def over(conn: int, step: Step, wait_ms: int = 0) -> Step:
    """A step of another connection, or after some time."""
    return step._replace(conn=conn, wait_ms=wait_ms)


def closes(name: str, conn: int) -> Step:
    """The visitor closes one of its connections."""
    return Step(name, 0, does=CLOSES, conn=conn)


def hears(name: str, conn: int, code: int, wait_ms: int = 0, read: Read | None = None) -> Step:
    """What came over a connection that has this code, or answers a request that has."""
    return Step(name, code, read=read, does=HEARS, conn=conn, wait_ms=wait_ms)


def waits(name: str, topic: str, queue: int, offset: int, wait_ms: int, wanted: str = "*") -> Step:
    """A pull that waits for so long at most."""
    step = pulls(name, topic, queue, offset, wanted)
    assert not callable(step.fields)
    return step._replace(fields={**step.fields, "sysFlag": "6", "suspendTimeoutMillis": str(wait_ms)}, does=POSTS)


def pulled(name: str, topic: str, conn: int, wait_ms: int = 0) -> Step:
    """What came of a pull that waits."""
    return hears(name, conn, Request.PULL_MESSAGE, wait_ms, pulls(name, topic, 0, 0).read)


def joins(
    name: str, client: str, conn: int, group: str = GROUP, wait_ms: int = 0, topics: Sequence[str] = ("visited",)
) -> Step:
    """A client's heartbeat: it is in a group of producers, and if it wants topics in one of consumers of that name."""
    joined = [consumes(group, *((each, "*", 1) for each in topics))] if topics else []
    told = {"clientID": client, "consumerDataSet": joined, "producerDataSet": [{"groupName": group}]}
    return Step(name, Request.HEART_BEAT, body=as_json(told), conn=conn, wait_ms=wait_ms)


def parts(name: str, client: str, conn: int, group: str = GROUP) -> Step:
    """A client leaves both groups."""
    fields = {"clientID": client, "consumerGroup": group, "producerGroup": group}
    return Step(name, Request.UNREGISTER_CLIENT, fields, conn=conn)


def consumers(name: str, conn: int, group: str = GROUP, wait_ms: int = 0) -> Step:
    """Who consumes."""
    fields = {"consumerGroup": group}
    return Step(name, Request.GET_CONSUMER_LIST_BY_GROUP, fields, read=members, conn=conn, wait_ms=wait_ms)


def producers(name: str, conn: int, group: str = GROUP, wait_ms: int = 0) -> Step:
    """Who produces."""
    fields = {"producerGroup": group}
    return Step(name, Request.GET_PRODUCER_CONNECTION_LIST, fields, read=connected, conn=conn, wait_ms=wait_ms)


def is_told(name: str, conn: int, wait_ms: int = 0) -> Step:
    """Whether a member hears that its group has changed."""

    def read(answered: Answered) -> str:
        return said(group=answered.fields["consumerGroup"])

    return hears(name, conn, Request.NOTIFY_CONSUMER_IDS_CHANGED, wait_ms, read)


# Brokers.

_LOCKS = (
    locks("a first member locks two queues", VISITOR, 0, 1),
    over(1, locks("a second member asks for both after 55 s", OTHER, 0, 1), 55 * S),
    over(0, locks("the first member renews one of them after 57 s", VISITOR, 0), 2 * S),
    closes("the first member's connection ends", 0),
    over(1, locks("the second member asks for both after 63 s", OTHER, 0, 1), 6 * S),
    over(1, locks("the second member asks for the renewed one 55 s later", OTHER, 0), 49 * S),
    over(1, locks("the second member asks for both 62 s later", OTHER, 0, 1), 7 * S),
    over(1, unlocks("the second member gives both back", OTHER, 0, 1)),
)
_FORGOTTEN = (
    joins("a first client comes", VISITOR, 0),
    is_told("the first client is told that it came", 0),
    joins("a second client comes", OTHER, 1),
    is_told("the first client is told that the second one came", 0, 500),
    joins("the second client beats again after 60 s", OTHER, 1, wait_ms=60 * S),
    is_told("the first client is not told that nothing has changed", 0),
    consumers("who consumes after 60 s", 0),
    consumers("who consumes after 115 s", 0, wait_ms=54 * S + 500),
    producers("who produces after 115 s", 0),
    consumers("who consumes after 140 s", 1, wait_ms=25 * S),
    producers("who produces after 140 s", 1),
    is_told("the first client's connection has been closed", 0),
    parts("the second client leaves", OTHER, 1),
    consumers("who consumes when both have gone", 1),
    producers("who produces when both have gone", 1),
)
_CLOSED = (
    joins("a first client comes", VISITOR, 0),
    joins("a second client comes", OTHER, 1),
    is_told("the first client is told of both", 0, 500),
    closes("the second client's connection ends", 1),
    is_told("the first client is told that the second one is gone", 0, 500),
    consumers("who consumes when one is gone", 0),
    producers("who produces when one is gone", 0),
    joins("the first client wants one more topic", VISITOR, 0, topics=("visited", "second")),
    is_told("the first client is told that the group wants more", 0, 100),
    joins("the first client wants it still", VISITOR, 0, topics=("visited", "second")),
    is_told("the first client is not told of what is as it was", 0, 100),
    joins("the first client wants one topic less", VISITOR, 0),
    is_told("the first client is told that the group wants less", 0, 100),
    joins("a third client comes", OTHER, 2),
    is_told("the first client is told that a third one came", 0, 500),
    parts("the third client leaves", OTHER, 2),
    is_told("the first client is told that the third one left", 0, 500),
    parts("the first client leaves", VISITOR, 0),
    consumers("who consumes when both have gone", 2),
    producers("who produces when both have gone", 2),
)
_PRODUCES = (
    joins("a client comes that only produces", VISITOR, 0, topics=()),
    producers("who only produces after 115 s", 0, wait_ms=115 * S),
    producers("who only produces after 140 s", 1, wait_ms=25 * S),
    hears("its connection has been closed", 0, 0),
)
OF_BROKERS: Sequence[Visit] = (_LOCKS, _FORGOTTEN, _CLOSED, _PRODUCES)


# Masters.


def _untold(topic: str) -> Visit:
    group = f"{topic}-{SILENT_GROUP}"
    return (
        makes_group("a group is made that wants to hear nothing", group, notifyConsumerIdsChangedEnable=False),
        joins("a client joins it", VISITOR, 0, group),
        joins("another client joins it", OTHER, 1, group),
        consumers("who is in the group that hears nothing", 0, group),
        parts("the other client leaves it", OTHER, 1, group),
        is_told("the client hears nothing of all that", 0, 500),
        parts("the client leaves it", VISITOR, 0, group),
        makes_group("the group wants to hear again", group),
    )


def _held(topic: str) -> Visit:
    return (
        sets("pulls are to wait long", b"longPollingEnable=true"),
        *made(topic),
        waits("a pull waits for 20 s", topic, 1, 0, 20 * S),
        over(1, sends("a message comes into the queue beside", topic, 0, b"beside")),
        pulled("nothing has come for the pull", topic, 0, 1 * S),
        over(1, sends("a message comes for the pull", topic, 1, b"awaited")),
        pulled("the pull is answered at once", topic, 0, 500),
        waits("a pull waits for 7 s", topic, 1, 1, 7 * S),
        pulled("nothing comes before the time is over", topic, 0, 6 * S),
        pulled("the time of the pull is over", topic, 0, 7 * S),
        waits("a pull waits on a connection that ends", topic, 1, 1, 20 * S),
        closes("the connection ends on which it waits", 0),
        over(1, sends("a message comes when nobody waits", topic, 1, b"late")),
        over(1, pulls("the message for which nobody waited", topic, 1, 1)),
        *[over(1, each) for each in deleted(topic)],
    )


def _held_by_tag(topic: str) -> Visit:
    return (
        sets("pulls are to wait long", b"longPollingEnable=true"),
        *made(topic),
        waits("a pull waits for a blue one", topic, 0, 0, 15 * S, "blue"),
        over(2, waits("a pull waits for any", topic, 0, 0, 15 * S)),
        over(1, sends("a red one comes", topic, 0, b"one", TAGS="red")),
        pulled("the red one is enough for the other pull", topic, 2, 500),
        over(1, sends("a blue one comes", topic, 0, b"two", TAGS="blue")),
        # Or the broker has looked in between, as it does every 5 s, and says that the pull may go on.
        pulled("the blue one has come", topic, 0, 500),
        *deleted(topic),
    )


def _held_shortly(topic: str) -> Visit:
    return (
        sets("pulls are to wait shortly", b"longPollingEnable=false"),
        *made(topic),
        waits("a pull wants to wait for 30 s", topic, 0, 0, 30 * S),
        pulled("nothing has come for it yet", topic, 0, 700),
        pulled("it has not waited for so long", topic, 0, 7 * S),
        sets("pulls are to wait long", b"longPollingEnable=true"),
        *deleted(topic),
    )


def _delayed(topic: str) -> Visit:
    retry = f"%RETRY%{group_of(topic)}"
    return (
        *made(topic),
        sends("a message is sent that is delayed", topic, 0, b"later", DELAY="1", TAGS="red"),
        over(1, ends("nothing has come after 700 ms", topic, 0), 700),
        over(1, pulls("the delayed message has come", topic, 0, 0), 1_300),
        sends("a message is sent to be sent back", topic, 1, b"back", TAGS="red"),
        sends_back("it is sent back for a second", 1, topic),
        over(1, ends("it is not back after 700 ms", retry, 0), 700),
        over(1, ends("it is back after 2 s", retry, 0), 1_300),
        *deleted(topic),
    )


def _pending(topic: str) -> Visit:
    half = sends("a half message is sent", topic, 0, b"half", flags=HALF, TAGS="red", TRAN_MSG="true", PGROUP=PRODUCERS)
    return (
        *made(topic),
        half,
        # RocketMQ does not answer that.
        over(1, decides("the producer does not know yet", PENDING))._replace(does=POSTS),
        ends("nothing is in its queue", topic, 0),
        over(1, decides("the producer commits", COMMIT)),
        over(1, pulls("what was committed is read", topic, 0, 0), 500),
        *deleted(topic),
    )


VISITS: Sequence[Callable[[str], Visit]] = (_untold, _held, _held_by_tag, _held_shortly, _delayed, _pending)
"""Each is given the topic that it makes."""
OF_MASTERS: Sequence[Visit] = (*OF_BROKERS, *(each("visited-in-time") for each in VISITS))


# Name servers.

_TOPIC, _SMALL = (3, 2, 6), (1, 1, 2)
# In each of them one broker grows old: what looks for them on 4.9.7 may end at the first that it finds.
OF_NAMES: Sequence[Visit] = (
    (
        registers("a first broker registers", 0, MASTER, _TOPIC, 1),
        over(1, registers("a second broker registers", 0, ELSEWHERE, _SMALL, 1, broker=SECOND)),
        over(0, compares("the first broker compares after 60 s", MASTER, 1), 60 * S),
        over(1, way("the way to two brokers"), 55 * S),
        over(0, way("the way to the broker that was heard of"), 25 * S),
        hears("the second broker's connection has been closed", 1, 0),
        over(0, goes("the first broker leaves", 0, MASTER)),
        over(0, way("the way to nobody")),
    ),
    (
        registers("a lonely broker registers", 0, MASTER, _TOPIC, 1),
        over(0, compares("the lonely broker compares after 60 s", MASTER, 1), 60 * S),
        over(1, way("the way to it 115 s after it was heard of"), 115 * S),
        over(1, way("the way to nobody"), 25 * S),
        hears("the lonely broker's connection has been closed", 0, 0),
    ),
    (
        registers("a master registers", 0, MASTER, _TOPIC, 1),
        over(1, registers("its slave registers", 1, SLAVE, _TOPIC, 1)),
        over(2, registers("a second master registers", 0, ELSEWHERE, _SMALL, 1, broker=SECOND)),
        closes("the slave's connection ends", 1),
        over(2, way("the way to two brokers"), 500),
        over(3, registers("the master registers over another connection", 0, MASTER, _TOPIC, 1)),
        closes("the master's old connection ends", 0),
        over(2, way("the way to two brokers"), 500),
        closes("the master's new connection ends", 3),
        over(2, way("the way to the second one alone"), 500),
        over(2, goes("the second broker leaves", 0, ELSEWHERE, SECOND)),
        over(2, way("the way to nobody")),
    ),
)
