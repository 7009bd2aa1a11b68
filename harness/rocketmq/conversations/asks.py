"""The requests of conformance conversations to brokers and name servers.

No send waits for a slave or a disk. Source: the request headers of RocketMQ 4.9 and 5.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence

from .served import BROKER, CLIENT, HA
from .steps import TOPIC, Ask, Step

GROUP = f"{TOPIC}-group"
READERS = "pairproof"
RETRY, DEAD = f"%RETRY%{GROUP}", f"%DLQ%{GROUP}"
CLUSTER = OWN_TOPIC = "visited"
PRODUCERS = "visiting-producers"
BORN_MS = 1_690_000_000_000
FOREVER = (1 << 63) - 1
PENDING, HALF, COMMIT, ROLLBACK = 0, 4, 8, 12
STANDARD = "acceptStandardJsonOnly"
TOPICS, GROUPS = "GET_ALL_TOPIC_CONFIG", "GET_ALL_SUBSCRIPTIONGROUP_CONFIG"
FIGURES = ("queues", "minOffset", "maxOffset")
PROGRESS = ("queues", "brokerOffset", "consumerOffset")


def as_json(value: object) -> bytes:
    """In the form of RocketMQ's clients: without blanks."""
    return json.dumps(value, separators=(",", ":")).encode()


def beats(client: str, **groups: object) -> Ask:
    """A heartbeat."""
    return Ask("HEART_BEAT", body=as_json({"clientID": client, "consumerDataSet": [], "producerDataSet": [], **groups}))


def comes(group: str, *topics: tuple[str, str, int]) -> Ask:
    """A consumer's heartbeat; each topic has a name, tags, and the version of the subscription."""
    return beats(CLIENT, consumerDataSet=[consumes(group, *topics)])


def consumes(group: str, *topics: tuple[str, str, int]) -> Mapping[str, object]:
    """A consumer's group in a heartbeat."""
    subscriptions = []
    for topic, wanted, version in topics:
        tags = [] if wanted == "*" else wanted.split(" || ")
        subscriptions.append({
            "classFilterMode": False, "codeSet": [ord(each) for each in tags], "expressionType": "TAG",
            "subString": wanted, "subVersion": version, "tagsSet": tags, "topic": topic,
        })  # fmt: skip
    return {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET", "consumeType": "CONSUME_PASSIVELY", "groupName": group,
        "messageModel": "CLUSTERING", "subscriptionDataSet": subscriptions, "unitMode": False,
    }  # fmt: skip


def leaves(client: str = CLIENT, **groups: str) -> Ask:
    """A client unregisters; ``groups``: its consumerGroup or producerGroup."""
    return Ask("UNREGISTER_CLIENT", {"clientID": client, **groups})


def consumers(group: str) -> Ask:
    """The consumers of a group."""
    return Ask("GET_CONSUMER_LIST_BY_GROUP", {"consumerGroup": group}, reads=("members",))


def producers(group: str) -> Ask:
    """The producers of a group."""
    return Ask("GET_PRODUCER_CONNECTION_LIST", {"producerGroup": group}, reads=("connected",))


def locks(client: str, *queues: int, group: str = READERS, topic: str = OWN_TOPIC, broker: str = BROKER) -> Ask:
    """A member takes or keeps these queues."""
    named = [{"brokerName": broker, "queueId": each, "topic": topic} for each in queues]
    body = {"clientId": client, "consumerGroup": group, "mqSet": named}
    return Ask("LOCK_BATCH_MQ", body=as_json(body), reads=("locked",))


def unlocks(client: str, *queues: int, group: str = READERS, topic: str = OWN_TOPIC, broker: str = BROKER) -> Ask:
    """A member releases these queues."""
    return locks(client, *queues, group=group, topic=topic, broker=broker)._replace(code="UNLOCK_BATCH_MQ", reads=())


def makes_topic(
    readers: int, writers: int, perm: int = 6, kind: str = "SINGLE_TAG", flags: int = 0, topic: str = TOPIC
) -> Ask:
    """Create or change a topic."""
    return Ask("UPDATE_AND_CREATE_TOPIC", {
        "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(readers), "writeQueueNums": str(writers),
        "perm": str(perm), "topicFilterType": kind, "topicSysFlag": str(flags), "order": "false",
    })  # fmt: skip


