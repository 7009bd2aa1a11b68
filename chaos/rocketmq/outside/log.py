"""Follows a commit log's growing files: each whole record or filler once, and the removal of the oldest files.

No byte of a record is read twice. A record counts once its size, magic number, CRC, offset and lengths fit: an
incomplete one is read again at the next poll.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...observers.store_reader import Walk
from ...observers.stored_record import LEAST_SIZE, MAGIC, MAGIC_BLANK, MAGIC_V2, START, Filler, LogRecord

Found = tuple[LogRecord | Filler, bytes]


class LogFollower:
    """Tracks the begin and end of a growing log: after its last whole record or filler."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begin: int | None = None
        self.end: int | None = None
        self._file: tuple[int, int] | None = None

    def poll(self) -> Iterator[Found]:
        if self._file is None:
            self._file = first_file(self.folder)
            if self._file is None:
                return
            self.begin = self.end = self._file[0]
        while True:
            start, size = self._file
            yield from self._rest(start, size)
            if self.end != start + size:
                return
            self._file = self.end, size

    def recover(self) -> tuple[int, int]:
        """The log's begin and end by RocketMQ's recovery now.

        A filler that closes the last existing file is dropped: it is written, or sent, again.
        """
        last = next((what for what, _ in reversed(list(self.poll()))), None)
        if isinstance(last, Filler) and not self._path(last.hi).exists():
            assert self._file is not None
            self.end, size = last.lo, self._file[1]
            self._file = last.hi - size, size
        return self.begin or 0, self.end or 0

    def has_expired(self) -> bool:
        """Whether the oldest file is gone; ``begin`` is then the next one's start."""
        if self.begin is None:
            return False
        try:
            self._path(self.begin).stat()
        except FileNotFoundError:
            first = first_file(self.folder)
            if first is not None and first[0] > self.begin:
                self.begin = first[0]
                return True
        except OSError:
            # Its disk has lost power.
            pass
        return False

    def _path(self, start: int) -> Path:
        return self.folder / f"{start:020d}"

    def _rest(self, start: int, size: int) -> Iterator[Found]:
        """One file's entries behind the log's present end."""
        assert self.end is not None
        try:
            with self._path(start).open("rb", buffering=0) as file:
                while self.end < start + size:
                    found = _found(file.fileno(), self.end, start, size)
                    if found is None:
                        return
                    self.end = found[0].hi
                    yield found
        except OSError:
            # As in first_file; or the next file does not exist yet.
            return


def first_file(folder: Path) -> tuple[int, int] | None:
    """Start and size of a log's or a queue's first file."""
    try:
        names = sorted(each.name for each in folder.iterdir() if each.name.isdigit())
        size = (folder / names[0]).stat().st_size if names else 0
    except OSError:
        # It does not exist yet, or its disk has lost power.
        return None
    # It is created empty, and gets its size a moment later.
    return (int(names[0]), size) if size else None


def _found(fd: int, lo: int, start: int, size: int) -> Found | None:
    """The whole record or filler at ``lo`` of a file; None if there is none yet."""
    left = start + size - lo
    head = os.pread(fd, START.size, lo - start)
    length, magic = START.unpack(head) if len(head) == START.size else (0, 0)
    if magic == MAGIC_BLANK and length == left:
        return Filler(lo, lo + length), os.pread(fd, length, lo - start)
    if magic not in (MAGIC, MAGIC_V2) or not LEAST_SIZE <= length <= left:
        return None
    data = os.pread(fd, length, lo - start)
    found = next((each for each in Walk([(lo, data)]) if isinstance(each, LogRecord)), None)
    # Its properties are written last, without a CRC, and their text does not end with a zero byte.
    if found is None or found.hi != lo + length or (found.properties and data.endswith(b"\0")):
        return None
    return found, data
