"""Follows a broker's consume queues as their files grow: up to where they hold what the log has.

A record that is in the log waits until its entry (log offset, size, hash of its tags: 20 bytes) stands in a queue's
file. What the files hold where the process begins belongs to an earlier life: entries behind the log's end, which
recovery leaves in place, count once they are overwritten, or the log has exactly that record again. Nothing tells these
two apart, and either way the queue has it.

An entry whose bytes match no record counts when it was read twice, with a look at the log between: until then it is
half-written, or the log grew meanwhile. Left out: whether the key index has it, which is written after the queue; the
entries of RocksDB, which 5.x keeps in place of files if ``storeType`` says so.

Layout: ConsumeQueue, MappedFileQueue of RocketMQ 4.9 and 5.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from ....harness.history import MS
from ...observers.queue_reader import ENTRY_SIZE, MARKER
from ...observers.stored_record import SYS_FLAG_AT, Filler, LogRecord

REST_NS = 100 * MS
"""How often queues are looked at where nothing waits for its entry."""
TRANSACTION, PREPARED, ROLLED_BACK = 0xC, 0x4, 0xC
"""Of a record's flags: what its transaction is. RocketMQ lists these two in no queue."""
_ENTRY = Struct(">qiq")


class Reached(NamedTuple):
    """The queues hold everything up to here."""

    hi: int
    absent: int
    """When they were last seen without it: CLOCK_MONOTONIC, ns."""


class QueuesFollower:
    """All queues of one broker's life."""

    def __init__(self, folder: Path, log_end: int) -> None:
        """``log_end``: of the life's log at its start."""
        self.folder = folder
        self.reached = log_end
        self._looked = time.monotonic_ns()
        self._queues = {path: _Queue(path, log_end) for path in self._folders()}
        self._waiting: deque[Filler | LogRecord] = deque()
        """What is in the log, from the first record on that is in no queue yet."""
        self._sizes: dict[int, int] = {}
        """Of the records among them, by their log offsets."""

    def appended(self, found: Iterable[Filler | LogRecord]) -> None:
        for each in found:
            self._waiting.append(each)
            if _is_listed(each):
                self._sizes[each.lo] = each.hi - each.lo

    def look(self) -> list[Reached]:
        """How far the queues have come since the last look, record by record."""
        began = time.monotonic_ns()
        if not self._waiting and began - self._looked < REST_NS:
            return []
        absent, self._looked = self._looked, began
        odd = [end for end in self._read() if end > self.reached]
        ends = sorted({*odd, *self._passed()})
        self.reached = max([self.reached, *ends])
        return [Reached(end, absent) for end in ends]

    def _passed(self) -> Iterator[int]:
        """Ends of what waits no longer, in the log's order: a filler, or a record that no queue lists, passes along."""
        while self._waiting and self._waiting[0].lo not in self._sizes:
            yield self._waiting.popleft().hi

    def _read(self) -> Iterator[int]:
        """Take what the queues have; ends of entries that are of no record in the log."""
        for path in self._folders():
            queue = self._queues.get(path)
            if queue is None:
                queue = self._queues[path] = _Queue(path)
            yield from queue.look(self._sizes)

    def _folders(self) -> Iterator[Path]:
        try:
            for topic in self.folder.iterdir():
                yield from (each for each in topic.iterdir() if each.name.isdigit())
        except OSError:
            # Not there yet, deleted meanwhile, or its disk has no power any more.
            return


class _Queue:
    """One queue: the next entry's place, in bytes of the queue."""

    def __init__(self, path: Path, log_end: int | None = None) -> None:
        """``log_end``: where it may hold entries of an earlier life."""
        self.path = path
        self._size = 0
        """Of its files; 0 while there is none."""
        self._next = 0
        self._left: dict[int, bytes] = {}
        """By place: entries that the process found there."""
        self._odd = b""
        """What lay at the next place at the last look, and was of no record in the log."""
        if log_end is not None and self._begin():
            self._pass_over(log_end)

    def look(self, sizes: dict[int, int]) -> Iterator[int]:
        """Take records from ``sizes`` whose entries are there; yields the ends of entries that are of no record."""
        if not self._size and not self._begin():
            return
        for data in self._entries():
            offset, size, _ = entry = _ENTRY.unpack(data)
            if sizes.get(offset) == size:
                del sizes[offset]
            elif entry != MARKER:
                seen, self._odd = self._odd, data
                if size <= 0 or data != seen or data == self._left.get(self._next):
                    return
                yield offset + size
            self._odd = b""
            self._next += ENTRY_SIZE

    def _begin(self) -> bool:
        try:
            names = sorted(each.name for each in self.path.iterdir() if each.name.isdigit())
            self._size = (self.path / names[0]).stat().st_size if names else 0
        except OSError:
            return False
        # It is made empty, and gets its size a moment later.
        self._next = int(names[0]) if self._size else 0
        return self._size > 0

    def _pass_over(self, log_end: int) -> None:
        """What an earlier life has left: entries that recovery keeps, then others."""
        reached, next_ = 0, None
        for data in self._entries(to_end=True):
            offset, size, _ = entry = _ENTRY.unpack(data)
            is_kept = entry == MARKER or (size > 0 and reached <= offset and offset + size <= log_end)
            if next_ is None and not is_kept:
                next_ = self._next
            if next_ is not None and size:
                self._left[self._next] = data
            reached = offset + size if entry != MARKER else reached
            self._next += ENTRY_SIZE
        self._next = self._next if next_ is None else next_

    def _entries(self, to_end: bool = False) -> Iterator[bytes]:
        """The bytes from the next place on, an entry at a time. The caller moves on; a place that is empty ends it."""
        while True:
            start = self._next - self._next % self._size
            try:
                with (self.path / f"{start:020d}").open("rb", buffering=0) as file:
                    file.seek(self._next - start)
                    data = file.read(start + self._size - self._next)
            except OSError as why:
                # Not there yet, or its disk has no power any more; a file that was there is gone with its topic.
                if isinstance(why, FileNotFoundError) and self._next != start:
                    self._size, self._left = 0, {}
                return
            for at in range(0, len(data) - ENTRY_SIZE + 1, ENTRY_SIZE):
                each, before = data[at : at + ENTRY_SIZE], self._next
                if not to_end and not any(each):
                    return
                yield each
                if self._next == before:
                    return
            if self._next != start + self._size:
                return


def _is_listed(found: Filler | LogRecord) -> bool:
    """Whether a queue lists it."""
    if isinstance(found, Filler):
        return False
    return found.data[found.at + SYS_FLAG_AT + 3] & TRANSACTION not in (PREPARED, ROLLED_BACK)
