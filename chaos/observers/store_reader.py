"""Reads a commit log from outside: record by record, until it ends or is damaged, with position and reason.

Two readers of the same walk: :func:`read_log` for audits in a lab (all in memory, a few microseconds a record) and
:class:`Walk` for stores of any size (one record at a time). :mod:`pairproof.chaos.observers.stored_record` checks a
record.

Files and their ends: facts of CommitLog and MappedFileQueue of RocketMQ 4.9.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple
from zlib import crc32

from ...harness.history import CHUNK, Recorder, digest
from .stored_record import (
    BLANK_SIZE,
    BORN_V6,
    HEAD,
    INT,
    LEAST_SIZE,
    MAGIC,
    MAGIC_BLANK,
    MAGIC_V2,
    SECTOR,
    START,
    STORE_V6,
    SYS_FLAG_AT,
    Data,
    Filler,
    LogRecord,
    fits,
    length_size,
    lost_sector,
    why_magic,
    why_not,
    why_size,
)

LogFile = tuple[int, Data]
"""A file: its start offset, and all its bytes, including zeros at the unused end."""

_START = itemgetter(0)
_SCAN = 1 << 20
_ZEROS = bytes(_SCAN)


class Walk:
    """Iterates over a log's records and fillers; afterwards it has the position that it reached.

    ``files``: in order of their start offsets, contiguous. ``end``: the log's end if known; the log is then whole only
    if records reach exactly that far. Without it zero bytes end the log, provided that only zeros follow. Holds one
    file's bytes at a time; reads at most a record's stated size within the file.
    """

    def __init__(self, files: Sequence[LogFile], end: int | None = None) -> None:
        self.files = files
        self.limit = end
        self.start = files[0][0] if files else (end or 0)
        self.where = self.start
        """End of the whole part of the log."""
        self.why: str | None = None

    def __iter__(self) -> Iterator[LogRecord | Filler]:
        size = len(self.files[0][1]) if self.files else 0
        for number, (start, data) in enumerate(self.files):
            if start != self.where:
                self.why = f"the next file starts at {start}, not at {self.where}"
                return
            if len(data) != size or not data:
                self.why = f"the file at {start} has {len(data)} bytes, the first one {size}"
                return
            yield from self._file(start, data)
            if self.why is not None or self.where != start + len(data) or self.where == self.limit:
                self._check_rest(number)
                return
        if self.limit is not None and self.where < self.limit:
            self.why = f"no file holds [{self.where}, {self.limit})"

    def _file(self, start: int, data: Data) -> Iterator[LogRecord | Filler]:
        # All state of this loop is in locals: it is most of an audit's cost.
        at, length = 0, len(data)
        stop = length if self.limit is None else min(length, self.limit - start)
        view = memoryview(data)
        unpack, fixed = HEAD.unpack_from, HEAD.size
        while at < stop:
            lo = start + at
            if stop - at < LEAST_SIZE:
                found = self._odd(data, start, at, stop)
            else:
                size, magic, crc, queue, _, queue_offset, offset, flags, body_size = unpack(data, at)
                body_at = at + fixed
                if magic != MAGIC or flags & 48 or size < LEAST_SIZE:
                    found = self._odd(data, start, at, stop)
                else:
                    topic_at = body_at + body_size + 1
                    end = at + size
                    if (
                        end > stop
                        or body_size < 0
                        or topic_at + 2 > end
                        or crc32(view[body_at : topic_at - 1]) & 0x7FFFFFFF != crc
                        or offset != lo
                        or not fits(data, topic_at, end)
                        or (end - topic_at >= SECTOR and lost_sector(data, topic_at, end) is not None)
                    ):
                        self.why = why_not(data, lo, at, stop, body_at, body_size)
                        return
                    found = LogRecord(lo, start + end, queue, queue_offset, data, at, body_at, topic_at)
            if found is None:
                return
            self.where = found.hi
            at = found.hi - start
            yield found

    def _odd(self, data: Data, start: int, at: int, stop: int) -> LogRecord | Filler | None:
        """Anything but a plain record: a filler, one with IPv6 hosts or of version 2, the end, or damage."""
        lo, left = start + at, stop - at
        if left < BLANK_SIZE:
            if bytes(data[at:stop]).strip(b"\0") or self.limit is not None:
                self.why = f"{left} bytes are left: too few for a record's size and magic"
            return None
        size, magic = START.unpack_from(data, at)
        if magic == MAGIC_BLANK:
            return self._filler(data, start, at, stop, size)
        if magic not in (MAGIC, MAGIC_V2):
            self.why = None if size == magic == 0 and self.limit is None else why_magic(magic)
            return None
        if size < LEAST_SIZE or size > left:
            self.why = why_size(size, left)
            return None
        (flags,) = INT.unpack_from(data, at + SYS_FLAG_AT)
        body_at = at + HEAD.size + (12 if flags & BORN_V6 else 0) + (12 if flags & STORE_V6 else 0)
        before = length_size(magic)
        if body_at + before + 2 > at + size:
            self.why = f"size {size} is too little for its hosts"
            return None
        (body_size,) = INT.unpack_from(data, body_at - 4)
        why = why_not(data, lo, at, stop, body_at, body_size)
        if why is not None:
            self.why = why
            return None
        queue, queue_offset = HEAD.unpack_from(data, at)[3], HEAD.unpack_from(data, at)[5]
        return LogRecord(lo, lo + size, queue, queue_offset, data, at, body_at, body_at + body_size + before)

    def _filler(self, data: Data, start: int, at: int, stop: int, size: int) -> Filler | None:
        to_end = len(data) - at
        if size != to_end:
            self.why = f"filler of {size} bytes, where {to_end} are left in the file"
        elif stop < len(data):
            self.why = f"filler of {size} bytes is cut at the log's end"
        else:
            return Filler(start + at, start + len(data))
        return None

    def _check_rest(self, number: int) -> None:
        """Zeros end a log only if nothing follows them; a known end must be reached."""
        if self.why is not None:
            return
        if self.limit is not None:
            if self.where != self.limit:
                self.why = f"the log should reach {self.limit}"
            return
        start, data = self.files[number]
        found = _first_data(data, self.where - start)
        if found is not None:
            self.why = f"zero bytes, although data follows at {start + found}"
        for start, data in self.files[number + 1 :]:
            if self.why is None and any(data[:BLANK_SIZE]):
                self.why = f"zero bytes, although the file at {start} holds data"


def record_at(start: int, data: Data, at: int) -> LogRecord | None:
    """The whole record that begins ``at`` bytes into the file that starts at ``start``; None if there is none."""
    if len(data) - at < LEAST_SIZE:
        return None
    found = Walk([(start, data)])._odd(data, start, at, len(data))
    return found if isinstance(found, LogRecord) else None


class LogReading(NamedTuple):
    """A log's contents. ``start`` to ``end`` is its files' own range; records reach to ``where``."""

    start: int
    end: int
    whole: bool
    why: str | None
    where: int
    records: list[LogRecord]
    fillers: list[Filler]
    files: Sequence[LogFile]

    def read(self, lo: int, hi: int) -> bytes:
        """The log's bytes in [lo, hi), as far as its files have them."""
        pieces = []
        number = max(bisect_right(self.files, lo, key=_START) - 1, 0)
        while number < len(self.files) and self.files[number][0] < hi:
            start, data = self.files[number]
            if lo < start + len(data):
                pieces.append(bytes(data[max(lo - start, 0) : hi - start]))
            number += 1
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_log(files: Sequence[LogFile], end: int | None = None) -> LogReading:
    """Walk a whole log that is in memory; see :class:`Walk`. ``end`` of the reading is the given one, if given."""
    walk = Walk(files, end)
    records: list[LogRecord] = []
    fillers: list[Filler] = []
    for each in walk:
        if isinstance(each, LogRecord):
            records.append(each)
        else:
            fillers.append(each)
    reached = walk.where if end is None else end
    return LogReading(walk.start, reached, walk.why is None, walk.why, walk.where, records, fillers, files)


