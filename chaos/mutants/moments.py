"""Mutants of single moments: a queue needs its first file, a table is renamed or taken, a call fails once."""

from collections.abc import Hashable

from ...reference.core import checkpoint
from ...reference.core.calls import Outcome
from ...reference.core.checkpoint import Checkpoint, store_ms_at
from ...reference.core.config_file import ConfigFile
from ...reference.core.dispatch import Dispatcher
from ...reference.core.key_index import KeyIndex
from ...reference.core.metadata_sync import MetadataSync, Step
from ...reference.core.store import MessageStore
from ...reference.core.topics import TopicTable
from ...reference.errors import StoreFull
from ...reference.ports import MS, Store
from .metadata import TakesTopicsTwice, Topics
from .mutant import seeded


class _EndsDispatch(MessageStore):
    ended = False

    def _dispatch(self) -> None:
        if not self.ended:
            super()._dispatch()
            self.ended = self.dispatcher.lacks_room
        if self.ended:
            # Sends are answered as during a stall.
            self.dispatcher.stalled, self.dispatcher.lacks_room, self.held = None, False, True


@seeded("master", "queue-whole-records", "stops dispatching when a queue's file has no room once", seen_in="5.2")
class EndsDispatch(_EndsDispatch):
    pass


@seeded("slave", "queue-whole-records", "a slave that stops dispatching when a file has no room once", seen_in="5.2")
class EndsItsDispatch(_EndsDispatch):
    pass


@seeded("master", "queue-is-its-log", "drops a key for which a new index file could not be created")
class SkipsFullIndex(KeyIndex):
    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        try:
            super().put(topic, keys, offset, store_ms)
        except StoreFull:
            return


@seeded("slave", "meta-atomic-view", "takes the second half of its master's topics 50 ms after the first")
class TakesHalves(TakesTopicsTwice):
    between_ns = 50 * MS

    def at_first(self, entries: Topics) -> Topics:
        return {name: entries[name] for name in sorted(entries)[: len(entries) // 2]}

    def take_rest(self) -> None:
        self.parts.topics._become(self.coming, self.parts.topics.version)


class NoOldFile(ConfigFile):
    disk: Store

    def _put_in_place(self, temporary: str) -> None:
        """The old files are gone before the new one has its name."""
        for name in self.names:
            self.disk.delete(name)
        self.disk.rename(temporary, self.name)


@seeded("slave", "meta-durable", "deletes its topics and their backup before it renames the new file")
class DeletesBeforeRename(TopicTable):
    def load(self) -> None:
        file = self.file
        self.file = NoOldFile(file.disk, "topics.json")
        self.file.on_saved = file.on_saved
        super().load()


@seeded("slave", "meta-converges", "stops fetching tables when one could not be saved once")
class EndsItsSync(MetadataSync):
    ended = False

    def _ended(self, step: Step, outcome: Outcome) -> None:
        parts = self.parts
        super()._ended(step, outcome)
        self.ended = self.ended or parts.topics.changed or parts.groups.changed or parts.offsets.changed

    def on_timer(self, key: Hashable) -> None:
        if not self.ended:
            super().on_timer(key)


class TrustsTheCheckpoint(Dispatcher):
    def replay_from(self, checkpoint: Checkpoint) -> int:
        at = self.log.start
        while (size := self.log.record_size(at)) and store_ms_at(self.log, at) <= checkpoint.logics_ms:
            at += size
        return at


@seeded(
    "master", "queue-is-its-log", "writes the checkpoint, durably, before it flushes the queues, and trusts it",
    dispatcher_class=TrustsTheCheckpoint,
)  # fmt: skip
class ChecksBeforeFlush(MessageStore):
    def _flush_derived(self) -> None:
        least = self._wake_up.least_pages if self._wake_up is not None else 0
        if not least and not self._flushing:
            self._note_times(self.dispatcher.last_ms)
            self.io.disk.sync(checkpoint.NAME)
        super()._flush_derived()