def deletes_topic(topic: str = TOPIC) -> Ask:
    """Delete a topic."""
    return Ask("DELETE_TOPIC_IN_BROKER", {"topic": topic})


def makes_group(group: str = GROUP, /, **values: object) -> Ask:
    """Create or change a group; ``values``: its differences from the default."""
    return Ask("UPDATE_AND_CREATE_SUBSCRIPTIONGROUP", body=as_json({
        "brokerId": 0, "consumeBroadcastEnable": True, "consumeEnable": True, "consumeFromMinEnable": True,
        "groupName": group, "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 16, "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1, **values,
    }))  # fmt: skip


def deletes_group(group: str = GROUP) -> Ask:
    """Delete a group with its progress."""
    # 5.x has another name for it.
    return Ask("DELETE_SUBSCRIPTIONGROUP", {"groupName": group, "removeOffset": "true", "cleanOffset": "true"})


def sets(text: str) -> Ask:
    """Change settings."""
    return Ask("UPDATE_BROKER_CONFIG", body=text.encode())


def topic_of(topic: str = TOPIC) -> Ask:
    """The entry of a topic in the table of topics."""
    return Ask(TOPICS, reads=("topic", topic))


GROUP_OF = Ask(GROUPS, reads=("group", GROUP))
MAKES = (Step("a topic is made", makes_topic(2, 2)), Step("a group is made", makes_group()))
DELETES = (Step("the topic is deleted", deletes_topic()), Step("the group is deleted", deletes_group()))


def sends(
    queue: int, body: str, *, topic: str = TOPIC, flags: int = 0, times: int = 0, short: bool = True,
    reads: tuple[str, ...] = ("stored",), **properties: str,
) -> Ask:  # fmt: skip
    """A producer sends a message.

    ``times``: its reconsumeTimes, of which three are allowed. ``short``: in the form of SEND_MESSAGE_V2.
    """
    all_properties = {**properties, "WAIT": "false"}
    fields = {
        "producerGroup": PRODUCERS, "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4",
        "queueId": str(queue), "sysFlag": str(flags), "bornTimestamp": str(BORN_MS), "flag": "5",
        "properties": "".join(f"{key}\x01{value}\x02" for key, value in all_properties.items()),
        "reconsumeTimes": str(times), "unitMode": "false", "maxReconsumeTimes": "3",
    }  # fmt: skip
    if reads == ("stored",) and (flags or "DELAY" in properties):
        reads = ("stored elsewhere",)
    if not short:
        return Ask("SEND_MESSAGE", fields, body.encode(), reads)
    return Ask("SEND_MESSAGE_V2", shortened(fields), body.encode(), reads)


_SHORT_NAMES = dict(zip((
    "producerGroup", "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag",
    "properties", "reconsumeTimes", "unitMode", "maxReconsumeTimes", "batch",
), "abcdefghijklm", strict=True))  # fmt: skip


def shortened(fields: Mapping[str, str]) -> dict[str, str]:
    """With names of one letter."""
    return {_SHORT_NAMES[name]: value for name, value in fields.items()}


def sends_batch(queue: int, *bodies: str, reads: tuple[str, ...] = ("stored",)) -> Ask:
    """Send messages with these bodies, which are also their keys, as one batch."""
    parts = []
    for body in map(str.encode, bodies):
        properties = b"KEYS\x01" + body
        inside = struct.pack(">iiii", 0, zlib.crc32(body) & 0x7FFFFFFF, 7, len(body)) + body
        inside += struct.pack(">h", len(properties)) + properties
        parts.append(struct.pack(">i", 4 + len(inside)) + inside)
    fields = {**sends(queue, "", short=False).fields, "batch": "true"}
    return Ask("SEND_BATCH_MESSAGE", shortened(fields), b"".join(parts), reads)


