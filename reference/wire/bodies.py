"""Bodies of the broker's tables: topics, subscription groups, consumer progress, runtime information.

A slave fetches the first four from its master, and brokers store them as config files in the pretty form:
``beans.decode(TopicConfigs, body)``, ``beans.encode(table, pretty=True)``. Extra fields of RocketMQ 5 are ignored.
Source: DataVersion, TopicConfig, TopicConfigSerializeWrapper, SubscriptionGroupConfig, SubscriptionGroupWrapper,
ConsumerOffsetSerializeWrapper, DelayOffsetSerializeWrapper, KVTable.
"""

from typing import NamedTuple

INHERIT, WRITE, READ = 1, 2, 4
"""Permissions of topics and brokers; 8 is priority."""


class DataVersion(NamedTuple):
    """A table's version; equal iff both numbers agree."""

    timestamp: int = 0
    counter: int = 0


class TopicConfig(NamedTuple):
    topic_name: str
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_filter_type: str = "SINGLE_TAG"
    topic_sys_flag: int = 0
    order: bool = False


class TopicConfigs(NamedTuple):
    """GET_ALL_TOPIC_CONFIG (21), topics.json."""

    topic_config_table: dict[str, TopicConfig]
    data_version: DataVersion


class SubscriptionGroupConfig(NamedTuple):
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP (200)."""

    group_name: str
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True


class SubscriptionGroups(NamedTuple):
    """GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201), subscriptionGroup.json."""

    subscription_group_table: dict[str, SubscriptionGroupConfig]
    data_version: DataVersion


class ConsumerOffsets(NamedTuple):
    """GET_ALL_CONSUMER_OFFSET (43), consumerOffset.json."""

    offset_table: dict[str, dict[int, int]]
    """``topic@group`` to queue id to the next offset to consume."""


class DelayOffsets(NamedTuple):
    """GET_ALL_DELAY_OFFSET (45), delayOffset.json."""

    offset_table: dict[int, int]
    """Delay level to the next offset to deliver."""


class KVTable(NamedTuple):
    """GET_BROKER_RUNTIME_INFO (28); also the order configuration in the answer to REGISTER_BROKER (103)."""

    table: dict[str, str]


class GroupList(NamedTuple):
    """QUERY_TOPIC_CONSUME_BY_WHO (300)."""

    group_list: tuple[str, ...] = ()


class TopicList(NamedTuple):
    """GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206)."""

    topic_list: tuple[str, ...] = ()
