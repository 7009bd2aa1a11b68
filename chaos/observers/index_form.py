"""Whether key index files have RocketMQ's form, so that another broker can use them: correct headers, and chains
through all entries of a slot.

A header has the store times and offsets of the first and the last entry's messages, the number of used slots, and the
next entry's number; an entry has the seconds from the first entry's store time to its own, and the previous entry of
its slot. Only the last file has room left.

Left out: the seconds of a file's first entry, which RocketMQ counts from the previous file; headers about messages that
have left the log. Source: IndexFile.putKey, IndexHeader and IndexService.getAndCreateLastIndexFile of RocketMQ 4.4,
4.9.7 and 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import Struct

from .stored_record import Data, LogRecord

_HEADER = Struct(">qqqqii")
_ENTRY = Struct(">iqii")
_SLOT = Struct(">i")
_MAX_INT = (1 << 31) - 1
COUNTS_ENTRIES = "its header counts a used slot for each entry"
"""As RocketMQ before 4.7.1 did."""


def why_not(files: Sequence[Data], slots: int, records: Mapping[int, LogRecord]) -> str | None:
    """The first deviation of the files, in their order, from this form; None if there is none. ``records``: those of
    the log, by their offsets.
    """
    for number, data in enumerate(files, 1):
        why = _why_not(data, slots, records, number == len(files))
        if why is not None:
            return f"index file {number} of {len(files)}: {why}"
    return None


def _why_not(data: Data, slots: int, records: Mapping[int, LogRecord], is_last: bool) -> str | None:
    begin_ms, end_ms, begin, end, used, count = _HEADER.unpack_from(data)
    entries_at = _HEADER.size + _SLOT.size * slots
    room = (len(data) - entries_at) // _ENTRY.size
    if count > room:
        return f"it claims {count} entries and has room for {room}"
    if count < room and not is_last:
        return f"it has {count} of {room} entries, and another file follows"
    entries = [_ENTRY.unpack_from(data, entries_at + _ENTRY.size * number) for number in range(1, count)]
    if not entries:
        return None
    first, last = entries[0][1], entries[-1][1]
    for what, told, right in (("first", begin, first), ("last", end, last)):
        if told != right:
            return f"its header says that the {what} entry is of {told}, and it is of {right}"
    for what, told, at in (("first", begin_ms, first), ("last", end_ms, last)):
        if at in records and told != records[at].store_ms:
            right = records[at].store_ms
            return f"its header says that the {what} message was stored at {told} ms, and it was at {right} ms"
    newest: dict[int, int] = {}
    for number, (value, at, seconds, older) in enumerate(entries, 1):
        after = seconds
        if at in records and number > 1:
            after = min(max(0, (records[at].store_ms - begin_ms) // 1_000), _MAX_INT)
        if seconds != after:
            return f"entry {number} says {seconds} s, and its message was stored {after} s after the first"
        if older != newest.get(value % slots, 0):
            return f"entry {number} leads to {older}; the last of its slot was {newest.get(value % slots, 0)}"
        newest[value % slots] = number
    for slot, number in newest.items():
        (told,) = _SLOT.unpack_from(data, _HEADER.size + _SLOT.size * slot)
        if told != number:
            return f"slot {slot} leads to entry {told}; its last is {number}"
    if used == len(newest):
        return None
    if used == len(entries):
        return COUNTS_ENTRIES
    return f"its header says that {used} slots are in use, and {len(newest)} are"
