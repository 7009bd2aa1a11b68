"""When and where a trial was in trouble: faults by place, nodes that stood still or were down.

A *place* is a node's or a link's name, as fault events carry it; a fault that names neither concerns the place "", and
one at every link of a node concerns that node and each of them. Laws with a bound ask here whether anything excuses a
delay: a node that a fault pauses or that is down owes nothing for that time, and a promise about a healthy link is
judged only where no fault touched that link meanwhile. A node with a fault at every link of it stands still, too, for
whoever looks from outside: what reaches the last observer before it need not reach it, and nothing of it is heard.

A *stall* is trouble of the machine that the lab runs on: the lab noticed that a process was late for a reason that the
lab had not made. What else became late by it nobody can tell, so a stall concerns every place.

Left out: what a fault does. Nothing here knows a fault by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..event_types.machine import Fault, Stall
from ..history import Event

Span = tuple[int, int]
EVERY_LINK = "all"
"""In a link's place: every link of the node that is named beside it."""
SHORT_NS = 5_000_000_000
LONG = 50
STALLED = "the machine stalled"
"""How each doubt begins whose reason is a stall."""
AFTER_NS = 500_000_000
"""How long after a stall what has piled up meanwhile may still be late."""

_NOWHERE: frozenset[str] = frozenset()


class Disturbances:
    """Bounded by the faults, pauses and crashes of one trial. ``links_of``: names of a node's links."""

    def __init__(self, links_of: Callable[[str], frozenset[str]] = lambda node: frozenset()) -> None:
        self._links_of = links_of
        self.active: dict[int | None, Fault] = {}
        """Faults that are going on, by number."""
        self._touched: dict[int | None, frozenset[str]] = {}
        self.ended: dict[str, int] = {}
        """Per place: when its last fault ended, ns."""
        self.woke: dict[str, int] = {}
        """When nodes that stood still last went on, ns."""
        self._still: dict[str, int] = {}
        """Since when nodes stand still, ns."""
        self._holds: dict[str, set[int | None]] = {}
        """What has them stand still: None for a pause or the node's end, otherwise faults by number."""
        self._spans: dict[str, list[Span]] = {}
        self._stalls: list[tuple[int, Stall]] = []
        """In the order in which they began; before each: the last moment that it, or one before it, concerns, ns."""

    # What the model tells.

    def fault(self, event: Fault) -> None:
        """A fault began or ended."""
        if event.status == "on":
            self.active[event.number] = event
            self._touched[event.number] = self.touched(event)
            if event.link == EVERY_LINK:
                self.pause(event.node or "", event.t, event.number)
        else:
            self.active.pop(event.number, None)
            self._touched.pop(event.number, None)
            self.ended.update(dict.fromkeys(self.touched(event), event.t))
            if event.link == EVERY_LINK:
                self.resume(event.node or "", event.t, event.number)

    def stalls(self, event: Stall) -> None:
        """The machine is late from now on, for a time that is known already."""
        ends = event.t + event.lasted_ns + AFTER_NS
        self._stalls.append((max(ends, self._stalls[-1][0]) if self._stalls else ends, event))

    def pause(self, node: str, t: int, fault: int | None = None) -> None:
        """A node stands still; ``fault``: the number of one at every link of it."""
        self._still.setdefault(node, t)
        self._holds.setdefault(node, set()).add(fault)

    def resume(self, node: str, t: int, fault: int | None = None) -> None:
        """It goes on, unless something else has it stand still."""
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

    # What laws ask.

    def touched(self, fault: Event) -> frozenset[str]:
        """The places that a fault concerns."""
        node = fault.node or ""
        if fault.link == EVERY_LINK:
            return self._links_of(node) | {node}
        return frozenset((node or fault.link or "",))

    def is_quiet(self, place: str, since: int) -> bool:
        """Whether no fault has touched this place since ``since`` (ns), nor touches it now."""
        if self.ended.get(place, -1) >= since:
            return False
        return all(place not in each for each in self._touched.values())

    def is_undisturbed(self, since: int, *where: str) -> bool:
        """Whether these places are quiet since then (ns), and none of them is a node that has stood still."""
        ended, woke = self.ended, self.woke
        if any(ended.get(place, -1) >= since or woke.get(place, since) > since for place in where):
            return False
        return not self.is_struck(*where)

    def undisturbed_since(self, *where: str) -> int:
        """When a fault at one of these places last ended, or one of them went on, ns; see :meth:`is_struck`, too."""
        return max(0, *(times.get(place, 0) for times in (self.ended, self.woke) for place in where))

    def is_calm(self, since: int, now: int, *where: str) -> bool:
        """Whether these places are quiet since then, and the machine was punctual."""
        return self.stall(since, now) is None and all(self.is_quiet(place, since) for place in where)

    def is_struck(self, *where: str) -> bool:
        """Whether a fault acts on one of these places now, or one of them is a node that stands still."""
        if any(place in self._still for place in where):
            return True
        return any(not each.isdisjoint(where) for each in self._touched.values())

    def struck(self) -> frozenset[str]:
        """All places on which a fault acts now, and the nodes that stand still."""
        if not self._touched and not self._still:
            return _NOWHERE
        return _NOWHERE.union(self._still, *self._touched.values())

    def is_still(self, node: str) -> bool:
        """Whether a node is paused or down now."""
        return node in self._still

    def stall(self, since: int, until: int) -> Stall | None:
        """The longest stall that concerns a time between the two; None if the machine was punctual, or punctual enough.

        In a time of up to :data:`SHORT_NS` every stall counts, in a longer one a fiftieth of it: bounds that are so far
        away allow for much more.
        """
        met = self._met(since, until)
        if until - since > max(SHORT_NS, _length(met, since, until) * LONG):
            return None
        return max(met, key=lambda stall: stall.lasted_ns, default=None)

    def stalled_ns(self, since: int, until: int) -> int:
        """For how long between the two some process was late, or had just been."""
        return _length(self._met(since, until), since, until, AFTER_NS)

    def _met(self, since: int, until: int) -> list[Stall]:
        """Stalls that concern a time between the two, the last first."""
        met: list[Stall] = []
        for reach, stall in reversed(self._stalls):
            if reach < since:
                break
            if stall.t <= until and stall.t + stall.lasted_ns + AFTER_NS >= since:
                met.append(stall)
        return met

    def punctual(self, since: int, until: int) -> int:
        """``since``, or the moment at which the first of the stalls began that reach from there up to ``until``."""
        for reach, stall in reversed(self._stalls):
            if reach < since:
                break
            if stall.t <= until and stall.t + stall.lasted_ns + AFTER_NS >= since:
                since = min(since, stall.t)
        return since

    def still_ns(self, node: str, since: int, until: int) -> int:
        """For how long between the two a node was paused or down."""
        total = 0
        for lo, hi in reversed(self._spans.get(node, ())):
            if hi <= since:
                break
            # It may have begun after both: laws ask of times long past, too.
            total += max(0, min(hi, until) - max(lo, since))
        if node in self._still:
            total += max(0, until - max(self._still[node], since))
        return total


def _length(met: Sequence[Stall], since: int, until: int, after: int = 0) -> int:
    """Of stalls, the last first, and what comes after each, up to ``until``: late at the same time is late once."""
    total, upto = 0, since - AFTER_NS
    for stall in reversed(met):
        ends = min(stall.t + stall.lasted_ns + after, until)
        total += max(0, ends - max(stall.t, upto))
        upto = max(upto, ends)
    return total


def doubted(stall: Stall, what: str) -> str:
    """What nobody knows, because of a stall."""
    return f"{STALLED} ({stall.told()}), so it is unknown: {what}"
