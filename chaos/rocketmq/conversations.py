"""Sends the requests of conformance conversations, and extracts from the answers what the law compares.

``pairproof.harness.rocketmq.conversations`` has the steps and the allowed answers. The trial's seed draws one
conversation a node, over one connection or several. This module has the readers that steps name, and the values that
answers provide for later requests: :data:`READERS` and :data:`GIVEN`. Most conversations take no time; for the others
see ``sim_long_conversations``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from ...harness.history import UNREADABLE
from ...harness.rocketmq.conversations.asks import BORN_MS, CLUSTER, OWN_TOPIC
from ...harness.rocketmq.conversations.served import BROKER, READ, as_text
from ...harness.rocketmq.conversations.steps import Conversation, Step
from ...harness.texts.quoting import quoted
from ..observers import answer_reader
from ..observers.remoting_codes import Request
from ..observers.table_reader import parsed
from .frames import Form, padded
from .questions import Answered

SHOWN = ("KEYS", "TAGS", "colour", "TRAN_MSG")
"""Message properties that are compared; the others depend on the version."""
KEPT = (
    "brokerId", "consumeBroadcastEnable", "consumeEnable", "consumeFromMinEnable", "notifyConsumerIdsChangedEnable",
    "retryMaxTimes", "retryQueueNums", "whichBrokerWhenConsumeSlowly",
)  # fmt: skip
"""Compared fields of a group."""
OF_TOPIC = ("readQueueNums", "writeQueueNums", "perm", "order", "topicFilterType", "topicSysFlag")
QUEUES = ("readQueueNums", "writeQueueNums", "perm")
SYSTEM_TOPICS = ("BenchmarkTest", "OFFSET_MOVED_EVENT", "SCHEDULE_TOPIC_XXXX", "SELF_TEST_TOPIC")
"""Topics of every broker of 4.9 and 5.x."""
REPLY = "_REPLY_TOPIC"
"""Suffix of a topic's name after the cluster's."""
TABLES = frozenset({"topicConfigTable", "subscriptionGroupTable"})
"""Field names of an answer with a whole table."""
Before = Sequence[Answered]


# Values that an answer provides for later requests.


def last_stored(before: Before) -> Mapping[str, str]:
    """IndexError if none was stored."""
    return [each for each in before if "msgId" in each.fields][-1].fields


def place(before: Before) -> int:
    """Log offset of the last stored message: the end of its id, in hexadecimal digits."""
    return int(last_stored(before)["msgId"].split(",")[0][-16:], 16)


def _delay(before: Before, level: str) -> int:
    """The queue of messages with a delay, at most of the last level; the settings were requested before."""
    (settings, *_) = [each.body.decode() for each in before if b"messageDelayLevel=" in each.body]
    (text,) = [each for each in settings.splitlines() if each.startswith("messageDelayLevel=")]
    return min(int(level), len(text.split(" "))) - 1


GIVEN: Mapping[str, Callable[..., object]] = {
    "place": place,
    "msgId": lambda before: last_stored(before)["msgId"],
    "queueOffset": lambda before: last_stored(before)["queueOffset"],
    "delay": _delay,
    "last offset": lambda before: int(before[-1].fields["offset"]) - 1,
}


def refers(step: Step) -> bool:
    """Whether a step's request depends on an answer."""
    return any(value.startswith("<") for value in step.asks.fields.values())


def framed(step: Step, form: Form, number: int, before: Before) -> bytes:
    """A step's request as bytes; LookupError or ValueError if it depends on a failed answer."""
    own = padded if step.asks.is_padded else form
    return own(Request[step.asks.code], number, fields(step, before), step.asks.body)


def fields(step: Step, before: Before) -> Mapping[str, str]:
    """The fields of its request, after these answers."""
    return {name: _given(value, before) if value[:1] == "<" else value for name, value in step.asks.fields.items()}


def _given(value: str, before: Before) -> str:
    name = value.strip("<>")
    kind, _, level = name.partition(" ")
    return str(GIVEN[name](before) if name in GIVEN else GIVEN[kind](before, level))


# Readers of answers.


def _numbers(answered: Answered, before: Before, *names: str) -> str:
    """Fields, each by its name or as ``shown=name``."""
    pairs = [name.rpartition("=") for name in names]
    return as_text(**{shown or name: int(answered.fields[name]) for shown, _, name in pairs})


