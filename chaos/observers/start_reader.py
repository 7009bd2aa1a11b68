"""Reads a store right before its node starts, and again right after: the input and the effect of a recovery.

A log may end at the end of its unbroken chain of whole records and fillers, from its first file on. A record whose
topic or properties contain a NUL may have lost the end of a sector, which is indistinguishable from text (see decision
29): a recovery may also end before each such record. Shares no code with the judged broker.

Left out: whether queues and index match the log, which every audit checks
(:mod:`pairproof.chaos.observers.derivation`); files other than the log's, a queue's or the index's. Layout:
MappedFileQueue, ConsumeQueue, IndexHeader and StorePathConfigHelper of RocketMQ 4.9.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import Struct
from typing import NamedTuple, TypeVar

from ...harness.history import Recorder
from .queue_reader import (
    ENTRY_SIZE,
    INDEX,
    INDEX_ENTRY,
    INDEX_HEADER,
    QUEUES,
    SLOT_SIZE,
    Store,
    read_queues,
)
from .store_reader import Walk, record_at
from .stored_record import MAGIC, MAGIC_V2, Data, LogRecord

Bytes = TypeVar("Bytes", bound=Data)

LOG, ABORT = "commitlog/", "abort"
MAX_OFFSET = (1 << 63) - 1
MOST_ENDS = 64
"""Recorded possible ends of a log."""
_PIECE = 4_096
_ZEROS = bytes(_PIECE)
_MAGIC_AT = 4
_MAGICS = tuple(each.to_bytes(4, "big", signed=True) for each in (MAGIC, MAGIC_V2))
_OFFSET = Struct(">q")
_INDEX_END_AT = 24
"""The log offset of the last message in an index file."""
_COUNT = Struct(">i")
_COUNT_AT = 36


class Found(NamedTuple):
    """A store without a running node. All offsets are the log's, in bytes."""

    files: Mapping[str, bytes]
    """Every file, by its name in the store."""
    slots: int
    orderly: bool
    """Whether its node stopped in an orderly way: it left no abort file."""
    log: Sequence[tuple[int, bytes]]
    start: int
    ends: tuple[int, ...]
    """Possible ends of the log: before records that may be torn, and, last, the end of the unbroken chain."""
    used: int
    """The offset behind the last byte of the log's files that is not zero; ``start`` if all are zero."""
    why: str | None
    """Why the chain ends; None if only zeros follow."""
    records_to: int
    """End of the last record that every recovery must keep; a filler behind it may be dropped."""
    queued: int | None
    """The log offset behind the last message in the queues, None without one: for a store after an orderly stop whose
    log is nevertheless damaged.
    """

    @property
    def whole_to(self) -> int:
        """End of the unbroken chain."""
        return self.ends[-1]


class Left(NamedTuple):
    """A store after a start, compared with the :class:`Found` one."""

    used: int
    """As in :class:`Found`, for the present log."""
    log_differs: int | None
    """First difference of the log in the compared range; None if it is equal."""
    derived: str | None
    """Missing former contents of queues and index; None if they have everything."""


def has_log(files: Iterable[str]) -> bool:
    """Whether a store with these file names has a log."""
    return any(name.startswith(LOG) for name in files)


def find(files: Mapping[str, bytes], slots: int) -> Found:
    """Read a store, ``files`` by name, before its node starts. ``slots``: its node's maxHashSlotNum.

    ValueError for a log file whose name is not an offset.
    """
    log = _log_of(files)
    walk = Walk(log)
    records_to, ends = walk.start, list[int]()
    for each in walk:
        if isinstance(each, LogRecord):
            if _may_be_torn(each):
                ends.append(each.lo)
            elif not ends:
                records_to = each.hi
    ends = [*ends[: MOST_ENDS - 1], walk.where]
    orderly, used = ABORT not in files, _used(log)
    queued = _queued(files, slots) if orderly and used > walk.where else None
    return Found(files, slots, orderly, log, walk.start, tuple(ends), used, walk.why, records_to, queued)


