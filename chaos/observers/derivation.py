"""Derives queues and key index from a log, and compares them with a node's own.

:func:`derive` computes each record's queue entry and the hashes under which the key index must have it; :func:`compare`
records, as ``derived`` events, a store's differences: an entry that is not its record's (``other``), a record without
its entry (``lacks``), entries of a queue without a record in the log (``behind``), and index files of the wrong form
(``form``, ``slots``). Only the first difference of each type is recorded. Shares no code with the judged broker.

Left out: addresses into the consume queue extension, which replace the hash of tags; further queues of a record
(%LMQ%); batches that stay one record; hashes in the index that no record has. Source:
CommitLog.checkMessageAndReturnSize, IndexService.buildIndex, ConsumeQueue.putMessagePositionInfo.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from ...harness.history import Recorder
from ...harness.rocketmq.laws.delivery.deliver_delayed import delays_ms
from . import index_form
from .full_record import java_hash
from .queue_reader import ENTRY_SIZE, Index, QueueReading, Store, key_hash, properties_of
from .stored_record import SYS_FLAG_AT, LogRecord

SCHEDULED = "SCHEDULE_TOPIC_XXXX"
MANY_QUEUES = "%LMQ%"
INNER_BATCH = 0x80
TRANSACTION, ROLLBACK = 0xC, 0xC
IN_QUEUES = (0x0, 0x8)
"""Transaction types whose records are in queues: none, and commit."""
UNKNOWN_LEVEL_MS = 1_000
EXTENSION = -(1 << 31)
"""Below every hash: RocketMQ writes addresses there."""
_ENTRY = Struct(">qiq")
_MAX_LONG = (1 << 63) - 1


class Derived(NamedTuple):
    """Derived from a log. ``queues``: by topic and queue id, entries by queue offset; ``keys``: log offsets by hash."""

    queues: Mapping[str, Mapping[int, bytes]]
    keys: Mapping[int, Sequence[int]]
    records: Mapping[int, LogRecord]
    """By the log offset of their start."""


class Difference(NamedTuple):
    """The first of its type, and its record's range."""

    lo: int
    hi: int
    what: str


def derive(records: Sequence[LogRecord], levels: str) -> Derived:
    """Derive as a broker with these delay levels."""
    queues: dict[str, dict[int, bytes]] = {}
    keys: dict[int, list[int]] = {}
    delays = delays_ms(levels)
    for each in records:
        at, lo, hi = each.at, each.lo, each.hi
        parts = properties_of(bytes(each.data[each.topic_at : at + hi - lo]), each.topic_size)
        flags = each.data[at + SYS_FLAG_AT + 3]
        kind = flags & TRANSACTION
        if kind != ROLLBACK:
            for key in parts.keys:
                offsets = keys.setdefault(key_hash(parts.topic, key), [])
                if not offsets or offsets[-1] != lo:
                    offsets.append(lo)
        if kind in IN_QUEUES and not flags & INNER_BATCH:
            code = _tags_hash(parts.tags) if parts.tags else 0
            if parts.delay and parts.topic == SCHEDULED:
                code = _due_ms(parts.delay, each.store_ms, delays, code)
            entry = _ENTRY.pack(lo, hi - lo, code)
            queues.setdefault(f"{parts.topic}/{each.queue_id}", {}).setdefault(each.queue_offset, entry)
    return Derived(queues, keys, {each.lo: each for each in records})


@lru_cache(maxsize=1_024)
def _tags_hash(tags: str) -> int:
    return java_hash(tags)


def _due_ms(delay: str, store_ms: int, delays: tuple[int, ...], code: int) -> int:
    level = min(int(delay), len(delays)) if delay.isdecimal() and delay.isascii() else 0
    if level <= 0:
        return code
    return min(store_ms + (delays[level - 1] if delays else UNKNOWN_LEVEL_MS), _MAX_LONG)


def compare(
    recorder: Recorder,
    t: int,
    number: int,
    store: Store,
    queues: Mapping[str, QueueReading],
    index: Index,
    derived: Derived,
) -> None:
    """Record the differences of a store's queues and index from its own log, or that there are none.

    ``number`` is the audit's; ``t``: ns.
    """
    compared = sum(map(len, derived.queues.values()))
    _record(recorder, t, number, store, "queues", compared, _queues(queues, derived, store))
    _record(recorder, t, number, store, "index", len(derived.keys), _keys(index, derived, store))