def _stored(answered: Answered) -> dict[str, int]:
    ids = answered.fields["msgId"].split(",")
    return {"queue": int(answered.fields["queueId"]), "ids": len(ids), "length": len(ids[0])}


def _pulled(answered: Answered, before: Before) -> str:
    offsets = {name: int(answered.fields[f"{name}Offset"]) for name in ("nextBegin", "min", "max")}
    return as_text(**offsets, messages=_messages(answered))


def _messages(answered: Answered) -> list[list[object]]:
    """Offset, body, flag, transaction, age, times, properties."""
    return [
        [
            each["queue"], each["offset"], each["body"], each["flag"], each["flags"], each["born_ms"] - BORN_MS,
            each["times"], {name: each["properties"][name] for name in SHOWN if name in each["properties"]},
        ]
        for each in answer_reader.messages(answered.body)
    ]  # fmt: skip


def _counted(answered: Answered, before: Before) -> str:
    found = answer_reader.messages(answered.body)
    return as_text(messages=len(found), next=int(answered.fields["nextBeginOffset"]))


def _grown(answered: Answered, before: Before) -> str:
    found = [int(each.fields["offset"]) for each in before if set(each.fields) == {"offset"}]
    return as_text(more=int(answered.fields["offset"]) - found[-1])


def _second_copy(answered: Answered, before: Before) -> str:
    (body,) = answer_reader.messages(answered.body)
    properties = body["properties"]
    its_own = properties["ORIGIN_MESSAGE_ID"] == last_stored(before)["msgId"]
    kept = {name: properties.get(name) for name in ("TAGS", "colour")}
    return as_text(body=body["body"], flag=body["flag"], times=body["times"], origin=its_own, kept=kept)


def _indexed(answered: Answered, before: Before) -> str:
    """Whether the index reaches the last found message, and the found messages."""
    where = [offset for offset, _ in answer_reader.records(answered.body)]
    found = answer_reader.messages(answered.body)
    up_to, last = int(answered.fields["indexLastUpdatePhyoffset"]), place(before)
    # It may go further: another client's delayed message may have arrived since.
    goes = up_to == last or up_to >= last + found[-1]["size"]
    return as_text(bodies=[each["body"] for each in found], to_last=goes and where[-1] == last)


def _stored_at(answered: Answered, before: Before) -> str:
    ((offset, _),) = answer_reader.records(answered.body)
    host = bytes.fromhex(last_stored(before)["msgId"])[:8]
    return as_text(host=host == answer_reader.store_host(answered.body), offset=offset == place(before))


def _queues(answered: Answered, before: Before, *names: str) -> str:
    """These values of each queue."""
    found = answer_reader.queues(answered.body, names)
    return as_text(queues={str(queue): numbers for queue, numbers in found.items()})


def _settings(answered: Answered, before: Before, *names: str) -> str:
    return as_text(**answer_reader.properties(answered.body, names))


def _registered(answered: Answered, before: Before) -> str:
    return as_text(master=answered.fields.get("masterAddr", ""), ha=answered.fields.get("haServerAddr", ""))


def _compared(answered: Answered, before: Before) -> str:
    body: Any = parsed(answered.body) if answered.body else {}
    return as_text(changed=answered.fields["changed"], counter=body.get("counter"))


def _version(body: Any, before: Before) -> str:
    kinds = body.keys() & TABLES
    for each in reversed(before):
        last: Any = parsed(each.body) if each.body else {}
        if kinds & last.keys():
            first, then = (each["dataVersion"] for each in (last, body))
            return as_text(grown=then["counter"] > first["counter"], later=then["timestamp"] >= first["timestamp"])
    return as_text(grown=None)


def _listed(table: Any, name: str, names: Iterable[str]) -> list[object] | None:
    return None if name not in table else [table[name][each] for each in names]


def _system_topics(body: Any, before: Before) -> str:
    """Their numbers of queues to read and to write."""
    found = {
        REPLY if name.endswith(REPLY) else name: [each["readQueueNums"], each["writeQueueNums"]]
        for name, each in body["topicConfigTable"].items()
        if name in SYSTEM_TOPICS or name.endswith(REPLY)
    }  # fmt: skip
    return as_text(topics=found)


def _clients(body: Any) -> list[str]:
    return sorted(each["clientId"] for each in body["connectionSet"])


def _taken(body: Any, before: Before) -> str:
    topics = {
        topic: [each["subString"], sorted(each["tagsSet"]), sorted(each["codeSet"]), each["subVersion"]]
        for topic, each in body["subscriptionTable"].items()
    }
    ways = [body[each] for each in ("consumeType", "messageModel", "consumeFromWhere")]
    return as_text(clients=_clients(body), ways=ways, topics=topics)


