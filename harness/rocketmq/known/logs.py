"""Each node's log, from the history: its beginning and end, its durable part, and which slaves diverged.

A *diverged* slave holds bytes that the master lost. Neither side can detect this after the master has written past the
slave's end, so some promises end. They hold again after the slave's log is truncated below that point, or wiped. A
master that was such a slave is diverged, too: its log may be unreadable.

Bounded by the nodes, the truncations and the master's flushes of one trial. Source: CommitLog recovery.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from ...event_types.node import UNKNOWN, Crash, Start, Stop, Wipe
from ...history import Event
from ..event_types.log import Append, Commit, Cut, Expire, Flush
from ..topology import MASTER, OTHER
from .nodes import MACHINE
from .stores import promotes

if TYPE_CHECKING:
    from .model import Known


class Logs:
    def __init__(self, known: Known) -> None:
        self._known = known
        self.starts: dict[str, int] = {}
        self.ends: dict[str, int] = {}
        """Log start and end by the nodes' own trace; no key if unknown, no start of a slave without a log."""
        self.recovered: dict[str, int] = {}
        """A node's log end at its last start; no key if unknown."""
        self.changed: dict[str, Event] = {}
        """By node: the last event that may have changed its log."""
        self.committed: dict[str, int] = {}
        """By node with a transient store pool, where commits are recorded."""
        self.flushed: dict[str, int] = {}
        """The end up to which a node considers its log flushed, also after recovery; no key if unknown."""
        self.durable: dict[str, int] = {}
        """The end of a node's log that survives a power loss, as far as known."""
        self.flushes: list[tuple[int, int]] = []
        """For the master's current incarnation: (log end, ns) of each ended flush."""
        self.traced: set[str] = set()
        """Slaves whose appends are recorded."""
        self.by_records: set[str] = set()
        """Nodes whose logs are known by whole records: a frame may end inside one."""
        self.puts: list[Append] = []
        """All appends of the master, in order."""
        self.held: dict[str, list[Append]] = {}
        """The appends in each node's current log, in order."""
        self._put: dict[str | None, Append] = {}
        self.appended: dict[str, int] = {}
        """The highest end that a slave's log ever had."""
        self.diverged: dict[str, int] = {}
        """Diverged slaves, and the end of their bytes that are still the master's."""
        self.divergences = 0
        """How often a power loss of the master, and nothing worse, made a slave diverge."""
        self.incarnation = 0
        self._lost_power = False
        self._cuts: list[tuple[int, int]] = []
        self._promoted_at, self._is_promoted = 0, False
        """The beginning of the promoted slave's log (the highest of several); whether a promotion is in progress."""
        self._copied: dict[str, int] = {}
        """Slaves whose oldest files expired, and the earlier beginning of their logs."""

    def flushed_ns(self, offset: int) -> int | None:
        """When the master's log was first durable up to an offset, in its current incarnation; None if it was not."""
        return first_at(self.flushes, offset)

    def put(self, message: str | None) -> Append | None:
        """The master's append of a message; the first one, since a delayed message is put again."""
        return self._put.get(message)

    def is_longer(self, node: str) -> bool:
        """Whether a node's log begins before that of a promoted slave, which assigns its queue offsets again."""
        return not self._is_promoted and self.starts.get(node, self._promoted_at) < self._promoted_at

    def own_end(self, node: str) -> int | None:
        """A slave's log end by its own trace; None if unknown.

        An end of 0 is also unknown: the first heartbeat to an empty slave moves it without an append.
        """
        return (self.ends.get(node) or None) if node in self.traced and node not in self.by_records else None

    def log_end(self, node: str) -> int | None:
        """A node's log end; of a slave as :meth:`own_end`."""
        return self.ends.get(node) if node == MASTER else self.own_end(node)

    def recorded_end(self, node: str) -> int | None:
        """The end of its whole records, by its own trace or its files; None if unknown, as above."""
        end = self.ends.get(node)
        return end if node == MASTER else (end or None) if node in self.traced else None

    def readable(self, node: str, end: int) -> int:
        """How much of a node's log up to ``end`` can have left its transient store pool."""
        return min(end, self.committed.get(node, end)) if node in self._known.stores.pooled else end

    def readable_end(self, node: str, unknown: int) -> int:
        """The readable end of a node's log; ``unknown`` if no event shows the log's end."""
        return self.readable(node, self.ends.get(node, unknown))

    def common(self, node: str, hi: int) -> int:
        """How much of a slave's received bytes up to ``hi`` the master still has.

        Less than ``hi`` if the slave still reads from a connection to an earlier incarnation of the master, whose log
        was truncated since.
        """
        link = self._known.links.get(self._known.slave_link.get(node, ""))
        if link is None or link.incarnation == self.incarnation:
            return hi
        return min((end for incarnation, end in self._cuts if incarnation > link.incarnation and end < hi), default=hi)

    def is_of_two_logs(self, node: str, lo: int | None, hi: int | None) -> bool:
        """Whether a diverged node's bytes [lo, hi) may be of two logs: they lie above the common part, and no single
        append brought them.
        """
        if node not in self.diverged or lo is None or hi is None or hi <= self.diverged[node]:
            return False
        return not any(each.lo <= lo and hi <= each.hi for each in self.held.get(node, ()))

    def copied_from(self, node: str) -> int:
        """The beginning of a slave's log at its last start, or at the beginning of its copy."""
        return self._copied.get(node, self.starts.get(node, 0))

    def append(self, event: Append) -> None:
        node, hi = event.node, event.hi
        self.changed[node] = event
        self.held.setdefault(node, []).append(event)
        if node == MASTER:
            self.puts.append(event)
            if event.message is not None:
                self._put.setdefault(event.message, event)
        elif node != OTHER:
            self.traced.add(node)
            self.starts.setdefault(node, event.lo)
            if hi > self.appended.get(node, -1):
                self.appended[node] = hi
            if self._cuts and (common := self.common(node, hi)) < hi:
                self._diverge(node, common)
        self.ends[node] = hi

    def commit(self, event: Commit) -> None:
        self.committed[event.node] = event.upto

    def flush(self, event: Flush) -> None:
        node, upto = event.node, event.upto
        if upto > self.flushed.get(node, -1):
            self.flushed[node] = upto
        if upto > self.durable.get(node, 0):
            self.durable[node] = upto
        if node == MASTER:
            self.flushes.append((upto, event.t))

    def expired(self, event: Expire) -> None:
        """A log's oldest files are gone; the slave's report of its end also covers them."""
        node = event.node
        self.changed[node] = event
        self.held[node] = [each for each in self.held.get(node, ()) if each.lo >= event.new_start]
        self._copied.setdefault(node, self.starts.get(node, 0))
        self.starts[node] = event.new_start

    def started(self, event: Start, image: bool, lost_power: bool) -> None:
        """A node is up; its log end shows what it lost: perhaps everything, if it is unknown. ``image``: its store was
        an older image of itself.
        """
        node, end = event.node, event.hi
        self.changed[node] = event
        self._copied.pop(node, None)
        (self.by_records.add if event.f == UNKNOWN else self.by_records.discard)(node)
        if node == MASTER:
            self.incarnation += 1
            self.flushes.clear()
            if end is not None:
                self._recovered(end, image)
            elif image or lost_power:
                self._truncated(0)
        elif end is not None:
            if image:
                self._diverge_image(node, end)
            elif end <= self.diverged.get(node, -1):
                del self.diverged[node]
            if end > self.appended.get(node, -1):
                self.appended[node] = end
        if end is None:
            self.flushed.pop(node, None)
            self.durable.pop(node, None)
            self.recovered.pop(node, None)
            return
        self._shorten(node, end)
        self.ends[node] = self.flushed[node] = self.recovered[node] = end
        # RocketMQ regards what it recovered as flushed, without a flush; the reference flushes it.
        self.durable[node] = end if event.f != UNKNOWN else min(end, self.durable.get(node, 0))
        if "commit" in self._known.observes:
            self.committed[node] = end
        if end or node == MASTER:
            self.starts[node] = event.lo or 0
            if node == MASTER and self._is_promoted:
                self._promoted_at, self._is_promoted = max(self._promoted_at, event.lo or 0), False
        else:
            self.starts.pop(node, None)

    def cut(self, event: Cut) -> None:
        self.changed[event.node] = event
        self._shorten(event.node, event.new_end)

    def _shorten(self, node: str, end: int) -> None:
        held = self.held.get(node)
        while held and held[-1].lo >= end:
            held.pop()

    def ended(self, event: Crash | Stop, was_up: bool) -> None:
        """An orderly stop makes everything durable, unless a disturbance preceded it."""
        node = event.node
        self.changed[node] = event
        if node == MASTER:
            self._lost_power = event.f == MACHINE and event.status != "lied"
        if event.kind == "stop" and was_up:
            self.flushed[node] = self.durable[node] = self.ends.get(node, 0)

    def wiped(self, event: Wipe) -> None:
        """A slave's log was replaced; a master's next start shows its loss.

        The highest end of a slave's log stays, since its last reports may be in flight.
        """
        node = event.node
        self.changed[node] = event
        self.flushed.pop(node, None)
        self.durable.pop(node, None)
        self.held.pop(node, None)
        if node == MASTER:
            self._lost_power = False
            self._is_promoted |= promotes(event)
            if event.detail in self.diverged:
                self.diverged[MASTER] = self.diverged[event.detail]
            elif event.detail is not None or event.f == "empty":
                self.diverged.pop(MASTER, None)
        else:
            for each in (self.ends, self.starts, self.diverged, self._copied):
                each.pop(node, None)

    def _recovered(self, end: int, image: bool) -> None:
        if image:
            end = self._never_cut(end)
        elif end >= self.ends.get(MASTER, 0):
            return
        self._truncated(end)

    def _truncated(self, end: int) -> None:
        self._cuts.append((self.incarnation, end))
        self._known.coverage.cut(end)
        claimed = self._known.claimed
        for node in {*self.traced, *claimed}:
            held = self.ends.get(node, 0) if node in self.traced else claimed[node]
            if node in self.by_records:
                held = max(held, claimed.get(node, 0))
            if held > end:
                self._diverge(node, end)

    def _never_cut(self, end: int) -> int:
        """How much of an older image certainly has not diverged: the part below every truncation of the master's
        log.
        """
        return min((end, *(cut for _, cut in self._cuts)))

    def _diverge_image(self, node: str, end: int) -> None:
        common = self._never_cut(end)
        if common < end:
            self._diverge(node, common)

    def _diverge(self, node: str, common: int) -> None:
        self.divergences += self._lost_power and node not in self.diverged
        self.diverged[node] = min(common, self.diverged.get(node, common))


def first_at(steps: list[tuple[int, int]], offset: int) -> int | None:
    """When the first of ``steps``, (offset, ns) in ascending order, reached ``offset``."""
    at = bisect_left(steps, (offset,))
    return steps[at][1] if at < len(steps) else None
