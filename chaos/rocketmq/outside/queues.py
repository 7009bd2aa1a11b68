"""Follows a broker's consume queues as their files grow: tracks the log offset up to which they are complete.

A record in the log waits for its entry (log offset, size, hash of its tags: 20 bytes) in a queue's file. The files'
contents at the process's start belong to an earlier incarnation: entries behind the log's end, which recovery leaves in
place, count once they are overwritten, or once the log has exactly that record. The two cases are indistinguishable,
and in both the queue has the record.

An entry that matches no record counts after a second read, with a poll of the log between: before that it may be
half-written, or the log may have grown. Left out: the key index, which is written after the queue; RocksDB's entries,
which 5.x uses instead of files under one ``storeType``.

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
from .log import first_file

REST_NS = 100 * MS
"""Interval of polling queues without waiting records."""
TRANSACTION, PREPARED, ROLLED_BACK = 0xC, 0x4, 0xC
"""Transaction types in a record's flags. RocketMQ lists the latter two in no queue."""
_ENTRY = Struct(">qiq")


class Reached(NamedTuple):
    """The queues are complete up to here."""

    hi: int
    absent: int
    """Last read without it: CLOCK_MONOTONIC, ns."""


class QueuesFollower:
    def __init__(self, folder: Path, log_end: int) -> None:
        self.folder = folder
        self.reached = log_end
        self._polled = time.monotonic_ns()
        self._queues = {path: _Queue(path, log_end) for path in self._folders()}
        self._waiting: deque[Filler | LogRecord] = deque()
        """Entries of the log from the first one that no queue has yet."""
        self._sizes: dict[int, int] = {}
        """The records among them, by their log offsets."""

    def appended(self, found: Iterable[Filler | LogRecord]) -> None:
        for each in found:
            self._waiting.append(each)
            if _is_listed(each):
                self._sizes[each.lo] = each.hi - each.lo

    def poll(self) -> list[Reached]:
        began = time.monotonic_ns()
        if not self._waiting and began - self._polled < REST_NS:
            return []
        absent, self._polled = self._polled, began
        odd = [end for end in self._read() if end > self.reached]
        ends = sorted({*odd, *self._passed()})
        self.reached = max([self.reached, *ends])
        return [Reached(end, absent) for end in ends]

    def _passed(self) -> Iterator[int]:
        """Ends of entries that wait no longer, in the log's order: fillers and unlisted records count as passed."""
        while self._waiting and self._waiting[0].lo not in self._sizes:
            yield self._waiting.popleft().hi

    def _read(self) -> Iterator[int]:
        """Read the queues; returns the ends of entries that match no record in the log."""
        for path in self._folders():
            queue = self._queues.get(path)
            if queue is None:
                queue = self._queues[path] = _Queue(path)
            yield from queue.poll(self._sizes)

    def _folders(self) -> Iterator[Path]:
        try:
            for topic in self.folder.iterdir():
                yield from (each for each in topic.iterdir() if each.name.isdigit())
        except OSError:
            # It does not exist yet, was deleted, or its disk has lost power.
            return


class _Queue:
    """One queue: the next entry's position, in bytes of the queue."""

    def __init__(self, path: Path, log_end: int | None = None) -> None:
        """``log_end``: limit above which it may have entries of an earlier incarnation."""
        self.path = path
        self._size = 0
        self._next = 0
        self._left: dict[int, bytes] = {}
        """By position: entries that the process found there."""
        self._odd = b""
        if log_end is not None and self._begin():
            self._pass_over(log_end)

    def poll(self, sizes: dict[int, int]) -> Iterator[int]:
        """Take records from ``sizes`` whose entries exist; yields the ends of entries that match no record."""
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
        self._next, self._size = first_file(self.path) or (0, 0)
        return self._size > 0

    def _pass_over(self, log_end: int) -> None:
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
        """The bytes from the next position on, an entry at a time. The caller advances; an empty position ends it."""
        while True:
            start = self._next - self._next % self._size
            try:
                with (self.path / f"{start:020d}").open("rb", buffering=0) as file:
                    file.seek(self._next - start)
                    data = file.read(start + self._size - self._next)
            except OSError as why:
                # It does not exist yet, or its disk has lost power; a vanished file was deleted with its topic.
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
    if isinstance(found, Filler):
        return False
    return found.data[found.at + SYS_FLAG_AT + 3] & TRANSACTION not in (PREPARED, ROLLED_BACK)
