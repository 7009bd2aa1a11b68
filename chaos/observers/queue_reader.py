"""Reads consume queues and key index files from outside, and records the common part of two stores.

:func:`read_queues` returns each queue's live entries, :class:`Index` answers a key as a broker would, and
:func:`record` converts both into ``entries`` and ``keys`` events over the range that two stores have: there equal
digests mean equal content. Shares no code with the judged broker. A store is a mapping from file name
(``consumequeue/<topic>/<queue id>/<start>``, ``index/<time>``) to bytes; it must not change.

A queue's live entries are written, in the log's order and within the log: a marker before the first one, an entry whose
log file has expired and entries behind a gap do not count. A chain of the index or a file's header is followed only
within the file.

Left out: the consume queue extension. Stale entries that a broker leaves behind its own end when it truncates a queue
(RocketMQ does), and that still look right, count as live: the files do not distinguish them. Layout: ConsumeQueue,
IndexFile, IndexHeader and IndexService of RocketMQ 4.9.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from ...harness.errors import UsageError
from ...harness.history import Recorder, digest
from .full_record import java_hash
from .stored_record import Data, LogRecord

QUEUES, INDEX = "consumequeue/", "index/"
ENTRY_SIZE = 20
MARKER = (0, 0x7FFFFFFF, 0)
"""Fills a queue's first file before its first entry."""
INDEX_HEADER, SLOT_SIZE, INDEX_ENTRY = 40, 4, 20
_COUNT_AT = 36
_ENTRY = Struct(">qiq")
_KEYED = Struct(">iq4xi")
_INT = Struct(">i")
_OFFSET = Struct(">q")


class Store(NamedTuple):
    """One node's files, and the range of whole records in its log. ``slots``: its maxHashSlotNum."""

    node: str
    files: Mapping[str, Data]
    log_start: int
    log_end: int
    slots: int


class QueueReading(NamedTuple):
    """A queue's live entries: logical offsets [first, next), 20 bytes each; ``end``: the log offset behind the last."""

    first: int
    next: int
    data: bytes
    end: int | None

    def entries(self, first: int, until: int) -> bytes:
        """The bytes of [first, until), both within the reading."""
        return self.data[(first - self.first) * ENTRY_SIZE : (until - self.first) * ENTRY_SIZE]


def read_queues(store: Store) -> dict[str, QueueReading]:
    """Every queue with files, by ``topic/queue id``, sorted. UsageError for a file that does not belong to a queue."""
    found: dict[str, list[tuple[int, Data]]] = {}
    for name, data in store.files.items():
        if name.startswith(QUEUES):
            queue, _, start = name[len(QUEUES) :].rpartition("/")
            if not start.isdecimal():
                raise UsageError(
                    f"{name} is not named by an offset: no queue file; give a copy of the store without it"
                )
            found.setdefault(queue, []).append((int(start), data))
    return {queue: _read(sorted(files), store) for queue, files in sorted(found.items())}


