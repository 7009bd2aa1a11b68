"""The key index: the log positions of messages by key. Hash files with fixed numbers of slots and entries.

A slot holds the number of its newest entry, an entry that of the previous one; numbers begin at 1. Only hashes are
stored, so the caller must compare the records' keys. Files are named by their creation time (UTC here, local time in
RocketMQ: only the order matters); a new one is created when the last is full.

Where this differs from RocketMQ, on purpose:
- A message that is dispatched again is not entered again.
- The first entry of a file has time 0; RocketMQ counts it from the end of the previous file, which is too late.
- After an abnormal stop a file is trusted if it is full, older than the checkpoint's time and within the log.
  RocketMQ also trusts one that merely inherited its predecessor's time.
Source: IndexService, IndexFile, IndexHeader.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from struct import Struct
from typing import NamedTuple

from ..errors import StoreError, StoreFull, StoreRefused
from ..ports import Disk
from ..wire.properties import java_hash

FOLDER = "index"
HEADER_SIZE, SLOT_SIZE, ENTRY_SIZE = 40, 4, 20
_HEADER = Struct(">qqqqii")
_SLOT = Struct(">i")
_ENTRY = Struct(">iqii")
_NAME = re.compile(r"[0-9]{17}")
_MAX_SECONDS = (1 << 31) - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


class Found(NamedTuple):
    """Log offsets, newest first, and the end of the index."""

    offsets: list[int]
    last_ms: int
    last_offset: int


def key_hash(topic: str, key: str) -> int:
    """The absolute value of Java's hash of ``topic#key``."""
    value = abs(java_hash(f"{topic}#{key}"))
    return 0 if value == 1 << 31 else value


def name_of(wall_ms: int) -> str:
    """A file's name: yyyyMMddHHmmssSSS."""
    when = _EPOCH + wall_ms * _MS
    return f"{when:%Y%m%d%H%M%S}{when.microsecond // 1000:03d}"


class IndexFile:
    """One file. Attributes are the header's fields; ``count`` is the next entry's number."""

    def __init__(self, disk: Disk, name: str, slots: int, entries: int) -> None:
        self.name = name
        self.slots = slots
        self.entries = entries
        self.durable = False
        self._file = disk.open(f"{FOLDER}/{name}", HEADER_SIZE + SLOT_SIZE * slots + ENTRY_SIZE * entries)
        header: tuple[int, ...] = _HEADER.unpack(self._file.read(0, HEADER_SIZE))
        self.begin_ms, self.end_ms, self.begin_offset, self.end_offset, self.used_slots, count = header
        self.count = max(1, count)

    @property
    def full(self) -> bool:
        return self.count >= self.entries

    def follow(self, before: IndexFile) -> None:
        self.begin_ms = self.end_ms = before.end_ms
        self.begin_offset = self.end_offset = before.end_offset
        self._write_header()

    def tail(self, offset: int) -> int:
        at = self.count - 1
        while at and self._entry(at)[1] == offset:
            at -= 1
        return self.count - 1 - at

    def put(self, value: int, offset: int, store_ms: int) -> None:
        if self.count == 1:
            self.begin_ms, self.begin_offset = store_ms, offset
            # Allocate the header first: otherwise a counted entry could be lost.
            self._write_header()
        seconds = (store_ms - self.begin_ms) // 1000 if self.begin_ms > 0 else 0
        older = self._newest(value)
        entry = _ENTRY.pack(value, offset, min(max(seconds, 0), _MAX_SECONDS), older)
        self._file.write(self._entry_at(self.count), entry)
        self._file.write(self._slot_at(value), _SLOT.pack(self.count))
        self.used_slots += older == 0
        self.count += 1
        self.end_ms, self.end_offset = store_ms, offset
        self.durable = False
        self._write_header()

    def select(self, found: list[int], value: int, limit: int, begin_ms: int, end_ms: int) -> None:
        """Add the messages under a hash in [begin, end], newest first, until ``found`` has ``limit``."""
        at = self._newest(value)
        while at and len(found) < limit:
            read, offset, seconds, older = self._entry(at)
            stored = self.begin_ms + 1000 * seconds
            if read == value and begin_ms <= stored <= end_ms:
                found.append(offset)
            at = older if older < at and stored >= begin_ms else 0

    def _newest(self, value: int) -> int:
        (at,) = _SLOT.unpack(self._file.read(self._slot_at(value), SLOT_SIZE))
        return at if 0 < at < self.count else 0

    def _entry(self, at: int) -> tuple[int, int, int, int]:
        value, offset, seconds, older = _ENTRY.unpack(self._file.read(self._entry_at(at), ENTRY_SIZE))
        return value, offset, seconds, max(0, older)

    def _slot_at(self, value: int) -> int:
        return HEADER_SIZE + SLOT_SIZE * (value % self.slots)

    def _entry_at(self, at: int) -> int:
        return HEADER_SIZE + SLOT_SIZE * self.slots + ENTRY_SIZE * at

    def _write_header(self) -> None:
        header = self.begin_ms, self.end_ms, self.begin_offset, self.end_offset, self.used_slots, self.count
        self._file.write(0, _HEADER.pack(*header))