def audit(
    recorder: Recorder,
    t: int,
    number: int,
    f: str,
    node: str,
    incarnation: int | None,
    reading: LogReading,
    common_lo: int,
    common_hi: int,
    records: bool = True,
) -> None:
    """Record a reading: its records (if ``records``), chunks of the common range, and the audit itself.

    Chunks are [k * CHUNK, (k + 1) * CHUNK) clipped to [common_lo, common_hi): the same on every node that is read for
    this audit. ``f``: recovery or final; ``t``: ns.
    """
    add = recorder.add
    if records:
        queues: dict[tuple[bytes, int], str] = {}
        for each in reading.records:
            raw, lo, hi = each.raw, each.lo, each.hi
            names = raw[each.topic_at - each.at :]
            end = each.topic_size
            queue = queues.get((names[:end], each.queue_id))
            if queue is None:
                queue = queues[names[:end], each.queue_id] = each.queue
            # Simulated producers send a key alone: found without searching.
            key = (
                str(names[end + 7 :], "utf-8", "backslashreplace") if names[end + 2 : end + 7] == b"KEYS\x01" else None
            )
            if not key or "\2" in key:
                key = each.key
            add(
                t, "record", node, op=number, message=key, queue=queue, queue_offset=each.queue_offset, lo=lo, hi=hi,
                digest=digest(raw), value=each.store_ms, detail=each.content,
            )  # fmt: skip
    lo = common_lo
    while lo < common_hi:
        hi = min(lo - lo % CHUNK + CHUNK, common_hi)
        add(t, "chunk", node, op=number, lo=lo, hi=hi, digest=digest(reading.read(lo, hi)))
        lo = hi
    add(
        t, "audit", node, incarnation, op=number, f=f, status="whole" if reading.whole else "broken", lo=reading.start,
        hi=reading.end, value=reading.where, detail=reading.why,
    )  # fmt: skip


def _first_data(data: Data, at: int) -> int | None:
    while at < len(data):
        piece = bytes(data[at : at + _SCAN])
        if piece != _ZEROS[: len(piece)]:
            return at + len(piece) - len(piece.lstrip(b"\0"))
        at += len(piece)
    return None
