"""Drops readings of a table that may have changed during the read.

In real-time labs a read takes time, and more on a stalled machine: an answer from before a sync would be dated after
it. A reading states a table's contents at its date, so it is dropped if its node meanwhile made, or received, a change
of tables.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...harness.history import Event

CHANGES = frozenset({"sync", "persist", "start", "crash", "stop", "wipe"})
CALLS = frozenset({"commit", "topic", "group", "delete-topic", "delete-group"})


def settled(events: Sequence[Event]) -> Iterator[Event]:
    """All other events. A reading's ``hi`` is the time of its request, ns; only this function uses it."""
    changes: dict[str | None, list[int]] = defaultdict(list)
    for event in events:
        if event.kind in CHANGES or (event.kind in ("invoke", "ok") and event.f in CALLS):
            changes[event.node].append(event.t)
    for event in events:
        if event.kind != "table" or event.hi is None:
            yield event
            continue
        when = changes[event.node]
        if bisect_left(when, event.hi) == bisect_right(when, event.t):
            yield event._replace(hi=None)
