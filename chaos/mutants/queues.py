"""Mutants of data derived from the log: queue offsets, consume queues, the key index."""

from typing import Any

from ...reference.core.checkpoint import Checkpoint
from ...reference.core.consume_queue import Entry
from ...reference.core.consume_queues import ConsumeQueues
from ...reference.core.delay import SCHEDULE_TOPIC
from ...reference.core.dispatch import Dispatcher
from ...reference.core.key_index import KeyIndex
from ...reference.core.store import DISPATCH, MessageStore, Stored
from ...reference.wire.record import FIXED_SIZE, Message
from .mutant import seeded

PAGE = 600


@seeded("master", "queue-dense", "assigns a queue's last offset to a second message after a restart")
class CountsLastAgain(MessageStore):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.counted: set[int] = set()

    def queue_offset_for(self, message: Message) -> int:
        found = super().queue_offset_for(message)
        if self.recovery == "empty" or message.queue_id in self.counted:
            return found
        self.counted.add(message.queue_id)
        return max(0, found - 1)


@seeded("master", "queue-dense", "restarts a queue at 0 when all its messages have expired", seen_in="4.9")
class BeginsAgain(ConsumeQueues):
    def expire(self, log_start: int) -> None:
        super().expire(log_start)
        for queue in self._queues.values():
            if queue.first == queue.next_offset:
                queue.clear()


@seeded("slave", "queue-whole-records", "dispatches a record when it has only the header")
class DispatchesHalves(Dispatcher):
    def _scan(self, window: bytes) -> int:
        end = self.at + len(window)
        missing = super()._scan(window)
        left = end - self.at
        if not FIXED_SIZE <= left < missing:
            return missing
        return super()._scan(window[-left:] + bytes(missing - left))


@seeded("slave", "queue-whole-records", "dispatches only after 600 bytes are pending")
class DispatchesPages(MessageStore):
    def dispatch(self) -> None:
        if self.log.end - self.dispatcher.at >= PAGE:
            super().dispatch()


@seeded("master", "queue-whole-records", "catches up with its log only when another message arrives")
class AwaitsNextMessage(MessageStore):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key != DISPATCH:
            super().on_timer(key)


@seeded("master", "queue-whole-records", "drops records that wait for dispatch")
class SkipsBacklog(MessageStore):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key == DISPATCH and self.held:
            self.dispatcher.at = self.log.end
        super().on_timer(key)


@seeded("master", "queue-dense", "assigns one queue offset to all messages that arrive while its queues lag behind")
class CountsInQueues(MessageStore):
    def _dispatch_put(self, message: Message, last: Stored) -> None:
        super()._dispatch_put(message, last)
        self._given.clear()


@seeded("slave", "queue-whole-records", "dispatches nothing of its existing log at a start")
class TrustsQueues(Dispatcher):
    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        super().recover(clean, checkpoint)
        self.at = self.log.end


@seeded("slave", "queue-derived-equal", "writes a record's size into its queue in place of the hash of the tags")
class SizesForTags(ConsumeQueues):
    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        return super().put(topic, queue_id, offset, entry._replace(tags_code=entry.size))


@seeded("slave", "queue-derived-equal", "does not rebuild the index files that a start drops")
class ForgetsKeys(KeyIndex):
    indexed = 0

    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        self.indexed = log_end
        return super().recover(clean, flushed_ms, log_end)

    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        if offset >= self.indexed:
            super().put(topic, keys, offset, store_ms)


@seeded("master", "queue-is-its-log", "indexes a message by the hash of its key alone, without its topic")
class HashesKeyAlone(KeyIndex):
    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        super().put("", keys, offset, store_ms)


@seeded("master", "queue-is-its-log", "writes no hash of the tags into its queues")
class QueuesWithoutTags(ConsumeQueues):
    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        code = entry.tags_code if topic == SCHEDULE_TOPIC else 0
        return super().put(topic, queue_id, offset, entry._replace(tags_code=code))


@seeded("master", "queue-checkpoint", "flushes its queues only once")
class FlushesQueuesOnce(MessageStore):
    flushes = 0

    def _flush_derived(self) -> None:
        self.flushes += 1
        if self.flushes == 1:
            super()._flush_derived()


@seeded("slave", "queue-checkpoint", "reports its queues as durable up to the present time")
class ChecksAhead(MessageStore):
    def _note_times(self, derived_ms: int) -> None:
        super()._note_times(max(derived_ms, self.io.wall_ms() + 1))


@seeded("slave", "queue-checkpoint", "loses at a start how far its queues were durable")
class ForgetsDurable(Dispatcher):
    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        super().recover(clean, checkpoint)
        self.last_ms = 0