def _read(files: list[tuple[int, Data]], store: Store) -> QueueReading:
    start, limit = store.log_start, store.log_end
    first = number = files[0][0] // ENTRY_SIZE
    reached = -1
    for at, data in files:
        if at != number * ENTRY_SIZE:
            break
        for entry in _ENTRY.iter_unpack(memoryview(data)[: len(data) // ENTRY_SIZE * ENTRY_SIZE]):
            offset, size, _ = entry
            if entry == MARKER and reached < 0:
                first = number = number + 1
                continue
            end = offset + size
            if size <= 0 or offset < max(reached, 0) or end > limit:
                return _reading(files, first, number, reached)
            reached = end
            number += 1
            if offset < start:
                first = number
    return _reading(files, first, number, reached)


def _reading(files: list[tuple[int, Data]], first: int, until: int, reached: int) -> QueueReading:
    lo, hi = first * ENTRY_SIZE, until * ENTRY_SIZE
    pieces = [bytes(data[max(lo - at, 0) : hi - at]) for at, data in files if at < hi and lo < at + len(data)]
    return QueueReading(first, until, b"".join(pieces), reached if reached >= 0 else None)


class Index:
    """A node's key index. A file that is too small for its slots has no entry; laws report the missing ones."""

    def __init__(self, store: Store) -> None:
        self.slots = store.slots
        self._entries_at = INDEX_HEADER + SLOT_SIZE * self.slots
        names = sorted(name for name in store.files if name.startswith(INDEX))
        self.files = [store.files[name] for name in names if len(store.files[name]) >= self._entries_at]
        self._found: dict[int, list[int]] | None = None

    def find(self, topic: str, key: str) -> list[int]:
        """Log offsets of messages that this key's hash leads to, ascending, each once."""
        return self.of_hash(key_hash(topic, key))

    def of_hash(self, value: int) -> list[int]:
        """The same for a hash. The first call reads all files."""
        if self._found is None:
            found: dict[int, set[int]] = {}
            for data in self.files:
                self._follow(data, found)
            self._found = {read: sorted(offsets) for read, offsets in found.items()}
        return self._found.get(value, [])

    def _follow(self, data: Data, found: dict[int, set[int]]) -> None:
        """Add the offsets from one file's chains, for the slots that its entries may be in."""
        count = min(_INT.unpack_from(data, _COUNT_AT)[0], (len(data) - self._entries_at) // INDEX_ENTRY)
        entries = range(self._entries_at + INDEX_ENTRY, self._entries_at + INDEX_ENTRY * count, INDEX_ENTRY)
        for slot in {_INT.unpack_from(data, at)[0] % self.slots for at in entries}:
            (number,) = _INT.unpack_from(data, INDEX_HEADER + SLOT_SIZE * slot)
            # Numbers only go down along a chain, so this ends.
            before = count
            while 0 < number < before:
                read, offset, older = _KEYED.unpack_from(data, self._entries_at + INDEX_ENTRY * number)
                if read % self.slots == slot:
                    found.setdefault(read, set()).add(offset)
                number, before = older, number


@lru_cache(maxsize=16_384)
def key_hash(topic: str, key: str) -> int:
    """The index's hash for a key of a topic: Java's hash of ``topic#key`` without its sign."""
    value = abs(java_hash(f"{topic}#{key}"))
    return 0 if value == 1 << 31 else value


def keys_of(records: Iterable[LogRecord]) -> dict[str, tuple[str, ...]]:
    """By key, the topics of its messages: from the words of KEYS, and UNIQ_KEY."""
    found: dict[str, tuple[str, ...]] = {}
    for each in records:
        parts = properties_of(bytes(each.data[each.topic_at : each.at + each.hi - each.lo]), each.topic_size)
        for key in parts.keys:
            topics = found.get(key, ())
            if parts.topic not in topics:
                found[key] = (*topics, parts.topic)
    return found


class RecordProperties(NamedTuple):
    """The parts of a record's end that queues and index need. ``delay``: its delay level, as text."""

    topic: str
    keys: tuple[str, ...]
    tags: str
    delay: str


@lru_cache(maxsize=4_096)
def properties_of(text: bytes, size: int) -> RecordProperties:
    """Read a record's end: the topic, ``size`` bytes, the properties' length, the properties."""
    values = dict(each.partition(b"\x01")[::2] for each in text[size + 2 :].split(b"\x02"))
    words = [*values.get(b"KEYS", b"").split(b" "), values.get(b"UNIQ_KEY", b"")]
    return RecordProperties(
        _text(text[:size]), tuple(dict.fromkeys(_text(each) for each in words if each)),
        _text(values.get(b"TAGS", b"")), _text(values.get(b"DELAY", b"")),
    )  # fmt: skip


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


Readings = dict[str, tuple[dict[str, QueueReading], Index]]


def record(
    recorder: Recorder, t: int, number: int, one: Store, other: Store, keys: Mapping[str, tuple[str, ...]]
) -> Readings:
    """Record the queues and the answers to ``keys`` (see :func:`keys_of`) of two stores that were read at time ``t``.

    ``number`` is the audit's. Called after the ``record`` events of the same audit, since laws resolve entries to
    records. A queue that only one store has gets the digest of no entries. A store that is passed twice is recorded
    once.
    """
    add = recorder.add
    stores = (one,) if other is one else (one, other)
    readings = [read_queues(each) for each in stores]
    for store, mine, theirs in zip(stores, readings, reversed(readings), strict=True):
        for queue, reading in mine.items():
            match = theirs.get(queue)
            lo, hi = reading.first, reading.first
            if match is not None:
                lo, hi = max(lo, match.first), min(reading.next, match.next)
            add(
                t, "entries", store.node, op=number, queue=queue, queue_offset=lo, lo=reading.first, hi=reading.next,
                digest=digest(reading.entries(lo, hi) if lo < hi else b""), value=reading.end,
            )  # fmt: skip
    lo, hi = max(each.log_start for each in stores), min(each.log_end for each in stores)
    indexes = [Index(each) for each in stores]
    answers = _answers(indexes[0], keys, lo, hi)
    for store, index in zip(stores, indexes, strict=True):
        # Equal bytes have equal answers: the usual case.
        same = index.slots == indexes[0].slots and index.files == indexes[0].files
        for key, answer in zip(keys, answers if same else _answers(index, keys, lo, hi), strict=True):
            add(t, "keys", store.node, op=number, message=key, digest=answer)
    return {each.node: (queues, index) for each, queues, index in zip(stores, readings, indexes, strict=True)}


def _answers(index: Index, keys: Mapping[str, tuple[str, ...]], lo: int, hi: int) -> list[int]:
    found = []
    for key, topics in keys.items():
        offsets = sorted({at for topic in topics for at in index.find(topic, key) if lo <= at < hi})
        found.append(digest(b"".join(map(_OFFSET.pack, offsets))))
    return found
