"""``queue-whole-records``: a record is dispatched only when all its bytes are in the log, and within a second of that;
queues that a fault has held up catch up within two.

Checks:
- By trace or queue files: the dispatched offset is within the log, at the end of a record or a file, and not above what
  a transient store pool has committed; a whole record is dispatched within a second in which the node could work, and
  the time in such a pool.
- By audits: the queues contain the log's first to last record, up to the dispatched offset, or all records after a
  second without new ones.
- During a fault that affects the node (such as a full disk), a stop or a pause, queues may lag. They have caught up two
  seconds after the last fault, even without new records.
Abstains when:
- A lying disk lost a part of the queues undetectably (:mod:`pairproof.harness.rocketmq.known.lost_undetected`).
- The slave diverged (see ``logs``).
- For promptness: the record was there at a start (audits still check it), or with SYNC_FLUSH from 5.0 on, where only
  flushed bytes are dispatched.
- The record is a half message, which no queue has.
Source: DefaultMessageStore.ReputMessageService.
"""

from bisect import bisect_right
from typing import NamedTuple

from ....event_types.machine import Fault
from ....event_types.node import Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.log import Append, Audit, Dispatch, Entries, Expire, Record
from ...known.circumstances import DIVERGED, LOST_UNDETECTED
from ...known.deadlines import spent_ns
from ...law import Law
from ...settings import DEFAULTS, line
from ...topology import MASTER

WITHIN_NS = 1_000 * MS
CATCH_UP_NS = 2_000 * MS
"""After a fault: a broker with a full disk may check only once a second whether there is space."""


class Reach(NamedTuple):
    """A queue's first and last offset in a log, and the log offset after the last record."""

    first: int
    last: int
    hi: int