def _record(
    recorder: Recorder, t: int, number: int, store: Store, f: str, compared: int, found: dict[str, Difference]
) -> None:
    for status, each in found.items():
        recorder.add(
            t, "derived", store.node, op=number, f=f, status=status, lo=each.lo, hi=each.hi, value=compared,
            detail=each.what,
        )  # fmt: skip
    if not found:
        lo, hi = store.log_start, store.log_end
        recorder.add(t, "derived", store.node, op=number, f=f, status="same", lo=lo, hi=hi, value=compared)


def _queues(queues: Mapping[str, QueueReading], derived: Derived, store: Store) -> dict[str, Difference]:
    found: dict[str, Difference] = {}
    for name in sorted({*queues, *derived.queues}):
        expected, reading = derived.queues.get(name, {}), queues.get(name)
        if expected and reading is not None:
            first = next(iter(expected))
            if reading.first == first and reading.data == b"".join(expected.values()) and _is_dense(expected):
                continue
        if expected or not name.startswith(MANY_QUEUES):
            for status, each in _in_queue(name, expected, reading, derived, store):
                found.setdefault(status, each)
    return found


def _is_dense(expected: Mapping[int, bytes]) -> bool:
    first = next(iter(expected))
    return list(expected) == list(range(first, first + len(expected)))


def _in_queue(
    name: str, expected: Mapping[int, bytes], reading: QueueReading | None, derived: Derived, store: Store
) -> Iterator[tuple[str, Difference]]:
    first, until = (reading.first, reading.next) if reading is not None else (0, 0)
    for number, entry in expected.items():
        offset, size, _ = _ENTRY.unpack(entry)
        place = f"{name} at {number}"
        if reading is None or not first <= number < until:
            yield "lacks", Difference(offset, offset + size, f"{place} lacks the entry of the record at {offset}")
            continue
        held = reading.entries(number, number + 1)
        if held != entry and not _is_extended(held, entry):
            what = f"{place} has {_shown(held)}; its record gives {_shown(entry)}"
            yield "other", Difference(offset, offset + size, what)
    for number in range(first, until):
        if number not in expected and reading is not None:
            held = reading.entries(number, number + 1)
            offset, size, _ = _ENTRY.unpack(held)
            what = f"{name} at {number} has {_shown(held)}, and no record of the log has this place"
            # Behind its last record a queue may have truncated entries; among its records there must be no others.
            status = "behind" if number > max(expected, default=-1) else "other"
            yield status, Difference(offset, min(offset + size, store.log_end), what)


def _is_extended(held: bytes, entry: bytes) -> bool:
    """Whether an entry has an address instead of the record's hash, and is otherwise equal."""
    return held[:12] == entry[:12] and _ENTRY.unpack(held)[2] < EXTENSION


def _shown(entry: bytes) -> str:
    offset, size, code = _ENTRY.unpack(entry)
    return f"offset {offset}, size {size}, tags code {code}"


def _keys(index: Index, derived: Derived, store: Store) -> dict[str, Difference]:
    found: dict[str, Difference] = {}
    lo, hi = store.log_start, store.log_end
    for value, offsets in derived.keys.items():
        held = index.of_hash(value)
        if held == offsets:
            continue
        for at in offsets:
            if at not in held:
                what = f"the key index does not know the record at {at} by its hash {value}"
                found.setdefault("lacks", Difference(at, derived.records[at].hi, what))
        for at in held:
            if lo <= at < hi and at not in offsets:
                what = f"the key index leads from the hash {value} to {at}, where no record has it"
                end = derived.records[at].hi if at in derived.records else at
                found.setdefault("other", Difference(at, end, what))
    why = index_form.why_not(index.files, index.slots, derived.records)
    if why is not None:
        found["slots" if why.endswith(index_form.COUNTS_ENTRIES) else "form"] = Difference(lo, hi, why)
    return found


assert _ENTRY.size == ENTRY_SIZE
