"""How far each slave's log is behind the master's, in bytes and in time, and how fast it catches up after a fault.

- A *lag* is measured at every append of the master, for each slave that has started: bytes between the two log ends
  just then, and the time until the slave's log holds that append. It stays open if the slave never got it; what the
  master itself lost again is left out. It is told under the faults that were going on in between.
- A *catch-up* is measured at the end of each fault that left a slave behind: bytes between the log ends then, and the
  time until the slave holds all that the master had then. Open, if it never did. Told under that fault, or under
  several if another one was going on, or began meanwhile.
- *Replicated* are the bytes that slaves appended, over the time from the master's first append to the slave's last.

A slave's log end counts as far as its bytes are the master's: after the master lost the end of its log, what the slave
holds beyond is a history of its own until it is cut there. Brokers that do not trace their appends (Java's) are
measured from outside: the master's log by the places that it answers to sends, a slave's by what it reports.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from pairproof.harness.history import Event
from pairproof.harness.rocketmq.places import MASTER, SLAVES
from pairproof.reports.traces.faults import Active, label, window

BY_LOG, BY_REPORT = "log", "reports"


class Replicated(NamedTuple):
    """What one slave appended in a trial."""

    seen: str
    """By its own trace (log), or by what it reported."""
    copies: int
    """1: the sums count them."""
    bytes: int
    span_ns: int


class Lag(NamedTuple):
    """One append of the master and one slave."""

    fault: str
    window: str
    bytes: int
    ns: int | None


class CatchUp(NamedTuple):
    """One end of a fault that left one slave behind."""

    fault: str
    bytes: int
    ns: int | None


class Rows(NamedTuple):
    """Of one trial."""

    replicated: list[Replicated]
    lags: list[Lag]
    catch_ups: list[CatchUp]


class _Waiting:
    """Something that a slave is to reach."""

    __slots__ = ("behind", "faults", "t", "target")

    def __init__(self, target: int, t: int, behind: int, faults: set[str]) -> None:
        self.target, self.t, self.behind, self.faults = target, t, behind, faults


class _Copy:
    """One slave's log, and what it has not reached."""

    def __init__(self) -> None:
        self.own = 0
        self.common: int | None = None
        """Where its bytes stop being the master's."""
        self.appends: deque[_Waiting] = deque()
        self.recoveries: list[_Waiting] = []
        self.bytes = 0
        self.last_ns: int | None = None

    @property
    def end(self) -> int:
        return self.own if self.common is None else min(self.own, self.common)

    def ends(self, at: int) -> None:
        self.own = at
        if self.common is not None and at <= self.common:
            self.common = None


class _Move(NamedTuple):
    """A log's end is elsewhere. ``grown``: bytes that were appended; None where it was set otherwise."""

    node: str
    end: int
    grown: int | None = None
    replaced: bool = False
    """By another store."""


def measure(events: Sequence[Event]) -> Rows:
    """Rows of one trial's events, which are in ``seq`` order."""
    logs = _Logs(events)
    for event in events:
        if event.kind == "fault":
            logs.fault(event)
        elif (move := logs.view.move(event)) is not None:
            logs.moved(move, event.t)
    return logs.rows()


