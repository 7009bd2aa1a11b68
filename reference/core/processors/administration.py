"""Administration: topics (17, 215, 21), subscription groups (200, 207, 201) and the configuration (25, 26).

A slave has its master's topics and groups, and refuses changes. A deleted topic's queues remain: a re-created topic
continues at their offsets. Settings in ``CHANGEABLE`` can change at runtime; they are not written to ``broker.conf``,
and a restart resets them.

Where this differs from RocketMQ, on purpose: numbers and names are checked; a setting that is unknown or takes effect
only at a start is refused (RocketMQ reports success); a change without effect makes no new table version; and no queue
offset is ever reused (RocketMQ 4.9 deletes a deleted topic's queues at once). Left out: order topics, access control.
Source: AdminBrokerProcessor, TopicValidator, Configuration.
"""

from dataclasses import fields, replace

from ...errors import CodecError, ConfigError
from ...wire import beans, config_text
from ...wire.bodies import INHERIT, READ, WRITE, DataVersion, SubscriptionGroupConfig, TopicConfig
from ..config import BrokerConfig
from ..parts import Parts
from ..requests import Request
from ..topics import NO_SENDS, TEMPLATE
from ..versioned_table import MAX_ENTRIES, MAX_QUEUES
from .limits import check_group, check_range, check_topic

CHANGEABLE = (
    "autoCreateSubscriptionGroup", "autoCreateTopicEnable", "brokerPermission", "longPollingEnable", "slaveReadEnable",
)  # fmt: skip
"""Settings that take effect at once."""
FILTER_TYPES = ("SINGLE_TAG", "MULTI_TAG")
ALL_PERMS = INHERIT | WRITE | READ
_MAX_INT, _MAX_LONG = (1 << 31) - 1, (1 << 63) - 1


class Administration:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.config_version = DataVersion(parts.io.wall_ms(), 0)
        cluster, broker = parts.config.brokerClusterName, parts.config.brokerName
        own = {cluster, broker, f"{cluster}_REPLY_TOPIC"}
        self.system_topics = NO_SENDS | own | {TEMPLATE, "BenchmarkTest", "RMQ_SYS_TRACE_TOPIC"}

    def check_role(self) -> None:
        if self.parts.config.is_slave:
            raise CodecError("this is a slave: change topics and groups on its master")

    def on_put_topic(self, request: Request) -> None:
        self.check_role()
        header = request.header
        name = header["topic"]
        self.check_own_topic(name)
        check_range("readQueueNums", header["readQueueNums"], 0, MAX_QUEUES)
        check_range("writeQueueNums", header["writeQueueNums"], 0, MAX_QUEUES)
        check_range("perm", header["perm"], 0, ALL_PERMS)
        if header["topicFilterType"] not in FILTER_TYPES:
            raise CodecError(f"topicFilterType must be {' or '.join(FILTER_TYPES)}")
        topic = TopicConfig(
            name, header["readQueueNums"], header["writeQueueNums"], header["perm"], header["topicFilterType"],
            header.get("topicSysFlag", 0),
        )  # fmt: skip
        topics = self.parts.topics
        if topics.get(name) != topic and not topics.put(name, topic):
            raise CodecError(f"no more than {MAX_ENTRIES} topics: delete some")
        request.answer()

    def on_delete_topic(self, request: Request) -> None:
        """215: delete a topic; success if it does not exist."""
        self.check_role()
        name = request.header["topic"]
        self.check_own_topic(name)
        self.parts.topics.remove(name)
        request.answer()

    def check_own_topic(self, name: str) -> None:
        """CodecError for a topic that clients must not create, change or delete."""
        check_topic(name)
        if name in self.system_topics or name.startswith("rmq_sys_"):
            raise CodecError(f"{name} is a system topic")

    def on_put_group(self, request: Request) -> None:
        self.check_role()
        group = beans.decode(SubscriptionGroupConfig, request.command.body)
        check_group(group.group_name)
        check_range("retryQueueNums", group.retry_queue_nums, 0, MAX_QUEUES)
        check_range("retryMaxTimes", group.retry_max_times, -1, _MAX_INT)
        check_range("brokerId", group.broker_id, 0, _MAX_LONG)
        check_range("whichBrokerWhenConsumeSlowly", group.which_broker_when_consume_slowly, 0, _MAX_LONG)
        groups = self.parts.groups
        if groups.get(group.group_name) != group and not groups.put(group.group_name, group):
            raise CodecError(f"no more than {MAX_ENTRIES} groups: delete some")
        request.answer()

    def on_delete_group(self, request: Request) -> None:
        """207: delete a group, and its progress if requested; success if it does not exist."""
        self.check_role()
        name = request.header["groupName"]
        self.parts.groups.remove(name)
        if request.header.get("removeOffset", False):
            self.parts.offsets.remove_group(name)
        request.answer()

    def on_put_config(self, request: Request) -> None:
        changes = config_text.decode(request.command.body)
        fixed = [each.name for each in fields(BrokerConfig) if each.name in changes and each.name not in CHANGEABLE]
        if fixed:
            raise CodecError(
                f"{fixed[0]} takes effect at a start: set it in broker.conf and restart; "
                f"while the broker runs it takes {', '.join(CHANGEABLE)}"
            )
        try:
            wanted = BrokerConfig.from_properties(changes)
        except ConfigError as why:
            raise CodecError(str(why)) from why
        config = replace(self.parts.config, **{key: getattr(wanted, key) for key in changes})
        if config != self.parts.config:
            self._take(config)
        request.answer()

    def on_config(self, request: Request) -> None:
        values = {each.name: _text(getattr(self.parts.config, each.name)) for each in fields(BrokerConfig)}
        request.answer(values={"version": beans.encode(self.config_version).decode()}, body=config_text.encode(values))

    def _take(self, config: BrokerConfig) -> None:
        parts = self.parts
        parts.config = config
        parts.topics.auto_create = config.autoCreateTopicEnable
        parts.groups.auto_create = config.autoCreateSubscriptionGroup
        if config.autoCreateTopicEnable and not config.is_slave:
            parts.topics.ensure(TEMPLATE, config.defaultTopicQueueNums, ALL_PERMS)
        self.config_version = DataVersion(parts.io.wall_ms(), self.config_version.counter + 1)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
