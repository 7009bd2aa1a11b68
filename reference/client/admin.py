"""Administrative requests to brokers and name servers, one function each.

``done`` receives the outcome and the value read: None unless the outcome is ok and the broker has one. A malformed
answer is an ``info`` with status ``unreadable answer``. Source: MQClientAPIImpl, DefaultMQAdminExt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..core.calls import Calls, Done, Outcome
from ..errors import CodecError
from ..wire import beans, headers
from ..wire.bodies import (
    ConsumerOffsets,
    DelayOffsets,
    SubscriptionGroupConfig,
    SubscriptionGroups,
    TopicConfig,
    TopicConfigs,
)
from ..wire.bodies_client import MessageQueue
from ..wire.bodies_route import ClusterInfo
from ..wire.headers import RequestCode
from ..wire.remoting import SUCCESS, Command
from .asking import ASK_TIMEOUT_NS, ask, unreadable

_Value = TypeVar("_Value")
TABLES: Mapping[type, int] = {
    TopicConfigs: RequestCode.GET_ALL_TOPIC_CONFIG,
    SubscriptionGroups: RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
    ConsumerOffsets: RequestCode.GET_ALL_CONSUMER_OFFSET,
    DelayOffsets: RequestCode.GET_ALL_DELAY_OFFSET,
    ClusterInfo: RequestCode.GET_BROKER_CLUSTER_INFO,
}
"""The request of each kind of table."""
Read = Callable[[Outcome, _Value | None], None]


def update_topic(calls: Calls, address: str, topic: TopicConfig, done: Done) -> None:
    """Create or change a topic (17)."""
    values = {
        "topic": topic.topic_name,
        "defaultTopic": "TBW102",
        "readQueueNums": topic.read_queue_nums,
        "writeQueueNums": topic.write_queue_nums,
        "perm": topic.perm,
        "topicFilterType": topic.topic_filter_type,
        "topicSysFlag": topic.topic_sys_flag,
        "order": topic.order,
    }
    ask(calls, address, RequestCode.UPDATE_AND_CREATE_TOPIC, values, done)


def update_group(calls: Calls, address: str, group: SubscriptionGroupConfig, done: Done) -> None:
    """Create or change a consumer group (200)."""
    ask(calls, address, RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, done, beans.encode(group))


def delete_topic(calls: Calls, address: str, topic: str, done: Done) -> None:
    """Delete a topic (215)."""
    ask(calls, address, RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}, done)


def delete_group(calls: Calls, address: str, group: str, progress: bool, done: Done) -> None:
    """Delete a consumer group (207), and with ``progress`` its progress in all topics."""
    ask(calls, address, RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group, "removeOffset": progress}, done)


def table(calls: Calls, address: str, kind: type[_Value], done: Read[_Value]) -> None:
    """A whole table, one of :data:`TABLES`, from a broker or a name server."""
    ask(calls, address, TABLES[kind], {}, _reading(lambda answer: beans.decode(kind, answer.body), done))


def query_offset(calls: Calls, address: str, group: str, queue: MessageQueue, done: Read[int]) -> None:
    """A group's offset in a queue (14); ok with None if the broker has none."""
    values = {"consumerGroup": group, "topic": queue.topic, "queueId": queue.queue_id}
    _offset(calls, address, RequestCode.QUERY_CONSUMER_OFFSET, values, done)


def commit_offset(
    calls: Calls, address: str, group: str, queue: MessageQueue, offset: int, done: Done,
    timeout_ns: int = ASK_TIMEOUT_NS,
) -> None:  # fmt: skip
    """Set a group's offset in a queue (15)."""
    values = {"consumerGroup": group, "topic": queue.topic, "queueId": queue.queue_id, "commitOffset": offset}
    ask(calls, address, RequestCode.UPDATE_CONSUMER_OFFSET, values, done, timeout_ns=timeout_ns)


def min_offset(calls: Calls, address: str, queue: MessageQueue, done: Read[int]) -> None:
    """The first offset of a queue (31)."""
    _offset(calls, address, RequestCode.GET_MIN_OFFSET, {"topic": queue.topic, "queueId": queue.queue_id}, done)


def max_offset(calls: Calls, address: str, queue: MessageQueue, done: Read[int]) -> None:
    """The offset of a queue's next message (30)."""
    _offset(calls, address, RequestCode.GET_MAX_OFFSET, {"topic": queue.topic, "queueId": queue.queue_id}, done)


def _offset(calls: Calls, address: str, code: int, values: Mapping[str, Any], done: Read[int]) -> None:
    def read(answer: Command) -> int:
        return int(headers.decode_response(code, answer)["offset"])

    ask(calls, address, code, values, _reading(read, done))


def _reading(read: Callable[[Command], _Value | None], done: Read[_Value]) -> Done:
    def ended(outcome: Outcome) -> None:
        if outcome.phase != "ok" or outcome.answer is None or outcome.answer.code != SUCCESS:
            done(outcome, None)
            return
        try:
            value = read(outcome.answer)
        except CodecError:
            done(unreadable(outcome), None)
            return
        done(outcome, value)

    return ended
