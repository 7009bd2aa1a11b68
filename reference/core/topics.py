"""The broker's topics: ``topics.json``, automatic creation, permissions, and the topics that every broker has.

A send to an unknown topic creates it after the template that the client names, TBW102 as a rule, which exists only
where autoCreateTopicEnable is set; retry and dead-letter topics come with their group. Names are checked by whoever
takes a request, and telling the name server is the broker's business: it compares ``version``. Left out: order topics
at the name server, trace topics, unit mode. Source: TopicConfigManager, TopicValidator, PermName, MixAll.
"""

import re
from collections.abc import Callable, Mapping

from ..ports import WholeFiles
from ..wire.bodies import TopicConfig, TopicConfigs
from .config_file import ConfigFile
from .versioned_table import VersionedTable

NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")
"""What a topic may be called."""
STORED_NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
"""What a stored message's topic may be called: retry and dead-letter topics of RocketMQ 5 may be longer."""
INHERIT, WRITE, READ = 1, 2, 4
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
"""Topics that a client may not send to."""


def retry_topic(group: str) -> str:
    """Where the group's messages wait that are to be delivered once more."""
    return f"%RETRY%{group}"


def dead_letter_topic(group: str) -> str:
    """Where the group's messages go that have been retried too often."""
    return f"%DLQ%{group}"


class TopicTable(VersionedTable[TopicConfig]):
    """Topics by name. ``default_queues`` is defaultTopicQueueNums."""

    body = TopicConfigs
    queue_numbers = ("read_queue_nums", "write_queue_nums")

    def __init__(
        self,
        disk: WholeFiles,
        wall_ms: Callable[[], int],
        *,
        cluster: str,
        broker: str,
        auto_create: bool = True,
        default_queues: int = 8,
    ) -> None:
        self.auto_create = auto_create
        system = _system_topics(cluster, broker)
        if auto_create:
            system[TEMPLATE] = TopicConfig(TEMPLATE, default_queues, default_queues, INHERIT | WRITE | READ)
        super().__init__(ConfigFile(disk, "topics.json"), wall_ms, system)

    def for_send(self, topic: str, template: str, queues: int) -> TopicConfig | None:
        """The topic that a send names, created after the template if need be; None if that cannot be.

        ``queues``: the client's wish, at most the template's. It may come to 0: then no queue takes the send.
        """
        found, model = self.get(topic), self.get(template)
        if found is not None or model is None:
            return found
        # The file may still have a template from when automatic creation was on.
        if not model.perm & INHERIT or (template == TEMPLATE and not self.auto_create):
            return None
        queues = max(0, min(queues, model.write_queue_nums))
        return self._create(model._replace(
            topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, perm=model.perm & ~INHERIT,
            topic_sys_flag=0, order=False,
        ))  # fmt: skip

    def ensure(self, topic: str, queues: int, perm: int = READ | WRITE) -> TopicConfig | None:
        """The topic, created with these values if need be: for retry and dead-letter topics. None: one too many."""
        return self.get(topic) or self._create(TopicConfig(topic, queues, queues, perm))

    def ensure_all(self, queues: Mapping[str, int]) -> None:
        """These topics with so many queues each, those that are new made in one change; none that is one too many."""
        new = {topic: TopicConfig(topic, each, each) for topic, each in queues.items() if self.get(topic) is None}
        self.put_all(new)

    def _create(self, config: TopicConfig) -> TopicConfig | None:
        return config if self.put(config.topic_name, config) else None


def readable(topic: TopicConfig) -> bool:
    """Whether clients may pull from it."""
    return bool(topic.perm & READ)


def writable(topic: TopicConfig) -> bool:
    """Whether clients may send to it."""
    return bool(topic.perm & WRITE)


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
