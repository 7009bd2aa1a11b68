"""Leaves out readings of a table that may have changed while it was read.

Where time is real, asking takes a while, and where the machine stalls a long one: what a node answered before its sync
would be dated after it. A reading says what a table holds at its date, so one during which its node did, or was told,
anything that changes tables is none.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ...harness.history import Event

CHANGES = frozenset({"sync", "persist", "start", "crash", "stop", "wipe"})
CALLS = frozenset({"commit", "topic", "group", "delete-topic", "delete-group"})


def settled(events: Sequence[Event]) -> Iterator[Event]:
    """All but these readings. Of a reading ``hi`` says when it was asked for, ns; nobody else needs that."""
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