class _View:
    """Reads log ends off events: by the nodes' traces, or from outside."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.traced = {event.node for event in events if event.kind == "append"}
        self.ends: dict[str, int] = {}
        self.peers: dict[str | None, str] = {}

    def move(self, event: Event) -> _Move | None:
        found = self._move(event)
        if found is not None:
            self.ends[found.node] = found.end
        return found

    def _move(self, event: Event) -> _Move | None:
        kind, node = event.kind, event.node or ""
        if kind == "connect":
            if event.f != "hostile" and node in SLAVES:
                self.peers[event.link] = node
        elif kind == "report":
            return self._reported(event)
        elif node != MASTER and node not in SLAVES:
            return None
        elif kind == "append" and event.hi is not None:
            return _Move(node, event.hi, event.hi - (event.lo or 0))
        elif kind == "ok" and event.f == "send" and node == MASTER and MASTER not in self.traced:
            end = event.hi if event.hi is not None else event.lo
            return _Move(node, end, end - self.ends.get(node, 0)) if end and end > self.ends.get(node, 0) else None
        elif kind in ("start", "wipe"):
            return _Move(node, event.hi, None, kind == "wipe") if event.hi is not None else None
        elif kind == "cut" and event.lo is not None:
            return _Move(node, event.lo)
        elif kind == "crash" and event.value:
            return _Move(node, max(0, self.ends.get(node, 0) - event.value))
        return None

    def _reported(self, event: Event) -> _Move | None:
        node = self.peers.get(event.link)
        if event.side != "s" or event.hi is None or node is None or node in self.traced:
            return None
        before = self.ends.get(node)
        # The first report tells where the log ended already.
        return _Move(node, event.hi, event.hi - before if before is not None and event.hi > before else None)


class _Logs:
    """Bounded by the appends, faults and slaves of one trial."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.view = _View(events)
        self.active = Active(events)
        self.master = 0
        self.began_ns: int | None = None
        self.copies: dict[str, _Copy] = {}
        self.found = Rows([], [], [])

    def fault(self, event: Event) -> None:
        if not self.active.hear(event):
            return
        if event.status == "on":
            for copy in self.copies.values():
                for each in (*copy.appends, *copy.recoveries):
                    each.faults.add(str(event.f))
            return
        for copy in self.copies.values():
            if (behind := self.master - copy.end) > 0:
                copy.recoveries.append(_Waiting(self.master, event.t, behind, {str(event.f), *self.active.names}))

    def moved(self, move: _Move, t: int) -> None:
        if move.node == MASTER:
            self._master_at(move, t)
            return
        copy = self.copies.setdefault(move.node, _Copy())
        copy.ends(move.end)
        if move.replaced and move.end > self.master:
            # What was the master's before a promotion is not the new master's.
            copy.common = self.master
        if move.grown is not None:
            copy.bytes += move.grown
            copy.last_ns = t
        self._settle(copy, t)

    def _master_at(self, move: _Move, t: int) -> None:
        if move.end < self.master:
            self._master_lost(move.end, t)
        self.master = move.end
        if move.grown is None:
            return
        self.began_ns = t if self.began_ns is None else self.began_ns
        for copy in self.copies.values():
            copy.appends.append(_Waiting(move.end, t, move.end - copy.end, set(self.active.names)))

    def _master_lost(self, end: int, t: int) -> None:
        for copy in self.copies.values():
            if copy.own > end:
                copy.common = end if copy.common is None else min(copy.common, end)
            copy.appends = deque(each for each in copy.appends if each.target <= end)
            for each in copy.recoveries:
                each.target = min(each.target, end)
            self._settle(copy, t)

    def _settle(self, copy: _Copy, t: int) -> None:
        while copy.appends and copy.appends[0].target <= copy.end:
            self.found.lags.append(_lag(copy.appends.popleft(), t))
        if copy.recoveries:
            for each in copy.recoveries:
                if each.target <= copy.end:
                    self.found.catch_ups.append(CatchUp(label(each.faults), each.behind, t - each.t))
            copy.recoveries = [each for each in copy.recoveries if each.target > copy.end]

    def rows(self) -> Rows:
        for node, copy in self.copies.items():
            self.found.lags.extend(_lag(each, None) for each in copy.appends)
            self.found.catch_ups.extend(CatchUp(label(each.faults), each.behind, None) for each in copy.recoveries)
            if copy.last_ns is not None and self.began_ns is not None:
                seen = BY_LOG if node in self.view.traced else BY_REPORT
                span = max(0, copy.last_ns - self.began_ns)
                self.found.replicated.append(Replicated(seen, 1, copy.bytes, span))
        return self.found


def _lag(each: _Waiting, t: int | None) -> Lag:
    took = None if t is None else t - each.t
    return Lag(label(each.faults), window(each.faults), max(0, each.behind), took)