class QueueWholeRecords(Law):
    needs = frozenset({"append", "dispatch", "record", "entries", "audit"})
    timed = True

    def begin(self) -> None:
        self.boundaries: set[int] = set()
        self.ends: list[int] = []
        """The ends of the records in its present log, ascending."""
        self.pending: dict[str, list[tuple[int, int]]] = {}
        """By node: end and arrival (ns) of each whole record that is not dispatched."""
        self.audit: int | None = None
        self.due: dict[str, tuple[int, Event]] = {}
        """By node, in the present audit: the log offset that its queues must reach."""

    def _dispatches_flushed_only(self, node: str) -> bool:
        settings = self.known.config.get(node, DEFAULTS)
        return settings.get("flushDiskType") == "SYNC_FLUSH" and line(settings).since >= (5,)

    def on_append(self, event: Append) -> None:
        node, hi = event.node, event.hi
        if node == MASTER:
            self.boundaries.add(hi)
            if event.f != "put":
                return
            self.ends.append(hi)
        elif node in self.known.logs.diverged:
            return
        # A stopping node no longer traces its dispatch.
        if node not in self.known.up:
            return
        at = bisect_right(self.ends, hi)
        if at and self.ends[at - 1] > event.lo and not self._dispatches_flushed_only(node):
            self.pending.setdefault(node, []).append((self.ends[at - 1], event.t))

    def on_dispatch(self, event: Dispatch) -> None:
        node, hi = event.node, event.upto
        if node not in self.known.up:
            return
        if node in self.known.logs.diverged:
            return
        end = self.known.logs.recorded_end(node)
        if end is None:
            return
        self.judged += 1
        if hi > end:
            self.violate(event, f"{node} dispatched up to {hi}; its log ends at {end}", since=None)
        elif hi > (end := self.known.logs.readable(node, end)):
            self.violate(event, f"{node} dispatched up to {hi}; it had committed up to {end}", since=None)
        elif self._is_inside(node, hi):
            self.violate(event, f"{node} dispatched up to {hi}, in the middle of a record", since=None)
        pending = self.pending.get(node)
        if pending:
            self._dispatched(node, pending, hi, event)

    def _is_inside(self, node: str, offset: int) -> bool:
        if not self.boundaries or offset in self.boundaries:
            return False
        return offset % self.known.setting(node, "mappedFileSizeCommitLog") != 0

    def _dispatched(self, node: str, pending: list[tuple[int, int]], reached: int, event: Event) -> None:
        first, since = pending[0]
        if first > reached:
            return
        if pending[-1][0] <= reached:
            pending.clear()
        else:
            pending[:] = [each for each in pending if each[0] > reached]
        if event.t - since > WITHIN_NS:
            self._is_late(node, first, since, event)

    def _is_late(self, node: str, hi: int, since: int, event: Event) -> bool:
        """Report a record that has been whole since ``since``, if it is late; return whether it is."""
        began, within = self._period(node, since)
        took = spent_ns(self.known, node, began, event.t)
        if took <= within or not self._is_free(node, began) or node in self.known.logs.diverged:
            return False
        when = "" if began == since else " after the last fault there"
        what = f"{node} had the record that ends at {hi} for {took / MS:.0f} ms{when}, but it was in no queue"
        self.violate(event, what, since=began)
        return True

    def _period(self, node: str, since: int) -> tuple[int, int]:
        """The begin and length of the period in which a node must dispatch a record, ns."""
        ended = self.known.disturbances.ended.get(node, -1)
        began, within = (since, WITHIN_NS) if ended < since else (ended, CATCH_UP_NS)
        return began, within + self.known.pool_ns(node)

    def _is_free(self, node: str, began: int) -> bool:
        disturbances = self.known.disturbances
        return disturbances.is_unaffected(node, began if disturbances.ended.get(node, -1) < began else began + 1)

    def on_start(self, event: Start) -> None:
        node, hi = event.node, event.hi or 0
        if node == MASTER:
            del self.ends[bisect_right(self.ends, hi) :]
            # A process killed during its last write could not trace it.
            self.boundaries.add(hi)

    def on_crash(self, event: Crash | Stop) -> None:
        node = event.node
        self._check_overdue(node, event)
        self.pending.pop(node, None)

    on_stop = on_crash

    def on_expire(self, event: Expire) -> None:
        node, lo = event.node, event.new_start
        self.pending[node] = [each for each in self.pending.get(node, ()) if each[0] > lo]

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """An older state may have another history: its records' ends are unknown."""
        self.ends.clear()

    def on_fault(self, event: Fault) -> None:
        if event.status == "on" and event.node is not None:
            self._check_overdue(event.node, event)

    def _check_overdue(self, node: str, event: Event) -> None:
        pending = self.pending.get(node)
        if pending and self._is_late(node, *pending[0], event):
            pending.clear()

    def on_record(self, event: Record | Entries) -> None:
        if event.audit != self.audit:
            self._check_audit(event.audit)

    on_entries = on_record

    def on_audit(self, event: Audit) -> None:
        if event.f == "compare":
            return
        if event.number != self.audit:
            self._check_audit(event.number)
        known, node = self.known, event.node
        if event.status != "whole" or node not in known.up or self.abstains(event, DIVERGED, LOST_UNDETECTED):
            return
        began, within = self._period(node, known.dispatched.grown.get(node, 0))
        rested = spent_ns(known, node, began, event.t) > within
        if rested and self._is_free(node, began) and known.disturbances.stall(began, event.t) is None:
            self.due[node] = (event.hi, event)
        elif node in known.dispatched.reached:
            self.due[node] = (known.dispatched.reached[node], event)

    def _check_audit(self, following: int | None) -> None:
        """End the present audit, at the first event of the next one."""
        listings = self.known.audits.last
        if any(listings[node].entries for node in self.due):
            for node, (upto, seen) in self.due.items():
                self._judge(node, upto, seen)
        self.audit, self.due = following, {}

    def _judge(self, node: str, upto: int, seen: Event) -> None:
        """Compare a node's queues with its log, except queues whose last record ends after ``upto``."""
        listing, reaches = self.known.audits.last[node], dict[str, Reach]()
        for each in listing.records:
            offset, known = each.queue_offset or 0, reaches.get(each.queue)
            reaches[each.queue] = Reach(offset if known is None else known.first, offset, each.hi or 0)
        for queue, listed in reaches.items():
            if listed.hi > upto:
                continue
            self.judged += 1
            entries = listing.entries.get(queue)
            if entries is None:
                what = f"{node} has no queue {queue}; its log holds offsets {listed.first} to {listed.last}"
                self.violate(seen, what, since=None)
            elif (entries.lo or 0) > listed.first or (entries.hi or 0) <= listed.last:
                held = f"[{entries.lo}, {entries.hi})"
                what = f"{node}'s queue {queue} holds {held}, its log offsets {listed.first} to {listed.last}"
                self.violate(entries, what, since=None)

    def end(self, last: Event) -> None:
        self._check_audit(None)
        for node in list(self.pending):
            self._check_overdue(node, last)
