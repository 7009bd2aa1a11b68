"""What visitors of brokers and name servers ask, in bytes, and what is read of the answers.

A visit is some steps that are asked in turn, over one connection or several; one a node, drawn by the trial's seed.
Visitors have names that no other client has, and join groups in which nobody else is. What they send and make is in a
topic and a group of their own; it comes after the last audit, and nothing of it stands in the history. In most visits
no time passes; for the others see ``visits_in_time``. What is to be answered, see
``pairproof.harness.rocketmq.visits``.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from pairproof.chaos.observers.remoting_codes import Request
from pairproof.chaos.observers.table_reader import parsed
from pairproof.chaos.rocketmq.frames import Form, sized
from pairproof.chaos.rocketmq.provision import GROUP
from pairproof.chaos.rocketmq.questions import Answered
from pairproof.harness.history import UNREADABLE
from pairproof.harness.quoting import quoted
from pairproof.harness.rocketmq.served import (
    BROKER,
    ELSEWHERE,
    FILTER,
    HA,
    MASTER,
    OTHER,
    READ,
    SECOND,
    SLAVE,
    VISITOR,
    said,
)  # fmt: skip

STANDARD = "acceptStandardJsonOnly"
PRODUCERS, CLUSTER = "visitors", "visited"
ASKS, POSTS, HEARS, CLOSES = "asks", "posts", "hears", "closes"
"""What a step does: ask, and read the answer; ask, and leave the answer to a later step that hears; hear what came over
its connection since the last step that heard, an answer or what the node sends by itself; close its connection."""

Read = Callable[[Answered], str | None]
Compare = Callable[[Answered, Sequence[Answered]], str | None]

Fields = Mapping[str, str]


class Step(NamedTuple):
    """One request, by its name, and what is read of its answer."""

    name: str
    code: int
    fields: Fields | Callable[[Sequence[Answered]], Fields] = {}
    """Or what makes them of the answers before."""
    body: bytes = b""
    read: Read | None = None
    compare: Compare | None = None
    """Instead of that: what is read of its answer beside those before."""
    form: Form | None = None
    """In which it is asked; None: in the visit's."""
    does: str = ASKS
    """One of :data:`ASKS`, :data:`POSTS`, :data:`HEARS`, :data:`CLOSES`. Of one that hears, ``code`` is that of the
    request for whose answer it looks, or that the node sends; the rest of what came is dropped."""
    conn: int = 0
    """Which of the visitor's connections it is for. Each opens when it is first used."""
    wait_ms: int = 0
    """How much time passes before it."""

    def asked(self, before: Sequence[Answered]) -> Fields:
        """The fields of its request, after these answers."""
        return self.fields(before) if callable(self.fields) else self.fields


# What brokers are asked.


def as_json(told: object) -> bytes:
    """As RocketMQ's clients write it: without blanks."""
    return json.dumps(told, separators=(",", ":")).encode()


def comes(name: str, *topics: tuple[str, str, int], group: str = GROUP) -> Step:
    """A consumer's heartbeat; of each topic its name, the tags, and the version of the subscription."""
    return _beats(name, VISITOR, consumerDataSet=[consumes(group, *topics)])


def consumes(group: str, *topics: tuple[str, str, int]) -> Mapping[str, object]:
    """What a heartbeat says of a consumer's group: of each topic its name, the tags, and the subscription's version."""
    subscriptions = [
        {
            "classFilterMode": False, "codeSet": [ord(each) for each in _tags(wanted)], "expressionType": "TAG",
            "subString": wanted, "subVersion": version, "tagsSet": _tags(wanted), "topic": topic,
        }
        for topic, wanted, version in topics
    ]  # fmt: skip
    return {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": group,
        "messageModel": "CLUSTERING", "subscriptionDataSet": subscriptions, "unitMode": False,
    }  # fmt: skip


def _beats(name: str, client: str, **groups: object) -> Step:
    told = {"clientID": client, "consumerDataSet": [], "producerDataSet": [], **groups}
    return Step(name, Request.HEART_BEAT, body=as_json(told))


def _tags(wanted: str) -> list[str]:
    return [] if wanted == "*" else wanted.split(" || ")


def _of_group(name: str, code: int, read: Read) -> Step:
    if code == Request.GET_PRODUCER_CONNECTION_LIST:
        return Step(name, code, {"producerGroup": PRODUCERS}, read=read)
    return Step(name, code, {"consumerGroup": GROUP}, read=read)


def leaves(name: str, **group: str) -> Step:
    """A client says that it goes; ``group``: its consumerGroup or producerGroup."""
    return Step(name, Request.UNREGISTER_CLIENT, {"clientID": VISITOR, **group})


def locks(name: str, client: str, *queues: int) -> Step:
    """A member takes these queues, or keeps them."""
    return Step(name, Request.LOCK_BATCH_MQ, body=_queues(client, queues), read=_locked)


def unlocks(name: str, client: str, *queues: int) -> Step:
    """A member gives these queues back."""
    return Step(name, Request.UNLOCK_BATCH_MQ, body=_queues(client, queues))


