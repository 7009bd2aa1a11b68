"""Dates a captured master's records: by their store timestamps, within the tap's observations.

The timestamps move where the machine's clock is set or slewed. But a record was appended before any frame or answer
with it, and after its send. Appends are in the log's order.
"""

from collections.abc import Iterable, Sequence

from .capture_folder import Clock
from .client_capture import Operation
from .effects import NEVER, dated
from .stored_record import LogRecord


def date_records(
    records: Sequence[LogRecord], clock: Clock, operations: Iterable[Operation], shown: Iterable[tuple[int, int]]
) -> dict[int, int]:
    """By a record's start, ns. ``shown``: ends of frames with the log's bytes, and when they left."""
    sent: dict[str | None, int] = {}
    answered: dict[tuple[int | None, str | None], int] = {}
    for each in operations:
        sent.setdefault(each.message, each.t)
        answered.setdefault((each.lo, each.message), each.t)
    left, until, before = sorted(shown), NEVER, {}
    for record in reversed(records):
        while left and left[-1][0] >= record.hi:
            until = min(until, left.pop()[1])
        until = min(until, answered.get((record.lo, record.unique_key), until))
        before[record.lo] = until
    found: dict[int, int] = {}
    latest = 0
    for record in records:
        stored, cause = clock.at(record.store_ms), sent.get(record.unique_key, -1)
        latest = max(latest, dated(stored, cause, before[record.lo]))
        found[record.lo] = latest
    return found
