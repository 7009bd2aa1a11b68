"""The commit log: records in fixed-size files, appended by puts on a master and as replicated bytes on a slave.

Promises: physical offsets only grow. A record never crosses a file boundary; a filler takes the rest of a file that is
too small for the next record. Truncated bytes are never readable again. The caller reports the end of a flush; this
module tracks unflushed files. With a pool, puts stay in the process's memory until they are committed to their file.
Recovered files have no buffer of the pool. Left out: retention, checkpoints, the pool's limit (transientStorePoolSize).
Source: CommitLog, DefaultAppendMessageCallback, MappedFileQueue, MappedFile.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ..errors import CodecError, StoreError, StoreFull
from ..ports import Disk
from ..wire.properties import BETWEEN
from ..wire.record import (
    BLANK_SIZE,
    FIXED_SIZE,
    MAGIC_V1,
    MAGIC_V2,
    MAX_TOPIC,
    Message,
    encode,
    encode_blank,
    peek,
    size_of,
)
from .files import MAX_OFFSET, MappedFiles
from .flush_schedule import flush_to
from .recovery import SECTOR, Hints, LogRecovery, Recovery

MAX_MESSAGE_SIZE = 4 * 1024 * 1024
OVER_BODY = 64 * 1024
"""By how much a record may exceed the largest body (MessageExtEncoder)."""


class Put(NamedTuple):
    """A stored message: its record is ``data`` and takes [lo, hi)."""

    lo: int
    hi: int
    filler: tuple[int, int] | None
    """[from, to) of the filler before it, up to its file's end."""
    data: bytes