def _queues(client: str, queues: Sequence[int]) -> bytes:
    named = [{"brokerName": BROKER, "queueId": each, "topic": "visited"} for each in queues]
    return as_json({"clientId": client, "consumerGroup": GROUP, "mqSet": named})


# What name servers are asked.


def registers(name: str, number: int, address: str, topic: Sequence[int], version: int, *filters: str,
               compressed: bool = False, broker: str = BROKER) -> Step:  # fmt: skip
    """A broker registers; ``topic``: its queues to read and to write, and its permissions."""
    readers, writers, perm = topic
    state = {"counter": version, "timestamp": 1_690_000_000_000 + version}
    if compressed:
        parts = (as_json(state), struct.pack(">i", 1), b"visited %d %d %d SINGLE_TAG" % (readers, writers, perm))
        whole = [sized(parts[0]), parts[1], sized(parts[2]), sized(as_json(filters))]
        body = zlib.compress(b"".join(whole))
    else:
        config = {
            "order": False, "perm": perm, "readQueueNums": readers, "topicFilterType": "SINGLE_TAG",
            "topicName": "visited", "topicSysFlag": 0, "writeQueueNums": writers,
        }  # fmt: skip
        told = {"dataVersion": state, "topicConfigTable": {"visited": config}}
        body = as_json({"filterServerList": filters, "topicConfigSerializeWrapper": told})
    more = {"compressed": str(compressed).lower(), "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
    fields = {**whom(number, address, broker), "haServerAddr": HA if number == 0 else "10.0.0.2:10912", **more}
    return Step(name, Request.REGISTER_BROKER, fields, body, mastered)


def goes(name: str, number: int, address: str, broker: str = BROKER) -> Step:
    """A broker leaves."""
    return Step(name, Request.UNREGISTER_BROKER, whom(number, address, broker))


def whom(number: int, address: str, broker: str = BROKER) -> dict[str, str]:
    """How a broker introduces itself."""
    return {"brokerAddr": address, "brokerId": str(number), "brokerName": broker, "clusterName": CLUSTER}


def compares(name: str, address: str, version: int, ms: int | None = None) -> Step:
    """A broker asks whether its topics are those that it registered; ``ms``: when those became so, if not by number."""
    body = as_json({"counter": version, "timestamp": 1_690_000_000_000 + (version if ms is None else ms)})
    return Step(name, Request.QUERY_DATA_VERSION, whom(0, address), body, _compared)


def way(name: str, *more: str) -> Step:
    """Where the visited topic is; who does not ask for standard JSON is answered by its version."""
    fields = {"topic": "visited", **dict.fromkeys(more, "true")}
    return Step(name, Request.GET_ROUTEINFO_BY_TOPIC, fields, read=_route)


def _clusters(name: str) -> Step:
    return Step(name, Request.GET_BROKER_CLUSTER_INFO, read=_cluster)


def _topics(name: str) -> Step:
    return Step(name, Request.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, read=_listed)


# What is read.


def members(answered: Answered) -> str:
    """The clients of a consumer group."""
    told: Any = parsed(answered.body)
    return said(clients=sorted(told["consumerIdList"]))


def connected(answered: Answered) -> str:
    """The clients of a producer group."""
    told: Any = parsed(answered.body)
    return said(clients=sorted(each["clientId"] for each in told["connectionSet"]))


def _taken(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    topics = {
        topic: [each["subString"], sorted(each["tagsSet"]), sorted(each["codeSet"]), each["subVersion"]]
        for topic, each in told["subscriptionTable"].items()
    }
    ways = [told[each] for each in ("consumeType", "messageModel", "consumeFromWhere")]
    return said(clients=sorted(each["clientId"] for each in told["connectionSet"]), ways=ways, topics=topics)


def _locked(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    return said(queues=sorted(each["queueId"] for each in told["lockOKMQSet"]))


def mastered(answered: Answered) -> str:
    """What a broker that registers is told of its master."""
    fields = answered.fields
    return said(master=fields.get("masterAddr", ""), ha=fields.get("haServerAddr", ""))


def _route(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    queues = {
        each["brokerName"]: [each["readQueueNums"], each["writeQueueNums"], each["perm"]]
        for each in told["queueDatas"]
    }  # fmt: skip
    brokers = {each["brokerName"]: each["brokerAddrs"] for each in told["brokerDatas"]}
    filters = {address: each for address, each in told.get("filterServerTable", {}).items() if each}
    return said(queues=queues, brokers=brokers, filters=filters)


def _compared(answered: Answered) -> str:
    told: Any = parsed(answered.body) if answered.body else {}
    return said(changed=answered.fields["changed"], counter=told.get("counter"))


def _cluster(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    broker = told["brokerAddrTable"].get(BROKER)
    names = told["clusterAddrTable"].get(CLUSTER, [])
    return said(brokers=sorted(names), addresses=None if broker is None else broker["brokerAddrs"])


def _listed(answered: Answered) -> str:
    told: Any = parsed(answered.body)
    return said(topics=[each for each in told["topicList"] if each == "visited"])


_CONSUMERS = (
    comes("a consumer comes", ("visited", "a || b", 1), ("second", "*", 1)),
    _of_group("who consumes", Request.GET_CONSUMER_LIST_BY_GROUP, members),
    _of_group("what it takes", Request.GET_CONSUMER_CONNECTION_LIST, _taken),
    comes("the consumer takes something else", ("visited", "c", 2), ("third", "*", 2)),
    _of_group("what it takes then", Request.GET_CONSUMER_CONNECTION_LIST, _taken),
    comes("the consumer says what it took before", ("visited", "a || b", 1), ("third", "*", 2)),
    _of_group("what it takes still", Request.GET_CONSUMER_CONNECTION_LIST, _taken),
    leaves("the consumer leaves", consumerGroup=GROUP),
    _of_group("what nobody takes", Request.GET_CONSUMER_CONNECTION_LIST, _taken),
    _of_group("who is left", Request.GET_CONSUMER_LIST_BY_GROUP, members),
)
_PRODUCERS = (
    _beats("a producer comes", VISITOR, producerDataSet=[{"groupName": PRODUCERS}]),
    _of_group("who produces", Request.GET_PRODUCER_CONNECTION_LIST, connected),
    leaves("the producer leaves", producerGroup=PRODUCERS),
    _of_group("who produces no more", Request.GET_PRODUCER_CONNECTION_LIST, connected),
)
_LOCKS = (
    locks("a member locks two queues", VISITOR, 0, 1),
    locks("another one locks a queue of them, and one more", OTHER, 0, 2),
    unlocks("the first one gives that queue back", VISITOR, 0),
    locks("the other one locks it again", OTHER, 0),
    locks("the first one locks both again", VISITOR, 0, 1),
    unlocks("both give all back", VISITOR, 0, 1),
    unlocks("both give all back", OTHER, 0, 2),
)
OF_BROKERS: Sequence[Sequence[Step]] = (_CONSUMERS, _PRODUCERS, _LOCKS)
OF_NAMES: Sequence[Sequence[Step]] = (
    (
        _topics("which topics nobody has"),
        compares("a broker compares before it registers", MASTER, 1),
        registers("a master registers", 0, MASTER, (3, 2, 6), 1, FILTER),
        way("the way to it", STANDARD),
        compares("the broker compares, and nothing has changed", MASTER, 1),
        registers("its slave registers", 1, SLAVE, (3, 2, 6), 1),
        way("the way to both"),
        _clusters("both in their cluster"),
        _topics("which topics they have"),
        compares("the broker compares, and has changed", MASTER, 2),
        registers("the master registers a change, compressed", 0, MASTER, (5, 4, 4), 2, compressed=True),
        way("the way to what is changed", STANDARD),
        compares("the broker compares, and has changed no more", MASTER, 2),
        goes("the slave leaves", 1, SLAVE),
        way("the way to the master alone"),
        _clusters("the master alone in its cluster"),
        goes("the master leaves", 0, MASTER),
        way("the way to nobody"),
        compares("the broker compares when it has left", MASTER, 2),
        _clusters("nobody in the cluster"),
    ),
    (
        registers("a first broker registers", 0, MASTER, (3, 2, 6), 1),
        registers("a second broker registers", 0, ELSEWHERE, (1, 1, 2), 1, broker=SECOND),
        way("the way to two brokers"),
        _clusters("two brokers in the cluster"),
        registers("the first one's slave registers", 1, SLAVE, (3, 2, 6), 1),
        registers("the slave takes its master's place", 0, SLAVE, (4, 4, 6), 3),
        way("the way to the new master", STANDARD),
        registers("the old master comes as a slave", 2, MASTER, (9, 9, 6), 1),
        way("the way to them as they are now"),
        goes("somebody leaves in the slave's name", 2, HA),
        way("the way without it"),
        goes("the second broker leaves", 0, ELSEWHERE, SECOND),
        goes("the new master leaves", 0, SLAVE),
        goes("the slave leaves at last", 2, MASTER),
        way("the way when all have left"),
    ),
)


def chosen(seed: str, node: str, visits: Sequence[Sequence[Step]] = OF_BROKERS) -> Sequence[Step]:
    """What this node is asked at the end of this trial."""
    return Random(f"{seed}/visit/{node}").choice(visits)


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, step: Step, answered: Answered,
    before: Sequence[Answered],
) -> None:  # fmt: skip
    """Record an answer; ``before``: those to the steps before."""
    status, detail = answered.status, None
    if status in READ:
        try:
            if step.compare is not None:
                detail = step.compare(answered, before)
            elif step.read is not None:
                detail = step.read(answered)
        except (ValueError, LookupError, TypeError, AttributeError) as why:
            status, detail = UNREADABLE, quoted(why)
    add(now, "visit", node, incarnation, f=step.name, status=status, detail=detail)
