"""Mutants of queries as users make them, by key and time window, by time and by id, and of what they read."""

from collections.abc import Callable

from ...reference.core.consume_queue import Entry
from ...reference.core.consume_queues import ConsumeQueues
from ...reference.core.key_index import Found, IndexFile, KeyIndex
from ...reference.core.processors.queries import Queries
from ...reference.core.store import MessageStore
from ...reference.wire.record import Record
from .mutant import seeded

FOREVER = (1 << 63) - 1
Times = Callable[[Entry], int]


@seeded("master", "query-by-key", "returns a message once for each time that it names the key", seen_in="4.x, 5.x")
class ReturnsEachEntry(Queries):
    def _with_key(self, topic: str, key: str, offsets: list[int], limit: int) -> list[Record]:
        found = [
            each for offset in offsets for each in super(ReturnsEachEntry, self)._with_key(topic, key, [offset], 1)
        ]
        return found[:limit]


@seeded("slave", "query-by-key", "ignores the end of a query's time window")
class IgnoresEndOfWindow(KeyIndex):
    def query(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> Found:
        return super().query(topic, key, limit, begin_ms, FOREVER)


@seeded("master", "query-by-key", "returns the oldest messages if more have the key than a query wants")
class ReturnsOldest(Queries):
    def _with_key(self, topic: str, key: str, offsets: list[int], limit: int) -> list[Record]:
        return super()._with_key(topic, key, offsets[::-1], limit)[::-1]


@seeded("master", "query-by-key", "finds by key only what it has indexed since its start")
class ForgetsEarlierKeys(KeyIndex):
    since = 0

    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        self.since = log_end
        return super().recover(clean, flushed_ms, log_end)

    def query(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> Found:
        found = super().query(topic, key, limit, begin_ms, end_ms)
        return found._replace(offsets=[each for each in found.offsets if each >= self.since])


@seeded("master", "query-by-key", "misses the second newest index file in a query by key")
class MissesSecondFile(KeyIndex):
    def query(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> Found:
        files, self.files = self.files, [*self.files[:-2], *self.files[-1:]]
        try:
            return super().query(topic, key, limit, begin_ms, end_ms)
        finally:
            self.files = files


@seeded("master", "query-offsets", "answers a time that several messages have with the message after them")
class PassesEqualTimes(ConsumeQueues):
    def offset_by_time(self, topic: str, queue_id: int, ms: int, store_ms: Times) -> int:
        found = super().offset_by_time(topic, queue_id, ms, store_ms)
        equal = [each for each in self.get(topic, queue_id, found, FOREVER // 40) if store_ms(each) == ms]
        return found + len(equal) if len(equal) > 1 else found


@seeded("slave", "query-by-id", "answers the id of an expired message with its oldest message")
class ViewsOldestForExpired(Queries):
    def _record(self, offset: int) -> Record | None:
        log = self.parts.store.log
        return super()._record(log.start if 0 <= offset < log.start else offset)


@seeded("slave", "queue-is-its-log", "does not rebuild its index at a start once log files have expired")
class RebuildsNoIndexAfterExpiry(KeyIndex):
    stored_to = skipped_to = 0

    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        self.stored_to = log_end
        return super().recover(clean, flushed_ms, log_end)

    def expire(self, log_start: int) -> None:
        self.skipped_to, self.stored_to = self.stored_to if log_start else self.skipped_to, 0
        super().expire(log_start)

    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        if offset >= self.skipped_to:
            super().put(topic, keys, offset, store_ms)


class CountsEntries(IndexFile):
    def put(self, value: int, offset: int, store_ms: int) -> None:
        self.used_slots += self._newest(value) != 0
        super().put(value, offset, store_ms)


@seeded("master", "queue-is-its-log", "counts a used slot of the key index for each entry", seen_in="<=4.7.0")
class CountsSlotPerEntry(KeyIndex):
    def _open(self, name: str) -> IndexFile:
        return CountsEntries(self._disk, name, self._slots, self._entries)


@seeded("slave", "queue-checkpoint", "records in its checkpoint that the index is durable up to the present")
class TrustsIndexUpToNow(MessageStore):
    def _note_times(self, derived_ms: int) -> None:
        super()._note_times(derived_ms)
        self.checkpoint.index_ms = self.io.wall_ms()
        self.checkpoint.save()


@seeded("master", "query-by-key", "finds messages of the topic whose key has the same hash", seen_in="4.x, 5.x")
class FindsByHash(Queries):
    def _with_key(self, topic: str, key: str, offsets: list[int], limit: int) -> list[Record]:
        found = [record for each in dict.fromkeys(offsets) if (record := self._record(each)) is not None]
        return [each for each in found if each.message.topic == topic][:limit]
