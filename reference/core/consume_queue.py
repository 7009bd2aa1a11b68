"""One consume queue: the log positions of one queue's messages, 20 bytes each, in fixed-size files.

Logical offset n is at byte 20 n. A queue that begins above 0 on this node (a fresh slave's) begins in the file that
covers its first message; the slots before it hold a marker. Entries of expired log files remain until their whole file
expires, but are not returned. Left out: the consume queue extension (enableConsumeQueueExt, off by default).

Where this differs from RocketMQ, on purpose:
- A marker is not an entry: it never counts for the queue's position (in RocketMQ it means 2 GiB).
- A queue without live entries restarts at its next message's offset, and keeps its offset until then. RocketMQ
  appends that message at its end, under a wrong offset, or restarts at 0.
- Truncated entries are erased, and positions must grow: a hole is not read as an entry at offset 0.
Source: ConsumeQueue.
"""

from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from ..errors import StoreFull
from ..ports import Disk
from .files import MAX_OFFSET, MappedFiles
from .flush_schedule import flush_to

ENTRY_SIZE = 20
FILES_AFTER_CLEAN_STOP = 3
MAX_QUEUE_OFFSET = MAX_OFFSET // ENTRY_SIZE - 1
_ENTRY = Struct(">qiq")
_PIECE = 3_200 * ENTRY_SIZE


class Entry(NamedTuple):
    physical_offset: int
    size: int
    tags_code: int
    """Java hash of TAGS, 0 without; for delayed messages the delivery time, ms since the epoch."""


MARKER = Entry(0, 0x7FFFFFFF, 0)
"""Fills the slots before the first message of a queue that begins above 0."""
_MARKER_BYTES = _ENTRY.pack(*MARKER)
_TORN_MARKER = 0x7F000000
"""Least size field of a marker torn by a power loss; no record is as large."""


