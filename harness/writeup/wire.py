"""The traffic between brokers and clients around a moment, bounded; repeated sentences are counted.

The system defines the event types of the traffic, and their sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..history import MS, Event
from ..system import System
from .blocks import Table

AROUND_NS = 1_000 * MS
BEFORE, AFTER = 16, 4
"""Lines at most, before and after the moment."""
EARLIER = 8
"""Lines at most of what was before these two seconds."""
MAX_CONNECTIONS = 2
"""Connections whose earlier events are shown, the last used ones."""
MAX_COUNTED = 4
"""Repeated sentences that one line may name."""

Line = tuple[int, str]
"""Time, ns, and text."""


def conversation(events: Sequence[Event], system: System, seq: int) -> Table | None:
    """A table of times and sentences around the event ``seq``, which is marked; None if it would be empty."""
    here = next((each for each in events if each.seq == seq), None)
    if here is None:
        return None
    near = [each for each in events if _is_part(each, system) and abs(each.t - here.t) <= AROUND_NS]
    if here not in near:
        near = sorted([*near, here], key=lambda each: each.seq)
    at = near.index(here)
    early = folded(_lines(near[:at], system), BEFORE, last=True)
    late = folded(_lines(near[at + 1 :], system), AFTER)
    begun = folded(_lines(_before(events, system, near, seq), system), EARLIER, last=True)
    found = [*begun, *early, (here.t, here.words(system.the)), *late]
    rows = [(f"{t / MS:,.3f}", text) for t, text in found]
    return Table(("ms", "what was seen"), rows, len(begun) + len(early)) if len(rows) > 1 else None


def _is_part(event: Event, system: System) -> bool:
    return event.kind in system.overheard


def _lines(events: Sequence[Event], system: System) -> list[Line]:
    return [(each.t, each.words(system.the)) for each in events]


def _before(events: Sequence[Event], system: System, near: Sequence[Event], seq: int) -> list[Event]:
    """Earlier events that the reader needs: active faults, and for the connections in use at the event ``seq`` their
    beginnings and the last event of each type at each end.
    """
    used = [each.link for each in near if each.link and each.side and each.seq <= seq]
    links = list(dict.fromkeys(reversed(used)))[:MAX_CONNECTIONS]
    first: dict[tuple[str | None, ...], Event] = {}
    last: dict[tuple[str | None, ...], Event] = {}
    active: dict[int | None, Event] = {}
    for each in events:
        if each.seq >= near[0].seq:
            break
        if each.kind == "fault":
            active[each.op] = each
        elif each.link in links and _is_part(each, system):
            # Both ends report the opening: once is enough.
            first.setdefault((each.link, each.kind), each)
            if each.kind != "connect":
                last[each.link, each.kind, each.side] = each
    begun = (each for each in active.values() if each.status == "on")
    return sorted({each.seq: each for each in (*first.values(), *last.values(), *begun)}.values(), key=lambda e: e.seq)


def folded(lines: Sequence[Line], most: int, last: bool = False) -> list[Line]:
    """At most about ``most`` lines, the first or the last; a repeated sentence is only counted."""
    seen: set[str] = set()
    found: list[Line] = []
    again: Counter[str] = Counter()
    until = 0
    for t, text in lines:
        if text in seen:
            again[text] += 1
            until = t
            continue
        found += _counted(again, until)
        again.clear()
        seen.add(text)
        found.append((t, text))
    found += _counted(again, until)
    if len(found) <= most:
        return found
    kept, left = (found[-most:], found[:-most]) if last else (found[:most], found[most:])
    omitted = (left[-1][0], f"({len(left)} lines left out)")
    return [omitted, *kept] if last else [*kept, omitted]


def _counted(again: Counter[str], until: int) -> list[Line]:
    if not again:
        return []
    common = again.most_common(MAX_COUNTED)
    named = [f"{amount} more: {text}" for text, amount in common]
    if others := again.total() - sum(amount for _, amount in common):
        named.append(f"and {others} others, seen before")
    return [(until, f"({'; '.join(named)})")]