class CommitLog:
    """One node's log. All offsets and sizes are bytes.

    ``start`` is the first file's start, ``end`` the readable end, ``written`` the write position (above ``end`` only
    with a pool), ``flushed`` the durable end. A log without files is empty: the ends are 0.
    """

    recovery_class: ClassVar[type[LogRecovery]] = LogRecovery

    def __init__(
        self, disk: Disk, file_size: int, folder: str = "commitlog", max_message_size: int = MAX_MESSAGE_SIZE
    ) -> None:
        self.files = MappedFiles(disk, folder, file_size)
        self.file_size = file_size
        self.max_message_size = max_message_size
        self.flushed = 0
        self.has_pool = False
        self._pool = bytearray()
        self._pooled_from = MAX_OFFSET
        """The start of the first file that has a buffer of the pool."""
        self._unfinished = False
        """Whether recovery left the bytes of an unfinished record after the end."""

    @property
    def start(self) -> int:
        return self.files.start

    @property
    def end(self) -> int:
        return self.files.end

    @property
    def written(self) -> int:
        return self.files.end + len(self._pool)

    def recover(self, clean: bool, hints: Hints | None = None) -> Recovery:
        """Open the files and end the log after its last whole record; the rest is durable. Call once, first.

        ``clean``: the last stop was orderly. Raises StoreRefused, with nothing changed, if the files do not form a log
        (size, names, gaps) or if it is not whole after a clean stop.
        """
        self.files.load()
        recovery = self.recovery_class(self.files, clean, hints).run()
        self.flushed = self.end
        self._pooled_from = self.files.limit if self.has_pool else MAX_OFFSET
        self._unfinished = recovery.unfinished
        return recovery

    def put(self, message: Message, queue_offset: int, store_ms: int) -> Put:
        """Append a message as a master does.

        Raises CodecError if the format or the limits refuse it, StoreFull if the disk lacks room for the next file;
        nothing is written then.
        """
        message = _ended(message)
        size = self._size_within_limits(message)
        self._erase_unfinished()
        filler = self._filler_before(size)
        at = filler[1] if filler else self.written
        data = encode(message, queue_offset, at, store_ms)
        if at == self.files.limit:
            # Add the file first: without room the log is unchanged and never ends in a filler.
            self.files.add_file()
        self._write(filler, data)
        return Put(at, at + size, filler, data)

    def make_room(self, messages: Sequence[Message]) -> tuple[int, int] | None:
        """Make the next messages fit into one file, so that the disk can refuse none of them.

        Returns the range of the filler needed, if any. Errors as :meth:`put`; nothing is written then.
        """
        size = sum(self._size_within_limits(_ended(each)) for each in messages)
        if size > self.file_size - BLANK_SIZE:
            raise CodecError(f"batch of {size} bytes does not fit into a file of {self.file_size} with its filler")
        self._erase_unfinished()
        filler = self._filler_before(size)
        if (filler[1] if filler else self.written) == self.files.limit:
            self.files.add_file()
        self._write(filler, b"")
        return filler

    def commit(self, least_pages: int) -> bool:
        """Write the pool's bytes for the first file that has any, if there are enough pages. Returns whether it did."""
        upto = flush_to(self.end, self.written, self.file_size, least_pages)
        if upto is None:
            return False
        size = upto - self.end
        self.files.write(self.end, bytes(self._pool[:size]))
        del self._pool[:size]
        self.files.end = upto
        return True

    def append(self, at: int, data: bytes) -> bool:
        """Append replicated bytes, independent of record boundaries.

        An empty log takes any first offset: its first file starts at ``at`` minus ``at`` modulo the file size, even if
        ``data`` is empty. Otherwise ``at`` must be the end. Returns False, with nothing written, for another offset,
        for bytes that pass the file's end or the largest offset, or without room for a file.
        """
        try:
            return 0 <= at <= MAX_OFFSET - len(data) and self._append(at, data)
        except StoreFull:
            return False

    def read(self, at: int, limit: int) -> bytes:
        return self.files.read(at, limit)

    def record_size(self, at: int) -> int:
        if not self.start <= at <= self.end - BLANK_SIZE:
            return 0
        size, magic = peek(self.read(at, BLANK_SIZE))
        room = min(self.end, at - at % self.file_size + self.file_size) - at
        return size if magic in (MAGIC_V1, MAGIC_V2) and FIXED_SIZE <= size <= room else 0

    def flush_due(self, upto: int | None = None) -> list[str]:
        return self.files.names(self.flushed, self.end if upto is None else upto)

    def mark_flushed(self, upto: int) -> None:
        self.flushed = max(self.flushed, min(upto, self.end))

    def expire(self, keep_files: int) -> int:
        self.files.expire(keep_files)
        self.flushed = max(self.flushed, self.start)
        return self.start

    def _append(self, at: int, data: bytes) -> bool:
        if len(data) > self.file_size - at % self.file_size:
            return False
        if self.end in (0, at):
            self._erase_unfinished()
        if self.end == 0:
            self.files.begin(at)
            self.flushed = at
        elif at != self.end:
            return False
        elif at == self.files.limit and data:
            self.files.add_file()
        if data:
            self.files.write(at, data)
            self.files.end = at + len(data)
        return True

    def _write(self, filler: tuple[int, int] | None, data: bytes) -> None:
        """Write both at the write position; after an error neither counts."""
        blank = filler[1] - filler[0] if filler else 0
        at = self.written
        for piece, size in ((encode_blank(blank) if blank else b"", blank), (data, len(data))):
            if piece and at < self._pooled_from:
                self.files.write(at, piece)
            else:
                self._pool += piece.ljust(size, b"\0")
            at += size
        self.files.end = at - len(self._pool)

    def _erase_unfinished(self) -> None:
        """Zero the bytes after the end before the log grows over them."""
        if self._unfinished:
            self.files.truncate(self.end)
            self._unfinished = False

    def _filler_before(self, size: int) -> tuple[int, int] | None:
        at = self.written
        room = -at % self.file_size
        if room == 0 or room >= size + BLANK_SIZE:
            return None
        if room < BLANK_SIZE:
            raise StoreError(f"the log's end at {at} leaves no room for a filler in its file: empty the store")
        return at, at + room

    def _size_within_limits(self, message: Message) -> int:
        try:
            size = size_of(message)
        except UnicodeEncodeError as why:
            raise CodecError(f"topic {message.topic!r} cannot be written as UTF-8") from why
        if len(message.body) > self.max_message_size or size > self.max_message_size + OVER_BODY:
            raise CodecError(
                f"message of {len(message.body)} bytes, {size} as stored: maxMessageSize is {self.max_message_size}"
            )
        if size > self.file_size - BLANK_SIZE:
            raise CodecError(f"record of {size} bytes does not fit into a file of {self.file_size} with its filler")
        if len(message.topic.encode()) > MAX_TOPIC:
            raise CodecError(f"topic of {len(message.topic.encode())} bytes: the limit is {MAX_TOPIC}")
        if "\0" in message.topic or bytes(SECTOR) in message.properties:
            # Recovery takes a run of this length for a lost sector; shorter runs in properties are stored, as in
            # RocketMQ.
            raise CodecError(f"a topic must not contain NUL characters, nor properties {SECTOR} in a row")
        return size


def blank_of(filler: tuple[int, int]) -> bytes:
    """All bytes of the filler."""
    size = filler[1] - filler[0]
    return encode_blank(size).ljust(size, b"\0")


def _ended(message: Message) -> Message:
    """Properties that end in NUL get the optional final separator, so that no record ends in a zero."""
    if message.properties[-1:] != b"\0":
        return message
    return message._replace(properties=message.properties + BETWEEN.encode())
