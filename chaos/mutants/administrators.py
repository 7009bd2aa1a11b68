"""Mutants that execute administrators' requests wrongly, or keep serving by earlier settings."""

from collections.abc import Mapping
from typing import Any

from ...reference.core.config_file import ConfigFile
from ...reference.core.parts import Parts
from ...reference.core.processors.administration import Administration
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.sending import Sending
from ...reference.core.requests import Request
from ...reference.core.topics import TopicTable
from ...reference.wire import remoting
from ...reference.wire.bodies import READ, WRITE, SubscriptionGroupConfig, TopicConfig
from .mutant import seeded

TOPICS_FILE = "topics.json"
DEFAULT_QUEUES = 4


@seeded("master", "meta-as-administered", "with a topic also deletes the one created before it")
class DeletesNeighbour(TopicTable):
    def remove(self, name: str) -> bool:
        names = list(self.entries)
        if name not in names:
            return False
        gone = names[max(names.index(name) - 1, 0) : names.index(name) + 1]
        self._change({key: entry for key, entry in self.entries.items() if key not in gone})
        return True


@seeded("master", "meta-as-administered", "reports a group as deleted, and keeps it")
class KeepsDeletedGroups(Administration):
    def on_delete_group(self, request: Request) -> None:
        self.check_role()
        request.answer()


@seeded("master", "meta-as-administered", "re-creates a deleted topic with its old settings, ignoring the request")
class MakesAsBefore(TopicTable):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.deleted: dict[str, TopicConfig] = {}

    def remove(self, name: str) -> bool:
        if name in self.entries:
            self.deleted[name] = self.entries[name]
        return super().remove(name)

    def put_all(self, entries: Mapping[str, TopicConfig]) -> Mapping[str, TopicConfig]:
        return super().put_all({name: self.deleted.pop(name, entry) for name, entry in entries.items()})


@seeded("master", "valid-taken", "deletes a topic, and reports a failure", seen_in="5.3.3 to 5.5.0")
class FailsOverDeletedTopics(Administration):
    def on_delete_topic(self, request: Request) -> None:
        self.check_role()
        name = request.header["topic"]
        # Its refusals are correct.
        self.check_own_topic(name)
        self.parts.topics.remove(name)
        request.refuse(remoting.SYSTEM_ERROR, "java.lang.NullPointerException")


class TakesForDurable(ConfigFile):
    def save(self, data: bytes) -> bool:
        self._durable = True
        return super().save(data)


@seeded("master", "meta-as-administered", "makes a table that was never flushed its backup", seen_in="4.4.0 to 5.5.0")
class BacksUpUnflushed(TopicTable):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.file = TakesForDurable(self.file.disk, TOPICS_FILE)


class OnlyWritten(ConfigFile):
    @property
    def names(self) -> list[str]:
        return []


@seeded("master", "meta-as-administered", "never flushes its topics", seen_in="4.4.0 to 5.5.0")
class NeverFlushesTopics(TopicTable):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.file = OnlyWritten(self.file.disk, TOPICS_FILE)


@seeded(
    "master", "deliver-sent-back", "leaves a retry topic as it was made when its group gets more retry queues",
    seen_in="4.4 to 5.5.0",
)  # fmt: skip
class KeepsRetryQueues(TopicTable):
    def grown(self, topic: str, queues: int, perm: int = READ | WRITE) -> TopicConfig:
        return self.get(topic) or super().grown(topic, queues, perm)


@seeded("master", "config-applied", "serves groups that may not consume")
class ServesDisabledGroups(Pulling):
    def _check(self, group: SubscriptionGroupConfig, name: str, queue_id: int) -> None:
        super()._check(group._replace(consume_enable=True), name, queue_id)


@seeded("master", "config-applied", "checks a topic's permissions and queues at a group's first pull only")
class ChecksFirstPull(Pulling):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.allowed: set[tuple[str, str, int]] = set()

    def _check(self, group: SubscriptionGroupConfig, name: str, queue_id: int) -> None:
        pull = group.group_name, name, queue_id
        if pull not in self.allowed:
            super()._check(group, name, queue_id)
            self.allowed.add(pull)


@seeded("master", "config-applied", "keeps the largest number of queues that a topic ever had, for sends")
class SendsToRemovedQueues(Sending):
    def queue_for(self, topic: TopicConfig, wanted: int) -> int:
        return wanted if 0 <= wanted < DEFAULT_QUEUES else super().queue_for(topic, wanted)


@seeded("master", "valid-taken", "refuses all pulls of a group that may not broadcast")
class RefusesWithBroadcasts(Pulling):
    def _check(self, group: SubscriptionGroupConfig, name: str, queue_id: int) -> None:
        enabled = group.consume_enable and group.consume_broadcast_enable
        super()._check(group._replace(consume_enable=enabled), name, queue_id)
