"""Mutants of a slave's tables: the copied contents, their time, and their persistence."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from ...reference.core.calls import Outcome
from ...reference.core.config_file import ConfigFile
from ...reference.core.metadata_sync import MetadataSync, Step
from ...reference.core.subscription_groups import GroupTable
from ...reference.core.topics import TopicTable
from ...reference.core.versioned_table import VersionedTable
from ...reference.errors import CodecError
from ...reference.ports import MS
from ...reference.wire import headers
from ...reference.wire.bodies import DataVersion, SubscriptionGroupConfig, TopicConfig
from ...reference.wire.headers import RequestCode
from .mutant import seeded

T = TypeVar("T")

REST = ("sync", "rest")
Topics = Mapping[str, TopicConfig]


@seeded("slave", "meta-converges", "fetches consumer offsets and does not apply them")
class KeepsItsOffsets(MetadataSync):
    def take_offsets(self, body: bytes) -> bool:
        return True


@seeded("slave", "meta-converges", "cannot read the consumer offsets that it fetches", seen_in="5.5.0")
class ReadsNoOffsets(MetadataSync):
    def take_offsets(self, body: bytes) -> bool:
        raise CodecError("an object's key has no quotes")


@seeded("slave", "meta-converges", "copies topics under its own version", seen_in="5.3.2 to 5.4.0")
class VersionsOfItsOwn(TopicTable):
    def apply_from_master(self, entries: Mapping[str, TopicConfig], version: DataVersion) -> bool:
        if version == self.version:
            return False
        self._change(entries)
        return True


@seeded("slave", "meta-converges", "copies groups only if their version is newer, not if it differs")
class TakesNewerOnly(GroupTable):
    def apply_from_master(self, entries: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> bool:
        return version.counter > self.version.counter and super().apply_from_master(entries, version)


@seeded("slave", "meta-schedule", "aborts a round of its sync when one table is unavailable")
class StopsAtFailure(MetadataSync):
    def _ended(self, step: Step, outcome: Outcome) -> None:
        if outcome.answer is None:
            self._left = iter(())
        super()._ended(step, outcome)


@seeded("slave", "meta-schedule", "fetches its master's tables once a minute, not every 10 s")
class SyncsEachMinute(MetadataSync):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.schedule = self.schedule._replace(every=60_000)


@seeded("slave", "meta-schedule", "fetches groups first and topics last")
class GroupsFirst(MetadataSync):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.steps = self.steps[::-1]


@seeded("slave", "meta-version-gate", "copies tables although it has their version")
class TakesAlways(MetadataSync):
    def _take(self, table: VersionedTable[Any], body: bytes) -> bool:
        entries, version = table.parse(body)
        table._become(entries, version)
        return True


class SavesTheSameTopics(TopicTable):
    def apply_from_master(self, entries: Mapping[str, TopicConfig], version: DataVersion) -> bool:
        applied = super().apply_from_master(entries, version)
        self.changed = not applied
        self.save()
        return applied


@seeded("slave", "meta-version-gate", "saves its topics at every sync, changed or not", topics_class=SavesTheSameTopics)
class SavesTheSame(MetadataSync):
    def _take(self, table: VersionedTable[Any], body: bytes) -> bool:
        self._seen.clear()
        return super()._take(table, body)


@seeded("slave", "meta-version-gate", "saves its topics every 10 s, changed or not")
class SavesBetweenSyncs(MetadataSync):
    def _schedule_next(self) -> None:
        super()._schedule_next()
        self.parts.topics.changed = True
        self.parts.topics.save()


@seeded("slave", "meta-version-gate", "copies groups without saving them")
class TakesUnsaved(GroupTable):
    def apply_from_master(self, entries: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> bool:
        if version == self.version:
            return False
        self.entries, self.version = dict(entries), version
        return True


@seeded("slave", "meta-one-way", "commits its own consumer offsets at its master")
class TellsItsOffsets(MetadataSync):
    def on_timer(self, key: Hashable) -> None:
        code, calls = RequestCode.UPDATE_CONSUMER_OFFSET, self.parts.calls
        for name, queues in self.parts.offsets.table.items() if self.master else ():
            topic, _, group = name.partition("@")
            for queue_id, offset in queues.items():
                commit = {"consumerGroup": group, "topic": topic, "queueId": queue_id, "commitOffset": offset}
                calls.send_oneway(self.master, code, headers.encode_request(code, commit))
        super().on_timer(key)


class TakesTopicsTwice(MetadataSync):
    """Applies one table of topics in two steps: ``coming`` is the second's."""

    between_ns: int
    coming: Topics

    def at_first(self, entries: Topics) -> Topics:
        raise NotImplementedError

    def take_rest(self) -> None:
        raise NotImplementedError

    def take_topics(self, body: bytes) -> bool:
        topics = self.parts.topics
        self.coming, version = topics.parse(body)
        if not topics.apply_from_master(self.at_first(self.coming), version):
            return False
        self.parts.io.timer(REST, self.parts.io.now() + self.between_ns)
        return True

    def on_timer(self, key: Hashable) -> None:
        if key == REST:
            self.take_rest()
        else:
            super().on_timer(key)


@seeded("slave", "meta-atomic-view", "clears its topics a second before it fills them", seen_in="4.9 (a moment before)")
class FillsLater(TakesTopicsTwice):
    between_ns = 1_000 * MS

    def at_first(self, entries: Topics) -> Topics:
        return {}

    def take_rest(self) -> None:
        self.parts.topics.entries = self.coming


@seeded("slave", "meta-durable", "starts without its saved groups")
class ForgetsGroups(GroupTable):
    def load(self) -> None:
        """Not loaded."""


class NoBackup(ConfigFile):
    def load(self, parse: Callable[[bytes], T]) -> T | None:
        found = self._parsed(self.name, parse)
        self._whole = found is not None
        return found


@seeded("slave", "meta-durable", "starts without topics after a torn save, although there is a backup")
class IgnoresBackup(TopicTable):
    def load(self) -> None:
        file = self.file
        self.file = NoBackup(file.disk, "topics.json")
        self.file.on_saved = file.on_saved
        super().load()