def pulls(
    queue: int | str, offset: int | str, wanted: str | None = "*", most: int = 32, commits: int | None = None,
    version: int | None = None, topic: str = TOPIC, group: str = "", wait_ms: int = 0, reads: str = "pulled",
) -> Ask:  # fmt: skip
    """A group, by default the topic's, reads a queue.

    ``commits``: the carried progress. ``version``: of its subscription, which the broker has from heartbeats.
    ``wait_ms``: its longest wait.
    """
    flags = (commits is not None) + 2 * bool(wait_ms) + 4 * (version is None)
    fields = {
        "consumerGroup": group or f"{topic}-group", "topic": topic, "queueId": str(queue), "queueOffset": str(offset),
        "maxMsgNums": str(most), "sysFlag": str(flags), "commitOffset": str(commits or 0),
        "suspendTimeoutMillis": str(wait_ms), "subVersion": str(version or 0),
        **({} if wanted is None else {"subscription": wanted}), "expressionType": "TAG",
    }  # fmt: skip
    return Ask("PULL_MESSAGE", fields, reads=(reads,))


def of_queue(code: str, queue: int | str, topic: str = TOPIC, **more: str) -> Ask:
    """An offset of a queue."""
    return Ask(code, {"topic": topic, "queueId": str(queue), **more}, reads=("numbers", "offset"))


def ends(queue: int | str, topic: str = TOPIC) -> Ask:
    """The end of a queue."""
    return of_queue("GET_MAX_OFFSET", queue, topic)


def begins(queue: int, topic: str = TOPIC) -> Ask:
    """The beginning of a queue."""
    return of_queue("GET_MIN_OFFSET", queue, topic)


def grown(asks: Ask) -> Ask:
    """The growth of a queue since its end was last requested."""
    return asks._replace(reads=("grown",))


def at_time(queue: int, ms: int, topic: str = TOPIC) -> Ask:
    """The message of a queue that was stored at that time."""
    return of_queue("SEARCH_OFFSET_BY_TIMESTAMP", queue, topic, timestamp=str(ms))


def earliest(queue: int, topic: str = TOPIC) -> Ask:
    """When a queue's first message was stored."""
    return of_queue("GET_EARLIEST_MSG_STORETIME", queue, topic)._replace(reads=("numbers", "ms=timestamp"))


def of_key(key: str, most: int = 32, since: int = 0, until: int = FOREVER, topic: str = TOPIC, **more: str) -> Ask:
    """The messages with a key that were stored between these times."""
    return Ask("QUERY_MESSAGE", {
        "topic": topic, "key": key, "maxNum": str(most), "beginTimestamp": str(since), "endTimestamp": str(until),
        **more,
    }, reads=("found",))  # fmt: skip


def by_id(offset: str = "<place>", *reads: str) -> Ask:
    """The last stored message, by its id."""
    return Ask("VIEW_MESSAGE_BY_ID", {"offset": offset}, reads=reads)


def figures(topic: str = TOPIC) -> Ask:
    """The offsets of each queue of a topic."""
    return Ask("GET_TOPIC_STATS_INFO", {"topic": topic}, reads=FIGURES)


def progress(**topic: str) -> Ask:
    """The group's progress in each queue, of a topic or of all its topics."""
    return Ask("GET_CONSUME_STATS", {"consumerGroup": GROUP, **topic}, reads=PROGRESS)


def readers_of(topic: str = TOPIC) -> Ask:
    """The groups that read a topic; their names are read without the topic's."""
    return Ask("QUERY_TOPIC_CONSUME_BY_WHO", {"topic": topic}, reads=("readers", topic))


def commits(queue: int, offset: int, topic: str = TOPIC) -> Ask:
    """Commit a group's progress in a queue."""
    fields = {"consumerGroup": f"{topic}-group", "topic": topic, "queueId": str(queue), "commitOffset": str(offset)}
    return Ask("UPDATE_CONSUMER_OFFSET", fields)


def asks_progress(queue: int, topic: str = TOPIC) -> Ask:
    """A group's progress in a queue."""
    fields = {"consumerGroup": f"{topic}-group", "topic": topic, "queueId": str(queue)}
    return Ask("QUERY_CONSUMER_OFFSET", fields, reads=("numbers", "offset"))