class KeyIndex:
    """The index files of one node. ``wall_ms`` returns the time for a new file's name.

    ``flushed_ms``, for the checkpoint: the store time up to which full files are durable.
    """

    def __init__(self, disk: Disk, slots: int, entries: int, wall_ms: Callable[[], int]) -> None:
        if slots < 1 or entries < 2:
            raise StoreError(f"an index of {slots} slots and {entries} entries holds nothing: configure more")
        self._disk = disk
        self._slots = slots
        self._entries = entries
        self._wall_ms = wall_ms
        self._flushing: list[IndexFile] = []
        self.files: list[IndexFile] = []
        self.flushed_ms = 0

    @property
    def end_offset(self) -> int:
        return self.files[-1].end_offset if self.files else 0

    def recover(self, clean: bool, flushed_ms: int, log_end: int) -> bool:
        """Open the files and delete untrusted ones; whether there were any.

        Untrusted are entries beyond the log's end and, after an unclean stop, every file that is not full or not older
        than ``flushed_ms``, the checkpoint's time. Their messages must be dispatched again, from ``end_offset`` on.
        StoreRefused for a foreign name or size.
        """
        files = self.stored()

        def trusted(file: IndexFile) -> bool:
            if file.count > self._entries or (file.count > 1 and file.end_offset >= log_end):
                return False
            return clean or (file.full and file.end_ms < flushed_ms)

        self.files = list(takewhile(trusted, files))
        for file in reversed(files[len(self.files) :]):
            self._disk.delete(f"{FOLDER}/{file.name}")
        for file in self.files:
            file.durable = True
        self.flushed_ms = flushed_ms
        return len(self.files) < len(files)

    def stored(self) -> list[IndexFile]:
        """The files on the disk; StoreRefused for a foreign name or size. Changes nothing."""
        names = self._disk.names(FOLDER)
        for name in names:
            if not _NAME.fullmatch(name):
                raise StoreRefused(f"{FOLDER}/{name} is not named by a time of 17 digits: move it elsewhere")
        return [self._open(name) for name in names]

    def put(self, topic: str, keys: list[str], offset: int, store_ms: int) -> None:
        """Enter a message, unless the index has it. StoreFull without room for a file; a retry continues there."""
        end = self.end_offset
        if offset < end:
            return
        for key in keys[self._entered(offset) :] if offset == end else keys:
            if not self.files or self.files[-1].full:
                self._add_file()
            self.files[-1].put(key_hash(topic, key), offset, store_ms)

    def query(self, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> Found:
        found: list[int] = []
        if not self.files:
            return Found(found, 0, 0)
        value = key_hash(topic, key)
        for file in reversed(self.files):
            if file.begin_ms <= end_ms and begin_ms <= file.end_ms:
                file.select(found, value, limit, begin_ms, end_ms)
            if file.begin_ms < begin_ms or len(found) >= limit:
                break
        return Found(found, self.files[-1].end_ms, self.files[-1].end_offset)

    def expire(self, log_start: int) -> None:
        while len(self.files) > 1 and self.files[0].end_offset < log_start:
            self._disk.delete(f"{FOLDER}/{self.files.pop(0).name}")

    @property
    def ripe(self) -> bool:
        """Whether one of the newest full files is not durable; older ones were flushed when they filled."""
        return any(file.full and not file.durable for file in self.files[-2:])

    def begin_flush(self) -> list[str]:
        self._flushing = [file for file in self.files if file.full and not file.durable]
        return [f"{FOLDER}/{file.name}" for file in self._flushing]

    def finish_flush(self) -> None:
        for file in self._flushing:
            file.durable = True
            self.flushed_ms = file.end_ms
        self._flushing = []

    def sync(self) -> None:
        self._flushing = [file for file in self.files if file.full]
        for file in self.files:
            if not file.durable:
                self._disk.sync(f"{FOLDER}/{file.name}")
                file.durable = True
        self.finish_flush()

    def _entered(self, offset: int) -> int:
        entered = 0
        for file in reversed(self.files):
            count = file.tail(offset)
            entered += count
            if count < file.count - 1:
                break
        return entered

    def _add_file(self) -> None:
        name = name_of(self._wall_ms())
        if self.files and name <= self.files[-1].name:
            # The clock stood still or went back: names must keep the order.
            name = f"{int(self.files[-1].name) + 1:017d}"
        file = self._open(name)
        if self.files:
            try:
                file.follow(self.files[-1])
            except StoreFull:
                self._disk.delete(f"{FOLDER}/{name}")
                raise
        self.files.append(file)

    def _open(self, name: str) -> IndexFile:
        return IndexFile(self._disk, name, self._slots, self._entries)
