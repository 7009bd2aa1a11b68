"""Reads a pull's messages from a queue: the range check, the batch's limits, and the next offset.

A reader is slow if its messages lie further behind the broker's log end than accessMessageInMemoryMaxRatio percent of
the memory. A queue on disk returns smaller batches. A slave does not correct offsets, since it may only be behind,
unless offsetCheckInSlave is set. Where this differs from RocketMQ, on purpose: a request for more than 800 messages
does not scan more entries. Source: DefaultMessageStore.getMessage, isTheBatchFull, checkInDiskByCommitOffset,
nextOffsetCorrection.
"""

from collections.abc import Callable
from typing import NamedTuple

from .config import BrokerConfig
from .consume_queue import Entry
from .store import MessageStore

IN_MEMORY = (32, 256 * 1024)
ON_DISK = (8, 64 * 1024)
"""Messages and bytes of one answer."""
MOST_SCANNED = 800
"""Queue entries that a pull scans at most."""

Takes = Callable[[Entry], bool]


class Found(NamedTuple):
    """The result of a pull. ``low`` and ``high``: the queue's first and next logical offset."""

    status: str
    """RocketMQ's GetMessageStatus."""
    next_offset: int
    low: int
    high: int
    slow: bool = False
    messages: tuple[bytes, ...] = ()


class Reader:
    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        self.store = store
        self.memory = config.log_memory
        self.corrects = not config.is_slave or config.offsetCheckInSlave

    @property
    def moves(self) -> bool:
        """Whether a reader outside the queue is moved into it: not if the queue may only be behind."""
        return self.corrects and not self.store.behind

    def is_slow(self, offset: int) -> bool:
        """Whether the log has grown by more than the memory since ``offset``."""
        return self.store.log.end - offset > self.memory

    def corrected(self, wanted: int, right: int) -> int:
        return right if self.moves else wanted

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        """Up to ``limit`` messages that ``takes`` accepts, from logical ``offset`` on."""
        queues = self.store.queues
        low, high = queues.min_offset(topic, queue_id), queues.next_offset(topic, queue_id)
        if (topic, queue_id) not in queues:
            return Found("NO_MATCHED_LOGIC_QUEUE", self.corrected(offset, 0), 0, 0)
        if high == 0:
            return Found("NO_MESSAGE_IN_QUEUE", self.corrected(offset, 0), low, high)
        if offset < low:
            return Found("OFFSET_TOO_SMALL", self.corrected(offset, low), low, high)
        if offset == high:
            return Found("OFFSET_OVERFLOW_ONE", offset, low, high)
        if offset > high:
            return Found("OFFSET_OVERFLOW_BADLY", self.corrected(offset, high), low, high)
        return self._take(topic, queue_id, offset, limit, takes, (low, high))

    def _take(
        self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None, bounds: tuple[int, int]
    ) -> Found:
        store = self.store
        # Without a filter every entry is a message, and an answer has at most one batch.
        entries = store.queues.get(topic, queue_id, offset, IN_MEMORY[0] if takes is None else MOST_SCANNED)
        found: list[bytes] = []
        size = scanned = 0
        last = -1
        for entry in entries:
            most, most_bytes = ON_DISK if self.is_slow(entry.physical_offset) else IN_MEMORY
            if found and (len(found) >= min(limit, most) or size + entry.size > most_bytes):
                break
            scanned += 1
            last = entry.physical_offset
            if takes is None or takes(entry):
                found.append(store.log.read(last, entry.size))
                size += entry.size
        status = "FOUND" if found else "NO_MATCHED_MESSAGE"
        return Found(status, offset + scanned, *bounds, self.is_slow(last), tuple(found))