def decides(decision: int, producers: str = PRODUCERS) -> Ask:
    """End the transaction of the last half message."""
    return Ask("END_TRANSACTION", {
        "producerGroup": producers, "tranStateTableOffset": "<queueOffset>", "commitLogOffset": "<place>",
        "commitOrRollback": str(decision), "fromTransactionCheck": "false", "msgId": "<msgId>",
    })  # fmt: skip


def sends_back(level: int) -> Ask:
    """A consumer sends back the last stored message; ``level``: its delay, -1: dead letter, 0: the broker's choice."""
    return Ask("CONSUMER_SEND_MSG_BACK", {
        "offset": "<place>", "group": GROUP, "delayLevel": str(level), "originTopic": TOPIC, "originMsgId": "<msgId>",
        "unitMode": "false",
    })  # fmt: skip


def whom(number: int, address: str, broker: str = BROKER) -> dict[str, str]:
    """The identity of a broker."""
    return {"brokerAddr": address, "brokerId": str(number), "brokerName": broker, "clusterName": CLUSTER}


def registers(
    number: int, address: str, topics: Mapping[str, Sequence[int]], version: int, *filters: str,
    compressed: bool = False, broker: str = BROKER, ms: int | None = None, ha: str = "",
) -> Ask:  # fmt: skip
    """A broker registers; each topic has its queues to read and to write, permissions, and perhaps system flags.

    ``ms``: the time of its topics' version, if not derived from the version's number.
    """
    state = {"counter": version, "timestamp": BORN_MS + (version if ms is None else ms)}
    if compressed:
        parts = [as_json(state), struct.pack(">i", len(topics))]
        parts += [f"{topic} {' '.join(map(str, each))} SINGLE_TAG".encode() for topic, each in topics.items()]
        parts.append(as_json(filters))
        body = zlib.compress(b"".join(part if at == 1 else sized(part) for at, part in enumerate(parts)))
    else:
        table = {
            topic: {
                "order": False, "perm": perm, "readQueueNums": readers, "topicFilterType": "SINGLE_TAG",
                "topicName": topic, "topicSysFlag": flags[0] if flags else 0, "writeQueueNums": writers,
            }
            for topic, (readers, writers, perm, *flags) in topics.items()
        }  # fmt: skip
        topics_state = {"dataVersion": state, "topicConfigTable": table}
        body = as_json({"filterServerList": filters, "topicConfigSerializeWrapper": topics_state})
    more = {"compressed": str(compressed).lower(), "bodyCrc32": str(zlib.crc32(body) & 0x7FFFFFFF)}
    address_of_ha = ha or (HA if number == 0 else "10.0.0.2:10912")
    fields = {**whom(number, address, broker), "haServerAddr": address_of_ha, **more}
    return Ask("REGISTER_BROKER", fields, body, ("registered",))


def sized(part: bytes) -> bytes:
    """A part of a compressed registration, preceded by its length."""
    return struct.pack(">i", len(part)) + part


def goes(number: int, address: str, broker: str = BROKER) -> Ask:
    """A broker unregisters."""
    return Ask("UNREGISTER_BROKER", whom(number, address, broker))


def compares(address: str, version: int, ms: int | None = None) -> Ask:
    """A broker asks whether its topics are the registered ones; ``ms``: the time of their version, if not from its
    number.
    """
    body = as_json({"counter": version, "timestamp": BORN_MS + (version if ms is None else ms)})
    return Ask("QUERY_DATA_VERSION", whom(0, address), body, ("compared",))


def way(*more: str, topic: str = OWN_TOPIC, reads: str = "route") -> Ask:
    """The route of a topic; the answer has the request's version of JSON unless standard JSON is requested."""
    return Ask("GET_ROUTEINFO_BY_TOPIC", {"topic": topic, **dict.fromkeys(more, "true")}, reads=(reads,))


CLUSTERS = Ask("GET_BROKER_CLUSTER_INFO", reads=("cluster",))
ALL_TOPICS = Ask("GET_ALL_TOPIC_LIST_FROM_NAMESERVER", reads=("listed",))
