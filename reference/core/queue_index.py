"""Which records belong to which queue: RocketMQ's reput and consume queues, in memory.

Every node builds it from its own log, record by record, up to the first one that is not complete: a slave may hold a
part. After a restart a new index is built from the recovered log; nothing is stored. Entries, and the rules for
duplicates, gaps and a first offset above 0, are the consume queue's. Half and rollback messages are not indexed. Not
here: the key index, queue files on disk, the consume queue extension. No CRC is checked.
Source: DefaultMessageStore.ReputMessageService, CommitLog.checkMessageAndReturnSize, ConsumeQueue.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from struct import Struct
from typing import NamedTuple, Protocol

from pairproof.reference.wire.properties import DELAY, properties_of, tags_code
from pairproof.reference.wire.record import (
    BLANK_SIZE,
    BORN_HOST_V6,
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAX_TOPIC,
    STORE_HOST_V6,
)

SCHEDULE_TOPIC = b"SCHEDULE_TOPIC_XXXX"
DELAYS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)
"""Delay levels 1 to 18, in seconds: messageDelayLevel's default."""

_WINDOW = 64 * 1024
_START = Struct(">ii")
_SHORT = Struct(">h")
# Of a record's head only queueId, queueOffset, sysFlag, storeTimestamp and body length; one layout per host widths.
_LAYOUT = ">12xi4xq8xi8x{born}xq{store}x12xi"
_HEADS = {
    flags: Struct(_LAYOUT.format(born=20 if flags & BORN_HOST_V6 else 8, store=20 if flags & STORE_HOST_V6 else 8))
    for flags in (0, BORN_HOST_V6, STORE_HOST_V6, BORN_HOST_V6 | STORE_HOST_V6)
}
_HEAD = _HEADS[0]
_V6 = BORN_HOST_V6 | STORE_HOST_V6
_NONE_OR_COMMIT = (0x0, 0x8)
_TRANSACTION = 0xC


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

    ``at`` is how far dispatch has come. ``stalled`` says why it cannot go on although bytes are there; None while it
    only waits for the rest of a record. ``gaps`` counts entries whose queue offset was higher than the queue's next
    one: they take the next one all the same.
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
            if not window:
                break
            count, missing = self._scan(window, log)
            added += count
            if self.stalled is not None or self.at + missing > log.end:
                break
            wanted = max(_WINDOW, missing)
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

    def expire(self, start: int) -> None:
        """The log now starts at ``start``: messages before it leave their queues, whose offsets stay as they are."""
        for queue in self._queues.values():
            gone = bisect_left(queue.entries, start, key=_offset_of)
            del queue.entries[:gone]
            queue.first += gone
        self.at = max(self.at, start)

    def _scan(self, window: bytes, log: Log) -> tuple[int, int]:
        """Index what is whole in ``window``, which begins at ``self.at`` and lies in one file.

        How many messages that added, and how many bytes from the new ``self.at`` on the next step needs.
        """
        begin = self.at
        room = log.file_size - begin % log.file_size
        length = len(window)
        at = added = missing = 0
        while at < length:
            if length - at < BLANK_SIZE:
                missing = BLANK_SIZE
                break
            size, magic = _START.unpack_from(window, at)
            if magic == MAGIC_BLANK:
                missing = room - at
                if begin + room <= log.end:
                    at, missing = room, 0
                break
            if magic != MAGIC_V1 or not FIXED_SIZE <= size <= room - at:
                self.stalled = f"no record at {begin + at}: size {size}, magic {magic & 0xFFFFFFFF:#010x}"
                break
            if size > length - at:
                missing = size
                break
            added += self._index(window, at, size, begin + at)
            at += size
        if missing > room - at:
            self.stalled = f"no record at {begin + at}: its file ends in {room - at} bytes"
        self.at = begin + at
        return added, missing

    def _index(self, window: bytes, at: int, size: int, offset: int) -> int:
        """Add the record of ``size`` bytes at ``window[at:]`` to its queue: 1, or 0 if it belongs to none."""
        end = at + size
        head = _HEAD
        queue_id, queue_offset, sys_flag, store_ms, body_size = head.unpack_from(window, at)
        if sys_flag & _V6:
            head = _HEADS[sys_flag & _V6]
            if head.size > size:
                return 0
            queue_id, queue_offset, sys_flag, store_ms, body_size = head.unpack_from(window, at)
        topic_at = at + head.size + body_size
        if body_size < 0 or topic_at + 3 > end or queue_offset < 0:
            return 0
        properties_at = topic_at + 3 + window[topic_at]
        if window[topic_at] > MAX_TOPIC or properties_at > end:
            return 0
        if properties_at + _SHORT.unpack_from(window, properties_at - 2)[0] != end:
            return 0
        if sys_flag & _TRANSACTION not in _NONE_OR_COMMIT:
            return 0
        topic = window[topic_at + 1 : properties_at - 2]
        code = 0
        if window.find(b"TAGS\x01", properties_at, end) >= 0 or topic == SCHEDULE_TOPIC:
            code = _tags_code(topic, window[properties_at:end], store_ms)
        return self._add(topic, queue_id, queue_offset, Entry(offset, size, code))

    def _add(self, topic: bytes, queue_id: int, queue_offset: int, entry: Entry) -> int:
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            # On a fresh slave a queue begins with the first message that this node has.
            queue = self._queues[topic, queue_id] = _Queue(queue_offset)
        following = queue.first + len(queue.entries)
        if queue_offset < following:
            return 0
        if queue_offset > following:
            self.gaps += 1
        queue.entries.append(entry)
        return 1


def _offset_of(entry: Entry) -> int:
    return entry.physical_offset


def _tags_code(topic: bytes, raw: bytes, store_ms: int) -> int:
    properties = properties_of(raw)
    level = properties.get(DELAY, "")
    if topic == SCHEDULE_TOPIC and re.fullmatch("[0-9]{1,9}", level) and int(level) > 0:
        return store_ms + 1000 * DELAYS_S[min(int(level), len(DELAYS_S)) - 1]
    return tags_code(properties)