def _subscribed(body: Any, before: Before) -> str:
    found = body["subscriptionTable"]
    return as_text(topics={name: [each["subString"], each["subVersion"]] for name, each in found.items()})


def _route(body: Any, before: Before) -> str:
    queues = {each["brokerName"]: [each[name] for name in QUEUES] for each in body["queueDatas"]}
    brokers = {each["brokerName"]: each["brokerAddrs"] for each in body["brokerDatas"]}
    filters = {address: each for address, each in body.get("filterServerTable", {}).items() if each}
    return as_text(queues=queues, brokers=brokers, filters=filters)


def _flagged(body: Any, before: Before) -> str:
    (queues,), (broker,) = body["queueDatas"], body["brokerDatas"]
    numbers = [queues[each] for each in (*QUEUES, "topicSysFlag")]
    return as_text(queues=numbers, brokers=broker["brokerAddrs"], cluster=broker["cluster"])


def _cluster(body: Any, before: Before) -> str:
    broker = body["brokerAddrTable"].get(BROKER)
    names = body["clusterAddrTable"].get(CLUSTER, [])
    return as_text(brokers=sorted(names), addresses=None if broker is None else broker["brokerAddrs"])


OF_BODIES: Mapping[str, Callable[..., str]] = {
    "members": lambda body, before: as_text(clients=sorted(body["consumerIdList"])),
    "connected": lambda body, before: as_text(clients=_clients(body)),
    "locked": lambda body, before: as_text(queues=sorted(each["queueId"] for each in body["lockOKMQSet"])),
    "readers": lambda body, before, topic: as_text(
        groups=sorted(each.removeprefix(topic) for each in body["groupList"])
    ),
    "topic": lambda body, before, name: as_text(topic=_listed(body["topicConfigTable"], name, OF_TOPIC)),
    "group": lambda body, before, name: as_text(group=_listed(body["subscriptionGroupTable"], name, KEPT)),
    "listed": lambda body, before: as_text(topics=[each for each in body["topicList"] if each == OWN_TOPIC]),
    "all listed": lambda body, before: as_text(
        topics=sorted(each for each in body["topicList"] if each.startswith(OWN_TOPIC))
    ),
    "version": _version, "system topics": _system_topics, "taken": _taken, "subscribed": _subscribed,
    "route": _route, "flagged": _flagged, "cluster": _cluster,
}  # fmt: skip
READERS: Mapping[str, Callable[..., str]] = {
    "numbers": _numbers,
    "stored": lambda answered, before: as_text(offset=int(answered.fields["queueOffset"]), **_stored(answered)),
    "stored elsewhere": lambda answered, before: as_text(**_stored(answered)),
    "found": lambda answered, before: as_text(messages=_messages(answered)),
    "group changed": lambda answered, before: as_text(group=answered.fields["consumerGroup"]),
    "pulled": _pulled, "counted": _counted, "grown": _grown, "again": _second_copy, "indexed": _indexed,
    "stored at": _stored_at, "queues": _queues, "settings": _settings, "registered": _registered,
    "compared": _compared,
}  # fmt: skip
"""By name in a step: the reader of an answer, with the answers before it."""


def read(step: Step, answered: Answered, before: Before) -> str | None:
    """The compared part of an answer; ValueError, LookupError, TypeError or AttributeError if it is malformed."""
    if not step.asks.reads:
        return None
    name, *more = step.asks.reads
    if name in OF_BODIES:
        return OF_BODIES[name](parsed(answered.body), before, *more)
    return READERS[name](answered, before, *more)


def chosen(seed: str, node: str, conversations: Sequence[Conversation]) -> Conversation:
    """This node's conversation at the end of this trial."""
    return Random(f"{seed}/visit/{node}").choice(conversations)


def record(
    add: Callable[..., None], now: int, node: str, incarnation: int, step: Step, answered: Answered, before: Before
) -> None:
    """Record an answer; ``before``: those to the steps before."""
    status, detail = answered.status, None
    if status in READ:
        try:
            detail = read(step, answered, before)
        except (ValueError, LookupError, TypeError, AttributeError) as why:
            status, detail = UNREADABLE, quoted(why)
    add(now, "conversation", node, incarnation, f=step.name, status=status, detail=detail)
