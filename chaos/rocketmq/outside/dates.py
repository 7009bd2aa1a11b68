"""When the appends and starts that were seen from outside happened: in an order that could have been true.

A record's row is dated by its store timestamp (a master's: whole milliseconds of the wall clock) or by when it was read
(a slave's: a few milliseconds late, or more where the lab was busy). Others saw it, too, and on the one clock of the
history. A master has a record

- not before its send began, and not before the record in front of it,
- no later than the first frame leaves that reaches beyond its start, than the producer has its answer, than a reader
  has it, or than it is flushed, where its process traces that.

A slave has it

- not before a frame that reaches its end has arrived,
- no later than a report that covers it leaves, than a reader has it, or than it is flushed.

Each of these counts only within the life of the process that wrote the record. Where both ends contradict each other
the later one is believed: it is what somebody saw. A record that nobody asked for (a delayed message's second one, what
the broker writes for itself) has no earliest moment but its predecessor's, and one that never left its broker no latest
but its row's own.

A ``dispatch`` row is dated when the queues were last seen without it, which is earlier than anybody was shown it; it
comes after the append of what it reaches, and after the one before it.

A start is no later than anything that its process did: a broker says late that it serves. Steps of a sync:
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
"""Offsets, rising, and when each was reached first, ns."""


class _Seen(NamedTuple):
    """What others saw of one process."""

    frames: Times
    """Data frames that left it, or reached it."""
    reports: Times
    """Its reports."""
    flushes: Times
    shown: dict[int, int]
    """By a record's start: when its producer or a reader had it."""
    did: list[int]
    """When it did anything that shows that it had started."""


def dated(events: Iterable[Event], born: Mapping[Incarnation, int]) -> list[Event]:
    """Events in order of time, see the module. ``born``: by node and incarnation, when its process began, ns."""
    listed = list(events)
    outside = {_life(each) for each in listed if each.kind == "start" and each.f == UNKNOWN}
    if not outside:
        return sorted(listed, key=lambda event: event.t)
    starts, others = [], []
    appends, dispatches, syncs = (
        dict[Incarnation, list[Event]](),
        dict[Incarnation, list[Event]](),
        dict[Incarnation, list[Event]](),
    )
    for each in listed:
        life = _life(each)
        if life in outside and each.kind == "append":
            appends.setdefault(life, []).append(each)
        elif life in outside and each.kind == "dispatch":
            dispatches.setdefault(life, []).append(each)
        elif life in outside and each.kind == "start":
            starts.append(each)
        elif life in outside and each.kind == "sync":
            syncs.setdefault(life, []).append(each)
        else:
            others.append(each)
    others += [one for steps in syncs.values() for one in settled(steps)]
    invoked = _invoked(others)
    seen = _seen(others, born, outside)
    put = {life: _placed(rows, seen[life], invoked) for life, rows in appends.items()}
    placed = [one for rows in put.values() for one in rows]
    for each in placed:
        seen[_life(each)].did.append(each.t)
    placed += [one for life, rows in dispatches.items() for one in _derived(rows, put.get(life, ()))]
    starts = [each._replace(t=min([each.t, *seen[_life(each)].did])) for each in starts]
    # At equal times a start stands before what its process did, an append before who saw it: the sort is stable.
    return sorted([*starts, *placed, *others], key=lambda event: event.t)


def _life(event: Event) -> Incarnation:
    return event.node or "", event.incarnation or 0


def _invoked(events: Iterable[Event]) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in events:
        if each.kind == "invoke" and each.f == "send" and each.message is not None:
            found[each.message] = min(each.t, found.get(each.message, each.t))
    return found


def _seen(
    events: Iterable[Event], born: Mapping[Incarnation, int], lives: Iterable[Incarnation]
) -> dict[Incarnation, _Seen]:
    found = {life: _Seen([], [], [], {}, []) for life in lives}
    begun: dict[str, Times] = {}
    for (node, incarnation), since in sorted(born.items(), key=lambda item: item[1]):
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
    """One life's appends, in the log's order, with the times that they may have."""
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
    """One life's dispatches, no earlier than they can have been."""
    ends = {each.hi: each.t for each in appends}
    t = 0
    for each in rows:
        t = max(t, each.t, ends.get(each.hi, 0))
        yield each._replace(t=t)


def _caused(append: Event, seen: _Seen, invoked: Mapping[str, int]) -> int:
    """When the frame arrived, or the send began, that caused this."""
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
