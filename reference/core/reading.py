"""What a pull finds in a queue: the range check, the batch's limits, and where to read next.

The broker's log end and memory decide whether a reader is slow: when what it reads lies further behind the log's end
than accessMessageInMemoryMaxRatio percent of the memory. A queue on the disk gives smaller batches. A slave does not
correct offsets, since it may only be behind, unless offsetCheckInSlave is set. Where this differs from RocketMQ, on
purpose: who asks for more than 800 messages does not have more entries looked at.
Source: DefaultMessageStore.getMessage, isTheBatchFull, checkInDiskByCommitOffset, nextOffsetCorrection.
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
"""Queue entries that a pull looks at, however many messages it wants and however few its filter takes."""

Takes = Callable[[Entry], bool]


class Found(NamedTuple):
    """What a pull found. ``low`` and ``high``: the queue's first and next logical offset."""

    status: str
    """RocketMQ's GetMessageStatus."""
    next_offset: int
    low: int
    high: int
    slow: bool = False
    """Whether a slave should serve the next pull."""
    messages: tuple[bytes, ...] = ()
    """Records as the log has them."""


class Reader:
    """Reads queues of one store."""

    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        self.store = store
        self.memory = config.log_memory
        self.corrects = not config.is_slave or config.offsetCheckInSlave

    # Decisions.

    @property
    def moves(self) -> bool:
        """Whether a reader outside the queue is sent into it: not by queues that may only be behind."""
        return self.corrects and not self.store.behind

    def is_slow(self, offset: int) -> bool:
        """Whether the log has grown by more than the memory since what lies at ``offset``."""
        return self.store.log.end - offset > self.memory

    def corrected(self, asked: int, right: int) -> int:
        """Where a reader that is outside the queue is sent."""
        return right if self.moves else asked

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        """Up to ``limit`` messages that ``takes`` takes, from logical ``offset`` on."""
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
        # Without a filter every entry is a message, and no answer has more than a batch of those.
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