def record(recorder: Recorder, t: int, node: str, incarnation: int, found: Found) -> None:
    """Record at ``t`` (ns) the store of a node whose process, its ``incarnation``, is about to start."""
    recorder.add(
        t, "found", node, incarnation, f="orderly" if found.orderly else "crash",
        status="whole" if found.used <= found.whole_to else "broken", lo=found.start, hi=found.whole_to,
        value=found.used,
        detail=json.dumps({
            "ends": found.ends, "records": found.records_to, "why": found.why,
            **({} if found.queued is None else {"queued": found.queued}),
        }),
    )  # fmt: skip


def compare(found: Found, files: Mapping[str, Data], end: int | None) -> Left:
    """Compare ``files`` with the store ``found``; its log ends at ``end`` now; None: compare all of it."""
    now = dict(_log_of(files))
    return Left(_used(sorted(now.items())), _differs(found.log, now, end), _lacks(found, files))


def whole_behind(found: Found, end: int) -> tuple[int, int]:
    """Whole records behind ``end``, at any position: the number of certainly whole ones, and of all."""
    sure = every = 0
    for start, data in found.log:
        for each in _records(start, data, max(0, end - start)):
            every += 1
            sure += not _may_be_torn(each)
    return sure, every


def _log_of(files: Mapping[str, Bytes]) -> list[tuple[int, Bytes]]:
    return sorted((int(name[len(LOG) :]), data) for name, data in files.items() if name.startswith(LOG))


def _records(start: int, data: bytes, at: int) -> Iterator[LogRecord]:
    while True:
        places = [place for magic in _MAGICS if (place := data.find(magic, at + _MAGIC_AT)) >= 0]
        if not places:
            return
        at = min(places) - _MAGIC_AT
        found = record_at(start, data, at)
        if found is None:
            at += 1
        else:
            yield found
            at = found.hi - start


def _queued(files: Mapping[str, bytes], slots: int) -> int | None:
    readings = read_queues(Store("", files, 0, MAX_OFFSET, slots)).values()
    return max((each.end for each in readings if each.end is not None), default=None)


def _may_be_torn(record: LogRecord) -> bool:
    """Whether its topic or its properties contain a NUL."""
    data, topic = record.data, record.topic_at
    text = topic + record.topic_size
    end = record.at + record.hi - record.lo
    return b"\0" in bytes(data[topic:text]) or b"\0" in bytes(data[text + 2 : end])


def _used(log: Sequence[tuple[int, Data]]) -> int:
    for start, data in reversed(log):
        used = _used_of(data)
        if used:
            return start + used
    return log[0][0] if log else 0


def _used_of(data: Data) -> int:
    hi = len(data)
    while hi:
        lo = max(0, hi - _PIECE)
        piece = bytes(data[lo:hi])
        if piece != _ZEROS[: hi - lo]:
            return lo + len(piece.rstrip(b"\0"))
        hi = lo
    return 0


def _differs(before: Sequence[tuple[int, bytes]], now: Mapping[int, Data], end: int | None) -> int | None:
    for start, data in before:
        upto = len(data) if end is None else min(len(data), end - start)
        if upto <= 0:
            break
        there = now.get(start, b"")
        if len(there) < upto or data[:upto] != there[:upto]:
            return start + next((at for at in range(upto) if data[at : at + 1] != there[at : at + 1]), 0)
    return None


def _lacks(found: Found, files: Mapping[str, Data]) -> str | None:
    """The first file of a queue or the index that lacks entries, or is gone although the log has its messages."""
    for name, data in sorted(found.files.items()):
        if name.startswith(QUEUES):
            # An entry may end in zeros.
            lo, hi = 0, min(-(-_used_of(data) // ENTRY_SIZE) * ENTRY_SIZE, len(data))
            last = max((_OFFSET.unpack_from(data, at)[0] for at in range(0, hi - 7, ENTRY_SIZE)), default=-1)
        elif name.startswith(INDEX) and len(data) >= INDEX_HEADER:
            (last,), (count,) = _OFFSET.unpack_from(data, _INDEX_END_AT), _COUNT.unpack_from(data, _COUNT_AT)
            # Number 0 is unused.
            lo = INDEX_HEADER + SLOT_SIZE * found.slots + INDEX_ENTRY
            hi = lo + INDEX_ENTRY * (count - 1)
        else:
            continue
        if hi > lo and last >= found.start and data[lo:hi] != files.get(name, b"")[lo:hi]:
            return f"{name} is gone" if name not in files else f"{name} lacks entries"
    return None
