"""Disturbances of a trial, by time and target: faults, and nodes that were paused or down.

A *target* is a node's or a link's name, as in fault events; a fault with neither has the target "". A fault at every
link of a node affects that node and each of its links. Laws with a time limit ask here whether a disturbance excuses a
delay: no deadline runs for a paused or ended node, and a promise about a healthy link is judged only if no fault
affected it. A fully isolated node is indistinguishable from a stopped one: bytes that have passed the last observer may
not reach it, and its output is not observed.

A *stall* is a disturbance of the lab's machine: a process was late without a cause in the lab. Since its other effects
are unknown, a stall affects every target.

Left out: the effects of faults. No fault is known here by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..event_types.machine import Fault, Stall
from ..history import Event

Span = tuple[int, int]
EVERY_LINK = "all"
"""The link of a fault at every link of its node."""
SHORT_NS = 5_000_000_000
LONG = 50
STALLED = "the machine stalled"
"""The first words of a doubt that is due to a stall."""
AFTER_NS = 500_000_000
"""How long after a stall the accumulated work may still be late."""

_NOWHERE: frozenset[str] = frozenset()


class Disturbances:
    """Bounded by the faults, pauses and crashes of one trial. ``links_of``: names of a node's links."""

    def __init__(self, links_of: Callable[[str], frozenset[str]] = lambda node: frozenset()) -> None:
        self._links_of = links_of
        self.active: dict[int | None, Fault] = {}
        self._affected: dict[int | None, frozenset[str]] = {}
        self.ended: dict[str, int] = {}
        """By target: the end of its last fault, ns."""
        self.woke: dict[str, int] = {}
        """By node: the end of its last pause or downtime, ns."""
        self._still: dict[str, int] = {}
        """By paused or ended node: the beginning, ns."""
        self._holds: dict[str, set[int | None]] = {}
        """By paused or ended node: the reasons. None is a pause or the node's end; others are numbers of faults."""
        self._spans: dict[str, list[Span]] = {}
        self._stalls: list[tuple[int, Stall]] = []
        """In order of their beginnings; before each the last moment that it, or an earlier one, affects, ns."""

    def fault(self, event: Fault) -> None:
        if event.status == "on":
            self.active[event.number] = event
            self._affected[event.number] = self.affected(event)
            if event.link == EVERY_LINK:
                self.pause(event.node or "", event.t, event.number)
        else:
            self.active.pop(event.number, None)
            self._affected.pop(event.number, None)
            self.ended.update(dict.fromkeys(self.affected(event), event.t))
            if event.link == EVERY_LINK:
                self.resume(event.node or "", event.t, event.number)

    def stalls(self, event: Stall) -> None:
        """The machine is late from now on, for a duration that the event has."""
        ends = event.t + event.lasted_ns + AFTER_NS
        self._stalls.append((max(ends, self._stalls[-1][0]) if self._stalls else ends, event))

    def pause(self, node: str, t: int, fault: int | None = None) -> None:
        """A node is paused or ended; ``fault``: the number of a fault at all of its links."""
        self._still.setdefault(node, t)
        self._holds.setdefault(node, set()).add(fault)

    def resume(self, node: str, t: int, fault: int | None = None) -> None:
        holds = self._holds.get(node, set())
        holds.discard(fault)
        since = self._still.get(node)
        if since is None or holds:
            return
        del self._still[node]
        self.woke[node] = t
        if t > since:
            self._spans.setdefault(node, []).append((since, t))

    down = pause
    up = resume

    def affected(self, fault: Event) -> frozenset[str]:
        node = fault.node or ""
        if fault.link == EVERY_LINK:
            return self._links_of(node) | {node}
        return frozenset((node or fault.link or "",))

    def is_unaffected(self, place: str, since: int) -> bool:
        """Whether no fault has affected this target since ``since`` (ns)."""
        if self.ended.get(place, -1) >= since:
            return False
        return all(place not in each for each in self._affected.values())

    def is_undisturbed(self, since: int, *where: str) -> bool:
        """Whether no fault has affected these targets since then (ns), and none is a node that was paused or down."""
        ended, woke = self.ended, self.woke
        if any(ended.get(place, -1) >= since or woke.get(place, since) > since for place in where):
            return False
        return not self.is_disturbed(*where)

    def undisturbed_since(self, *where: str) -> int:
        """The end of the last fault, pause or downtime of these targets, ns; see also :meth:`is_disturbed`."""
        return max(0, *(times.get(place, 0) for times in (self.ended, self.woke) for place in where))

    def undisturbed_and_punctual(self, since: int, now: int, *where: str) -> bool:
        """Whether no fault has affected these targets since then, and the machine was punctual."""
        return self.stall(since, now) is None and all(self.is_unaffected(place, since) for place in where)

    def is_disturbed(self, *where: str) -> bool:
        """Whether a fault affects one of these targets now, or one is a node that is paused or down."""
        if any(place in self._still for place in where):
            return True
        return any(not each.isdisjoint(where) for each in self._affected.values())

    def disturbed(self) -> frozenset[str]:
        """All targets that a fault affects now, and the nodes that are paused or down."""
        if not self._affected and not self._still:
            return _NOWHERE
        return _NOWHERE.union(self._still, *self._affected.values())

    def is_unavailable(self, node: str) -> bool:
        return node in self._still

    def stall(self, since: int, until: int) -> Stall | None:
        """The longest stall that affects a time between the two; None if the machine was punctual, or punctual enough.

        Up to :data:`SHORT_NS` every stall counts; in a longer interval stalls count if they fill a fiftieth of it in
        total, since longer limits are generous.
        """
        met = self._met(since, until)
        if until - since > max(SHORT_NS, _length(met, since, until) * LONG):
            return None
        return max(met, key=lambda stall: stall.lasted_ns, default=None)

    def stalled_ns(self, since: int, until: int) -> int:
        """How long some process was late, or had just been late, between the two."""
        return _length(self._met(since, until), since, until, AFTER_NS)

    def _met(self, since: int, until: int) -> list[Stall]:
        """Stalls that affect a time between the two, the last first."""
        met: list[Stall] = []
        for reach, stall in reversed(self._stalls):
            if reach < since:
                break
            if stall.t <= until and stall.t + stall.lasted_ns + AFTER_NS >= since:
                met.append(stall)
        return met

    def punctual(self, since: int, until: int) -> int:
        """``since``, or the beginning of the first stall of a sequence that lasts from ``since`` until ``until``."""
        for reach, stall in reversed(self._stalls):
            if reach < since:
                break
            if stall.t <= until and stall.t + stall.lasted_ns + AFTER_NS >= since:
                since = min(since, stall.t)
        return since

    def unavailable_ns(self, node: str, since: int, until: int) -> int:
        """How long a node was paused or down between the two, ns."""
        total = 0
        for lo, hi in reversed(self._spans.get(node, ())):
            if hi <= since:
                break
            # It may have begun after both: laws also ask about earlier times.
            total += max(0, min(hi, until) - max(lo, since))
        if node in self._still:
            total += max(0, until - max(self._still[node], since))
        return total


def _length(met: Sequence[Stall], since: int, until: int, after: int = 0) -> int:
    """The total time of stalls (the last first) and their aftermath, until ``until``; overlaps count once."""
    total, upto = 0, since - AFTER_NS
    for stall in reversed(met):
        ends = min(stall.t + stall.lasted_ns + after, until)
        total += max(0, ends - max(stall.t, upto))
        upto = max(upto, ends)
    return total


def doubted(stall: Stall, what: str) -> str:
    """The text of a doubt that is due to a stall."""
    return f"{STALLED} ({stall.describe()}), so it is unknown: {what}"
