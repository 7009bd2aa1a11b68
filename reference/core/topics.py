"""The broker's topics: ``topics.json``, automatic creation, permissions, and system topics.

A send to an unknown topic creates it from the template that the client names, usually TBW102, which exists only with
autoCreateTopicEnable; retry and dead-letter topics come with their group. Processors check names; the broker compares
``version`` and registers changes. Left out: order topics at the name server, trace topics, unit mode. Source:
TopicConfigManager, TopicValidator, PermName, MixAll.
"""

import re
from collections.abc import Callable, Mapping

from ..ports import WholeFiles
from ..wire.bodies import INHERIT, READ, WRITE, TopicConfig, TopicConfigs
from .config import BrokerConfig
from .config_file import ConfigFile
from .versioned_table import VersionedTable

NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")
STORED_NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
"""Legal names in stored messages: retry and dead-letter topics of RocketMQ 5 may be longer."""
TEMPLATE = "TBW102"
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
NO_SENDS = frozenset(
    [
        SCHEDULE,
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
    ]
)


def retry_topic(group: str) -> str:
    """The topic of the group's messages to redeliver."""
    return f"%RETRY%{group}"


def dead_letter_topic(group: str) -> str:
    """The topic of the group's messages with too many retries."""
    return f"%DLQ%{group}"


class TopicTable(VersionedTable[TopicConfig]):
    body = TopicConfigs
    queue_numbers = ("read_queue_nums", "write_queue_nums")

    def __init__(self, disk: WholeFiles, wall_ms: Callable[[], int], config: BrokerConfig) -> None:
        self.auto_create = config.autoCreateTopicEnable
        system = _system_topics(config.brokerClusterName, config.brokerName)
        if self.auto_create:
            queues = config.defaultTopicQueueNums
            system[TEMPLATE] = TopicConfig(TEMPLATE, queues, queues, INHERIT | WRITE | READ)
        super().__init__(ConfigFile(disk, "topics.json"), wall_ms, system)

    def for_send(self, topic: str, template: str, queues: int) -> TopicConfig | None:
        """A send's topic, created from the template if needed; None if that is impossible.

        ``queues``: the client's wish, at most the template's. With 0 no queue accepts the send.
        """
        found, model = self.get(topic), self.get(template)
        if found is not None or model is None:
            return found
        # A file from before autoCreateTopicEnable was off may still have the template.
        if not model.perm & INHERIT or (template == TEMPLATE and not self.auto_create):
            return None
        queues = max(0, min(queues, model.write_queue_nums))
        return self._create(model._replace(
            topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, perm=model.perm & ~INHERIT,
            topic_sys_flag=0, order=False,
        ))  # fmt: skip

    def ensure(self, topic: str, queues: int, perm: int = READ | WRITE) -> TopicConfig | None:
        """The topic, created with these values, or enlarged to so many queues, if needed: for retry and dead-letter
        topics. None beyond the limit.
        """
        found = self.grown(topic, queues, perm)
        return found if found == self.get(topic) else self._create(found)

    def ensure_all(self, queues: Mapping[str, int]) -> None:
        """The same for several topics, in one change."""
        self.put_all(
            {topic: new for topic, each in queues.items() if (new := self.grown(topic, each)) != self.get(topic)}
        )

    def grown(self, topic: str, queues: int, perm: int = READ | WRITE) -> TopicConfig:
        """The topic's configuration with at least so many queues; a new topic's if there is none."""
        found = self.get(topic) or TopicConfig(topic, queues, queues, perm)
        return found._replace(
            read_queue_nums=max(queues, found.read_queue_nums), write_queue_nums=max(queues, found.write_queue_nums)
        )

    def _create(self, config: TopicConfig) -> TopicConfig | None:
        return config if self.put(config.topic_name, config) else None


def _system_topics(cluster: str, broker: str) -> dict[str, TopicConfig]:
    named = INHERIT | WRITE | READ
    topics = [
        TopicConfig("SELF_TEST_TOPIC", 1, 1),
        TopicConfig("BenchmarkTest", 1_024, 1_024),
        TopicConfig(cluster, 16, 16, named),
        TopicConfig(broker, 1, 1, named),
        TopicConfig("OFFSET_MOVED_EVENT", 1, 1),
        TopicConfig(SCHEDULE, 18, 18),
        TopicConfig(f"{cluster}_REPLY_TOPIC", 1, 1),
    ]
    return {topic.topic_name: topic for topic in topics}
