"""Mutants of what a broker derives from its log: queue offsets, consume queues, the key index."""

from typing import Any

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.checkpoint import Checkpoint
from pairproof.reference.core.consume_queue import Entry
from pairproof.reference.core.consume_queues import ConsumeQueues
from pairproof.reference.core.dispatch import Dispatcher
from pairproof.reference.core.key_index import KeyIndex
from pairproof.reference.core.store import DISPATCH, MessageStore, Stored
from pairproof.reference.wire.record import FIXED_SIZE, Message

PAGE = 600


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


class BeginsAgain(ConsumeQueues):
    def expire(self, log_start: int) -> None:
        super().expire(log_start)
        for queue in self._queues.values():
            if queue.first == queue.next_offset:
                queue.clear()


class DispatchesHalves(Dispatcher):
    def _scan(self, window: bytes) -> int:
        end = self.at + len(window)
        missing = super()._scan(window)
        left = end - self.at
        if not FIXED_SIZE <= left < missing:
            return missing
        return super()._scan(window[-left:] + bytes(missing - left))


class DispatchesPages(MessageStore):
    def dispatch(self) -> None:
        if self.log.end - self.dispatcher.at >= PAGE:
            super().dispatch()


class AwaitsNextMessage(MessageStore):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key != DISPATCH:
            super().on_timer(key)


class SkipsBacklog(MessageStore):
    def on_timer(self, key: tuple[str, None]) -> None:
        if key == DISPATCH and self.held:
            self.dispatcher.at = self.log.end
        super().on_timer(key)


class CountsInQueues(MessageStore):
    def _dispatch_put(self, message: Message, last: Stored) -> None:
        super()._dispatch_put(message, last)
        self._given.clear()


class TrustsQueues(Dispatcher):
    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        super().recover(clean, checkpoint)
        self.at = self.log.end


class SizesForTags(ConsumeQueues):
    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        return super().put(topic, queue_id, offset, entry._replace(tags_code=entry.size))


class ForgetsKeys(KeyIndex):
    indexed = 0

    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        self.indexed = log_end
        return super().recover(clean, flushed_ms, log_end)

    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        if offset >= self.indexed:
            super().put(topic, keys, offset, store_ms)


QUEUES = (
    Mutant("counts_last_again", "master", with_parts(store_class=CountsLastAgain), "queue-dense",
           "gives a queue's last offset to a second message after a restart"),
    Mutant("begins_again", "master", with_parts(queues_class=BeginsAgain), "queue-dense",
           "begins a queue at 0 again when all its messages have expired (4.9)"),
    Mutant("dispatches_halves", "slave", with_parts(dispatcher_class=DispatchesHalves), "queue-whole-records",
           "dispatches a record of which it has the header only"),
    Mutant("dispatches_pages", "slave", with_parts(store_class=DispatchesPages), "queue-whole-records",
           "dispatches when 600 bytes wait for it, and not before"),
    Mutant("awaits_next_message", "master", with_parts(store_class=AwaitsNextMessage), "queue-whole-records",
           "catches up with its log only when another message comes"),
    Mutant("skips_backlog", "master", with_parts(store_class=SkipsBacklog), "queue-whole-records",
           "lets go of what has waited to be dispatched"),
    Mutant("counts_in_queues", "master", with_parts(store_class=CountsInQueues), "queue-dense",
           "gives one queue offset to all messages that come while its queues lag behind"),
    Mutant("trusts_queues", "slave", with_parts(dispatcher_class=TrustsQueues), "queue-whole-records",
           "dispatches at a start nothing of what its log holds"),
    Mutant("sizes_for_tags", "slave", with_parts(queues_class=SizesForTags), "queue-derived-equal",
           "writes a record's size into its queue where the hash of the tags belongs"),
    Mutant("forgets_keys", "slave", with_parts(index_class=ForgetsKeys), "queue-derived-equal",
           "does not index again what was in the index files that a start drops"),
)  # fmt: skip
