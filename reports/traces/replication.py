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

from ...harness.history import Event
from ...harness.kinds.client import Ok
from ...harness.kinds.machine import Fault
from ...harness.kinds.node import Crash, Start, Wipe
from ...harness.rocketmq.kinds.ha import Connect, Report
from ...harness.rocketmq.kinds.log import Append, Cut
from ...harness.rocketmq.known.kept import Kept, Log
from ...harness.rocketmq.known.replay import Reader
from ...harness.rocketmq.places import MASTER, NODES, SLAVES
from .faults import Active, label, window

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
    """What one slave's log has not reached, and what was appended to it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.appends: deque[_Waiting] = deque()
        self.recoveries: list[_Waiting] = []
        self.bytes = 0
        self.last_ns: int | None = None


def measure(events: Sequence[Event]) -> Rows:
    """Rows of one trial's events, which are in ``seq`` order."""
    return _Measured(events).read(events).rows()


class _Measured(Reader):
    """Bounded by the appends, faults and slaves of one trial. Log ends are read off the nodes' traces, or from
    outside."""

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.traced = {event.node for event in events if event.kind == "append"}
        self.peers: dict[str, str] = {}
        self.kept = Kept()
        self.active = Active(events)
        self.began_ns: int | None = None
        self.copies: dict[str, _Copy] = {}
        self.found = Rows([], [], [])

    def on_append(self, event: Append) -> None:
        if event.node in NODES:
            self.kept.append(event)
            self._grown(event.node, event.hi - event.lo, event.t)

    def on_start(self, event: Crash | Cut | Start | Wipe) -> None:
        if event.node in NODES:
            before = self.kept.end()
            if self.kept.move(event):
                self._moved(event.node, before, event.t)

    on_crash = on_cut = on_wipe = on_start

    def on_ok(self, event: Ok) -> None:
        if event.f == "send" and event.node == MASTER and MASTER not in self.traced:
            end = event.lo if event.hi is None else event.hi
            if end and (grown := end - self.kept.end()) > 0:
                self.kept.set(MASTER, end)
                self._grown(MASTER, grown, event.t)

    def on_connect(self, event: Connect) -> None:
        if event.f != "hostile" and event.node in SLAVES:
            self.peers[event.link] = event.node

    def on_report(self, event: Report) -> None:
        node, end = self.peers.get(event.link), event.offset
        if event.side != "s" or node is None or node in self.traced:
            return
        # The first report tells where the log ended already.
        before = self.kept.end(node) if node in self.kept.logs else end
        self.kept.set(node, end)
        if end > before:
            self._grown(node, end - before, event.t)
        else:
            self._moved(node, self.kept.end(), event.t)

    def on_fault(self, event: Fault) -> None:
        if not self.active.hear(event):
            return
        if event.status == "on":
            for copy in self.copies.values():
                for each in (*copy.appends, *copy.recoveries):
                    each.faults.add(str(event.f))
            return
        for copy in self.copies.values():
            if (behind := self.kept.end() - copy.log.reach) > 0:
                copy.recoveries.append(_Waiting(self.kept.end(), event.t, behind, {str(event.f), *self.active.names}))

    def _moved(self, node: str, before: int, t: int) -> None:
        """A log ends elsewhere; ``before``: where the master's did."""
        if node != MASTER:
            self._settle(self._copy(node), t)
        elif (end := self.kept.end()) < before:
            for copy in self.copies.values():
                copy.appends = deque(each for each in copy.appends if each.target <= end)
                for each in copy.recoveries:
                    each.target = min(each.target, end)
                self._settle(copy, t)

    def _grown(self, node: str, grown: int, t: int) -> None:
        """Bytes were appended."""
        if node != MASTER:
            copy = self._copy(node)
            copy.bytes += grown
            copy.last_ns = t
            self._settle(copy, t)
            return
        self.began_ns = t if self.began_ns is None else self.began_ns
        end = self.kept.end()
        for copy in self.copies.values():
            copy.appends.append(_Waiting(end, t, end - copy.log.reach, set(self.active.names)))

    def _copy(self, node: str) -> _Copy:
        return self.copies.get(node) or self.copies.setdefault(node, _Copy(self.kept.logs[node]))

    def _settle(self, copy: _Copy, t: int) -> None:
        while copy.appends and copy.appends[0].target <= copy.log.reach:
            self.found.lags.append(_lag(copy.appends.popleft(), t))
        if copy.recoveries:
            for each in copy.recoveries:
                if each.target <= copy.log.reach:
                    self.found.catch_ups.append(CatchUp(label(each.faults), each.behind, t - each.t))
            copy.recoveries = [each for each in copy.recoveries if each.target > copy.log.reach]

    def rows(self) -> Rows:
        for node, copy in self.copies.items():
            self.found.lags.extend(_lag(each, None) for each in copy.appends)
            self.found.catch_ups.extend(CatchUp(label(each.faults), each.behind, None) for each in copy.recoveries)
            if copy.last_ns is not None and self.began_ns is not None:
                seen = BY_LOG if node in self.traced else BY_REPORT
                span = max(0, copy.last_ns - self.began_ns)
                self.found.replicated.append(Replicated(seen, 1, copy.bytes, span))
        return self.found


def _lag(each: _Waiting, t: int | None) -> Lag:
    took = None if t is None else t - each.t
    return Lag(label(each.faults), window(each.faults), max(0, each.behind), took)