def file_size_of(configured: int) -> int:
    """The effective mappedFileSizeConsumeQueue: rounded up to whole entries."""
    return -(-configured // ENTRY_SIZE) * ENTRY_SIZE


class ConsumeQueue:
    """Entries with logical offsets [``first``, ``next_offset``).

    ``last_end`` is the log offset after the queue's last message, -1 without one. An entry that comes with an offset
    above the next one takes the next one.
    """

    def __init__(self, disk: Disk, folder: str, file_size: int) -> None:
        self._disk = disk
        self._folder = folder
        self._file_size = file_size_of(file_size)
        self.last_end = -1
        self._empty()

    @property
    def next_offset(self) -> int:
        return self.files.end // ENTRY_SIZE

    def recover(self, clean: bool) -> None:
        """Open the files and end the queue after its last whole entry; the rest is durable.

        After a clean stop only the last three files are read. StoreRefused for files that do not form a queue; after an
        unclean stop the files after a gap are dropped instead. :meth:`expire` determines the live entries.
        """
        # A power loss may take a file and leave the next one.
        for name in reversed(self.files.load(to_gap=not clean)):
            self._disk.delete(name)
        recent = self.files.starts[-FILES_AFTER_CLEAN_STOP:]
        at = recent[0] if clean and recent else self.files.start
        self._end_at(self._whole_until(at))
        self.files.sync(at, self.files.end)
        self.flushed = self.files.end

    def check(self, clean: bool) -> None:
        self.files.load(to_gap=not clean)

    def stored_end(self, clean: bool) -> int:
        """The log offset after the last message in the files, -1 without one; otherwise as :meth:`check`."""
        self.check(clean)
        end = self._whole_until(next(iter(self.files.starts[-FILES_AFTER_CLEAN_STOP:]), 0))
        last = self._entry(end // ENTRY_SIZE - 1) if end > self.files.start else MARKER
        return -1 if last == MARKER else last.physical_offset + last.size

    def put(self, offset: int, entry: Entry) -> bool:
        """Add the entry of the message with this logical offset; False if the queue has it already.

        StoreFull, with nothing added, without room for a file or the entry.
        """
        if entry.physical_offset + entry.size <= self.last_end:
            return False
        if offset != self.next_offset:
            dead = self.first == self.next_offset
            if dead and (offset > self.next_offset or self.last_end < 0):
                self._begin(offset)
            elif offset < self.next_offset:
                return False
        if self.files.end == self.files.limit:
            self.files.add_file()
        self.files.write(self.files.end, _ENTRY.pack(*entry))
        self.files.end += ENTRY_SIZE
        self.last_end = entry.physical_offset + entry.size
        return True

    def get(self, offset: int, limit: int) -> list[Entry]:
        found: list[Entry] = []
        if offset < self.first:
            return found
        at, end = offset * ENTRY_SIZE, min(self.files.end, (offset + limit) * ENTRY_SIZE)
        while at < end:
            piece = self.files.read(at, end - at)
            found += map(Entry._make, _ENTRY.iter_unpack(piece))
            at += len(piece)
        return found

    def offset_by_time(self, ms: int, store_ms: Callable[[Entry], int]) -> int:
        """The live message stored at ``ms``, or else the nearer neighbour, the earlier one of equals.

        The first or last message if all were stored later or earlier; the next offset without any; 0 if ``store_ms`` is
        negative (unreadable).

        Inherited: 2661, 5752 (4.x): a time after the last message finds that message, not the queue's end.
        Law: ``query-offsets``.

        Inherited: 5445 (4.x): among messages of one batch, or of one millisecond, the search stops at any of them.
        Law: ``query-offsets``.
        """
        low, high = self.first, self.next_offset - 1
        before: tuple[int, int] | None = None
        after: tuple[int, int] | None = None
        while low <= high:
            middle = (low + high) // 2
            stored = store_ms(self._entry(middle))
            if stored < 0:
                return 0
            if stored == ms:
                return middle
            if stored > ms:
                high, after = middle - 1, (stored, middle)
            else:
                low, before = middle + 1, (stored, middle)
        if before and after:
            return after[1] if ms - before[0] > after[0] - ms else before[1]
        return (before or after or (0, self.next_offset))[1]

    def truncate(self, log_end: int) -> None:
        """Remove, durably, every message that begins at or after the new log end. :meth:`expire` follows."""
        kept = self._first_at(log_end) * ENTRY_SIZE
        if kept < self.files.end:
            self._end_at(kept)

    def expire(self, log_start: int) -> None:
        self.first = self._first_at(log_start)
        gone = (self.first * ENTRY_SIZE - self.files.start) // self._file_size
        self.files.expire(len(self.files.starts) - gone)

    def flush_due(self, upto: int | None = None) -> list[str]:
        return self.files.names(self.flushed, self.files.end if upto is None else upto)

    def flush_to(self, least_pages: int) -> int | None:
        """Up to where a flush round flushes; None if it skips the queue.

        As RocketMQ's flush service, except that a thorough round (0) flushes all files, not one: then the checkpoint is
        right however fast the queue grows.
        """
        if not least_pages:
            return self.files.end if self.flushed < self.files.end else None
        return flush_to(self.flushed, self.files.end, self._file_size, least_pages)

    def mark_flushed(self, upto: int) -> None:
        self.flushed = max(self.flushed, min(upto, self.files.end))

    def clear(self) -> None:
        # Oldest first, as in expire: a crash leaves no gap.
        for name in self.files.names(self.files.start, self.files.limit):
            self._disk.delete(name)
        self._empty()

    def _empty(self) -> None:
        self.files = MappedFiles(self._disk, self._folder, self._file_size)
        self.first = self.flushed = 0
        self.last_end = -1

    def _begin(self, offset: int) -> None:
        self.clear()
        at = offset * ENTRY_SIZE
        self.files.begin(at)
        try:
            self.files.write(self.files.start, _MARKER_BYTES * ((at - self.files.start) // ENTRY_SIZE))
        except StoreFull:
            self.clear()
            raise
        self.first, self.flushed = offset, self.files.start

    def _end_at(self, end: int) -> None:
        self.files.truncate(end)
        self.flushed = min(self.flushed, end)
        last = self._entry(self.next_offset - 1) if end > self.files.start else MARKER
        self.last_end = -1 if last == MARKER else last.physical_offset + last.size

    def _entry(self, offset: int) -> Entry:
        return Entry._make(_ENTRY.unpack(self.files.read(offset * ENTRY_SIZE, ENTRY_SIZE)))

    def _first_at(self, physical_offset: int) -> int:
        low, high = self.files.start // ENTRY_SIZE, self.next_offset
        while low < high:
            middle = (low + high) // 2
            entry = self._entry(middle)
            if entry == MARKER or entry.physical_offset < physical_offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _whole_until(self, at: int) -> int:
        reached = 0
        while piece := self.files.read(at, _PIECE):
            for entry in map(Entry._make, _ENTRY.iter_unpack(piece)):
                if entry != MARKER:
                    if not 0 < entry.size < _TORN_MARKER or entry.physical_offset < reached:
                        return at
                    reached = entry.physical_offset + entry.size
                at += ENTRY_SIZE
        return at
