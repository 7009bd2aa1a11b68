"""Which records belong to which queue: RocketMQ's reput and consume queues, in memory.

Every node builds it from its own log, record by record, up to the first one that is not complete: a slave may hold a
part. After a restart a new index is built from the recovered log; nothing is stored. Entries, rules for duplicates, gaps
and a first offset above 0 are the consume queue's. Half and rollback messages are not indexed. Not here: the key index,
queue files on disk, the consume queue extension. No CRC is checked.
Source: DefaultMessageStore.ReputMessageService, CommitLog.checkMessageAndReturnSize, ConsumeQueue.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple, Protocol

from pairproof.reference.wire.properties import DELAY, java_hash, properties_of
from pairproof.reference.wire.record import (
    BLANK_SIZE,
    BORN_HOST_V6,
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    STORE_HOST_V6,
)

SCHEDULE_TOPIC = b"SCHEDULE_TOPIC_XXXX"
DELAYS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Delay levels 1 to 18, in seconds: messageDelayLevel's default."""

_WINDOW = 64 * 1024
# size magic | queue | queueOffset | sysFlag | storeTimestamp | bodyLength, for two IPv4 hosts.
_HEAD = Struct(">ii4xi4xq8xi16xq20xi")
# bodyLength alone and storeTimestamp alone, where IPv6 hosts move them.
_LONG = Struct(">q")
_INT = Struct(">i")
_SHORT = Struct(">h")
_V6 = BORN_HOST_V6 | STORE_HOST_V6
_TRANSACTION = 0xC
_INDEXED_TRANSACTIONS = (0x0, 0x8)


class Log(Protocol):
    """What the index needs of a commit log."""

    file_size: int

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    def read(self, at: int, limit: int) -> bytes: ...


class Entry(NamedTuple):
    """One consume queue entry: 20 bytes in RocketMQ's files."""

    physical_offset: int
    size: int
    tags_code: int
    """Java hash of TAGS, 0 without; for delayed messages when to deliver, ms since the epoch."""


class _Queue:
    """Entries of one queue, from logical offset ``first`` on."""

    __slots__ = ("entries", "first")

    def __init__(self, first: int) -> None:
        self.first = first
        self.entries: list[Entry] = []


class QueueIndex:
    """The queues of one log. Logical offsets count messages of a queue.

    ``at`` is how far dispatch has come; ``stalled`` says why it cannot go on although bytes are there (None while it
    only waits for the rest of a record); ``gaps`` counts entries whose queue offset was higher than the next one.
    """

    def __init__(self) -> None:
        self.at = 0
        self.stalled: str | None = None
        self.gaps = 0
        self._queues: dict[tuple[bytes, int], _Queue] = {}

    def dispatch(self, log: Log) -> int:
        """Index every whole record between where the last call stopped and the log's end; how many messages that adds.

        Fillers are jumped over, as are records whose parts do not add up to their size; at anything else dispatch
        stays, sets ``stalled`` and tries again at the next call.
        """
        self.stalled = None
        self.at = max(self.at, log.start)
        added = 0
        wanted = _WINDOW
        while self.at < log.end:
            window = log.read(self.at, wanted)
            begin, count = self.at, 0
            wanted, count = self._dispatch_window(window, log)
            added += count
            if self.at == begin and (wanted <= len(window) or self.at + wanted > log.end):
                break
        return added

    def next_offset(self, topic: str, queue_id: int) -> int:
        """The offset that the queue's next message gets; 0 for an unknown queue."""
        queue = self._queues.get((topic.encode(), queue_id))
        return queue.first + len(queue.entries) if queue else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        """The first message's offset; 0 for an unknown queue."""
        queue = self._queues.get((topic.encode(), queue_id))
        return queue.first if queue else 0

    def get(self, topic: str, queue_id: int, offset: int, limit: int) -> list[Entry]:
        """Up to ``limit`` entries from logical ``offset`` on; none if that is outside the queue."""
        queue = self._queues.get((topic.encode(), queue_id))
        if queue is None or offset < queue.first:
            return []
        skipped = offset - queue.first
        return queue.entries[skipped : skipped + max(0, limit)]
