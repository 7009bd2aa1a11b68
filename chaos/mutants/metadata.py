"""Mutants of a slave's tables: what it takes over from its master, when, and what it keeps."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.calls import Outcome
from pairproof.reference.core.config_file import ConfigFile
from pairproof.reference.core.metadata_sync import MetadataSync, Step
from pairproof.reference.core.subscription_groups import GroupTable
from pairproof.reference.core.topics import TopicTable
from pairproof.reference.core.versioned_table import VersionedTable
from pairproof.reference.ports import MS
from pairproof.reference.wire import headers
from pairproof.reference.wire.bodies import DataVersion, SubscriptionGroupConfig, TopicConfig
from pairproof.reference.wire.headers import RequestCode

T = TypeVar("T")

FILL = ("sync", "fill")
FILL_NS = 1_000 * MS


class KeepsItsOffsets(MetadataSync):
    def take_offsets(self, body: bytes) -> bool:
        return True


class VersionsOfItsOwn(TopicTable):
    def apply_from_master(self, entries: Mapping[str, TopicConfig], version: DataVersion) -> bool:
        if version == self.version:
            return False
        self._change(entries)
        return True


class TakesNewerOnly(GroupTable):
    def apply_from_master(self, entries: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> bool:
        return version.counter > self.version.counter and super().apply_from_master(entries, version)


class StopsAtFailure(MetadataSync):
    def _ended(self, step: Step, outcome: Outcome) -> None:
        if outcome.answer is None:
            self._left = iter(())
        super()._ended(step, outcome)


class SyncsEachMinute(MetadataSync):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.schedule = self.schedule._replace(every=60_000)


class GroupsFirst(MetadataSync):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.steps = self.steps[::-1]


class TakesAlways(MetadataSync):
    def _take(self, table: VersionedTable[Any], body: bytes) -> bool:
        entries, version = table.parse(body)
        table._become(entries, version)
        return True


class SavesTheSame(TopicTable):
    def apply_from_master(self, entries: Mapping[str, TopicConfig], version: DataVersion) -> bool:
        applied = super().apply_from_master(entries, version)
        self._changed = not applied
        self.save()
        return applied


class SavesTheSameEachTime(MetadataSync):
    def _take(self, table: VersionedTable[Any], body: bytes) -> bool:
        self._seen.clear()
        return super()._take(table, body)


class TakesUnsaved(GroupTable):
    def apply_from_master(self, entries: Mapping[str, SubscriptionGroupConfig], version: DataVersion) -> bool:
        if version == self.version:
            return False
        self.entries, self.version = dict(entries), version
        return True


class TellsItsOffsets(MetadataSync):
    def on_timer(self, key: Hashable) -> None:
        code, calls = RequestCode.UPDATE_CONSUMER_OFFSET, self.parts.calls
        for name, queues in self.parts.offsets.table.items() if self.master else ():
            topic, _, group = name.partition("@")
            for queue_id, offset in queues.items():
                commit = {"consumerGroup": group, "topic": topic, "queueId": queue_id, "commitOffset": offset}
                calls.tell(self.master, code, headers.encode_request(code, commit))
        super().on_timer(key)


class FillsLater(MetadataSync):
    coming: Mapping[str, TopicConfig]

    def take_topics(self, body: bytes) -> bool:
        topics = self.parts.topics
        entries, version = topics.parse(body)
        if not topics.apply_from_master({}, version):
            return False
        self.coming = entries
        self.parts.io.timer(FILL, self.parts.io.now() + FILL_NS)
        return True

    def on_timer(self, key: Hashable) -> None:
        if key == FILL:
            self.parts.topics.entries = self.coming
        else:
            super().on_timer(key)


class ForgetsGroups(GroupTable):
    def load(self) -> None:
        """They will come again."""


class NoBackup(ConfigFile):
    """Knows no backup."""

    def load(self, parse: Callable[[bytes], T]) -> T | None:
        found = self._parsed(self.name, parse)
        self._whole = found is not None
        return found


class IgnoresBackup(TopicTable):
    def load(self) -> None:
        file = self.file
        self.file = NoBackup(file.disk, "topics.json")
        self.file.on_saved = file.on_saved
        super().load()


METADATA = (
    Mutant("keeps_its_offsets", "slave", with_parts(sync_class=KeepsItsOffsets), "meta-converges",
           "fetches consumer offsets and does not apply them"),
    Mutant("versions_of_its_own", "slave", with_parts(topics_class=VersionsOfItsOwn), "meta-converges",
           "takes topics over under its own version (5.3.2 to 5.3.4)"),
    Mutant("takes_newer_only", "slave", with_parts(groups_class=TakesNewerOnly), "meta-converges",
           "takes groups over if their version is a newer one, not if it is another one"),
    Mutant("stops_at_failure", "slave", with_parts(sync_class=StopsAtFailure), "meta-schedule",
           "gives a round of its sync up when one table is unavailable"),
    Mutant("syncs_each_minute", "slave", with_parts(sync_class=SyncsEachMinute), "meta-schedule",
           "fetches its master's tables once a minute, not every 10 s"),
    Mutant("groups_first", "slave", with_parts(sync_class=GroupsFirst), "meta-schedule",
           "fetches groups first and topics last"),
    Mutant("takes_always", "slave", with_parts(sync_class=TakesAlways), "meta-version-gate",
           "takes tables over though they are of the version that it has"),
    Mutant("saves_the_same", "slave", with_parts(sync_class=SavesTheSameEachTime, topics_class=SavesTheSame),
           "meta-version-gate", "saves its topics at every sync, changed or not"),
    Mutant("takes_unsaved", "slave", with_parts(groups_class=TakesUnsaved), "meta-version-gate",
           "takes groups over without saving them"),
    Mutant("tells_its_offsets", "slave", with_parts(sync_class=TellsItsOffsets), "meta-one-way",
           "commits at its master the consumer offsets that it was told itself"),
    Mutant("fills_later", "slave", with_parts(sync_class=FillsLater), "meta-atomic-view",
           "clears its topics a second before it fills them (4.9: a moment before)"),
    Mutant("forgets_groups", "slave", with_parts(groups_class=ForgetsGroups), "meta-durable",
           "starts without the groups that it had saved"),
    Mutant("ignores_backup", "slave", with_parts(topics_class=IgnoresBackup), "meta-durable",
           "starts without topics where the last save was torn, though there is a backup"),
)  # fmt: skip
