"""Dates appends and starts that were observed from outside, in an order that could have been true.

A record's row is dated by its store timestamp (a master's: whole milliseconds of the wall clock) or by its reading (a
slave's: a few milliseconds late, or more in a busy lab). Others observed the record as well, on the one clock of the
history. A master has a record

- not before its send began, and not before the previous record,
- no later than the first frame beyond its start leaves, or its producer or a reader has it, or it is flushed, if its
  process traces flushes.

A slave has it

- not before a frame that reaches its end has arrived,
- no later than a report that covers it leaves, or a reader has it, or it is flushed.

Each of these counts only within the incarnation that wrote the record. If both limits contradict each other, the later
one wins: it was observed. An unrequested record (a delayed message's second one, the broker's own records) has only its
predecessor as a lower limit, and one that never left its broker only its row as an upper limit.

A ``dispatch`` row is dated by the last read of the queues without it, which is before any reader got it; it comes after
the append that it reaches, and after the previous row.

A start precedes any action of its process: a broker reports late that it serves. Steps of a sync:
:mod:`pairproof.chaos.rocketmq.outside.syncs`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ....harness.event_types.node import UNKNOWN
from ....harness.history import Event
from ...observers import effects
from ...observers.effects import NEVER
from .syncs import settled

MASTERS_SIDE, SLAVES_SIDE = "m", "s"
Incarnation = tuple[str, int]
Times = list[tuple[int, int]]
"""Ascending offsets, and when each was reached first, ns."""


class _Seen(NamedTuple):
    frames: Times
    """Data frames that left it, or reached it."""
    reports: Times
    flushes: Times
    shown: dict[int, int]
    """By a record's start: when its producer or a reader had it."""
    did: list[int]
    """Times of actions that prove its start."""


def dated(events: Iterable[Event], began: Mapping[Incarnation, int]) -> list[Event]:
    """Events in order of time, see the module. ``began``: by node and incarnation, its process's start, ns."""
    listed = list(events)
    outside = {_incarnation(each) for each in listed if each.kind == "start" and each.f == UNKNOWN}
    if not outside:
        return sorted(listed, key=lambda event: event.t)
    others = []
    rows: dict[str, dict[Incarnation, list[Event]]] = {kind: {} for kind in ("append", "dispatch", "start", "sync")}
    for each in listed:
        incarnation = _incarnation(each)
        if incarnation in outside and each.kind in rows:
            rows[each.kind].setdefault(incarnation, []).append(each)
        else:
            others.append(each)
    appends, dispatches, starts, syncs = rows.values()
    others += [one for steps in syncs.values() for one in settled(steps)]
    invoked = _invoked(others)
    seen = _seen(others, began, outside)
    put = {incarnation: _placed(those, seen[incarnation], invoked) for incarnation, those in appends.items()}
    placed = [one for those in put.values() for one in those]
    for each in placed:
        seen[_incarnation(each)].did.append(each.t)
    placed += [one for incarnation, those in dispatches.items() for one in _derived(those, put.get(incarnation, ()))]
    begun = [one._replace(t=min([one.t, *seen[its].did])) for its, those in starts.items() for one in those]
    # At equal times a start comes before its process's actions, an append before its observation: the sort is stable.
    return sorted([*begun, *placed, *others], key=lambda event: event.t)


def _incarnation(event: Event) -> Incarnation:
    return event.node or "", event.incarnation or 0


def _invoked(events: Iterable[Event]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in events:
        if each.kind == "invoke" and each.f == "send" and each.message is not None:
            found[each.message] = min(each.t, found.get(each.message, each.t))
    return found


def _seen(
    events: Iterable[Event], began: Mapping[Incarnation, int], incarnations: Iterable[Incarnation]
) -> dict[Incarnation, _Seen]:
    found = {incarnation: _Seen([], [], [], {}, []) for incarnation in incarnations}
    begun: dict[str, Times] = {}
    for (node, incarnation), since in sorted(began.items(), key=lambda item: item[1]):
        begun.setdefault(node, []).append((since, incarnation))
    for each in sorted(events, key=lambda event: event.t):
        lived = begun.get(each.node or "", [])
        number = bisect_right(lived, (each.t, NEVER))
        if number:
            seen = found.get((each.node or "", lived[number - 1][1]))
            if seen is not None:
                _saw(seen, each)
    return found


def _saw(seen: _Seen, event: Event) -> None:
    t, hi = event.t, event.hi or 0
    match event.kind:
        case "frame" if event.lo != event.hi:
            _reach(seen.frames, hi, t)
            if event.side == MASTERS_SIDE:
                seen.did.append(t)
        case "report" if event.side == SLAVES_SIDE:
            _reach(seen.reports, hi, t)
            seen.did.append(t)
        case "connect" if event.side == SLAVES_SIDE:
            seen.did.append(t)
        case "flush":
            _reach(seen.flushes, hi, t)
            seen.did.append(t)
        case "register" | "sync":
            seen.did.append(t)
        case "ok" | "deliver":
            seen.did.append(t)
            if event.lo is not None:
                seen.shown.setdefault(event.lo, t)


def _reach(times: Times, offset: int, t: int) -> None:
    if not times or offset > times[-1][0]:
        times.append((offset, t))


def _placed(rows: list[Event], seen: _Seen, invoked: Mapping[str, int]) -> list[Event]:
    bounds = [(_caused(each, seen, invoked), _latest(each, seen)) for each in rows]
    latest, ends = NEVER, []
    for _, upper in reversed(bounds):
        latest = min(latest, upper)
        ends.append(latest)
    found: list[Event] = []
    t = 0
    for each, (cause, _), upper in zip(rows, bounds, reversed(ends), strict=True):
        t = max(t, effects.dated(each.t, cause, upper))
        found.append(each._replace(t=t))
    return found


def _derived(rows: Iterable[Event], appends: Iterable[Event]) -> Iterator[Event]:
    """One incarnation's dispatches, at their earliest possible times."""
    ends = {each.hi: each.t for each in appends}
    t = 0
    for each in rows:
        t = max(t, each.t, ends.get(each.hi, 0))
        yield each._replace(t=t)


def _caused(append: Event, seen: _Seen, invoked: Mapping[str, int]) -> int:
    """Arrival of the frame, or start of the send, that caused this append."""
    if append.f == "replicate":
        return _first(seen.frames, bisect_left(seen.frames, (append.hi or 0, -1)), 0)
    return invoked.get(append.message or "", -1)


def _latest(append: Event, seen: _Seen) -> int:
    lo, hi = append.lo or 0, append.hi or 0
    if append.f == "replicate":
        told = _first(seen.reports, bisect_left(seen.reports, (hi, -1)), NEVER)
    else:
        told = _first(seen.frames, bisect_right(seen.frames, (lo, NEVER)), NEVER)
    flushed = _first(seen.flushes, bisect_left(seen.flushes, (hi, -1)), NEVER)
    return min(told, flushed, seen.shown.get(lo, NEVER))


def _first(times: Times, at: int, otherwise: int) -> int:
    return times[at][1] if at < len(times) else otherwise
