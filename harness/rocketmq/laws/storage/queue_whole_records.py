"""``queue-whole-records``: a record is dispatched when all its bytes are in the log, and then within a second.

By the nodes' own trace, or their queues' files: what a node has dispatched is in its log, and ends where a record or a
file ends; and a record whose last byte arrived is dispatched within a second in which the node could have worked. By
audits: the queues reach from the first to the last of the records that the log lists, up to where dispatch had come, or
wholly if nothing had arrived for a second.

A node's queues may lag behind its log while a fault touches the node (a full disk leaves no room for a queue file, the
thread that dispatches may be held up), or while it is down or paused. Two seconds after the last fault has ended they
have caught up, whether or not more arrives.

Left out: queues of nodes that a lying disk has left without a part of them, and that could not know it
(:mod:`pairproof.harness.rocketmq.known.lost_undetected`); diverged slaves (see ``logs``); how soon a record that was
there at a start is dispatched, save by what the queues show; promptness under SYNC_FLUSH from 5.0 on, where only what
is flushed is dispatched. Half messages, which no queue lists: simulated clients send none.
Source: DefaultMessageStore.ReputMessageService.
"""

from bisect import bisect_right
from typing import NamedTuple

from ....event_types.machine import Fault
from ....event_types.node import Config, Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.log import Append, Audit, Dispatch, Entries, Expire, Record
from ...known.circumstances import DIVERGED, LOST_UNDETECTED
from ...known.deadlines import spent_ns
from ...law import Law
from ...settings import line, parse
from ...topology import MASTER

WITHIN_NS = 1_000 * MS
CATCH_UP_NS = 2_000 * MS
"""After a fault: a broker without room may look only once a second whether there is some."""


class Reach(NamedTuple):
    """What a log lists of one queue: first and last queue offset, and the log offset behind the last record."""

    first: int
    last: int
    hi: int


class QueueWholeRecords(Law):
    id = "queue-whole-records"
    promise = (
        "A record is dispatched only when all its bytes are in the log, and within a second of that; queues that a "
        "fault has held up catch up within two."
    )
    source = "DefaultMessageStore.ReputMessageService"
    needs = frozenset({"append", "dispatch", "record", "entries", "audit"})
    timed = True

    def begin(self) -> None:
        self.boundaries: set[int] = set()
        """Where the master's records and fillers ever ended."""
        self.ends: list[int] = []
        """Where the records end that its log has now, ascending."""
        self.lazy: set[str | None] = set()
        """Nodes that dispatch only what is flushed."""
        self.owed: dict[str, list[tuple[int, int]]] = {}
        """By node: records that are whole and not dispatched, by their ends, and since when, ns."""
        self.audit: int | None = None
        self.due: dict[str, tuple[int, Event]] = {}
        """Of the present audit, by node: up to where its queues must reach."""

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("flushDiskType") == "SYNC_FLUSH" and line(settings).since >= (5,):
            self.lazy.add(event.node)

    # The nodes' own trace.

    def on_append(self, event: Append) -> None:
        """A log grew; perhaps a record became whole."""
        node, hi = event.node, event.hi
        if node == MASTER:
            self.boundaries.add(hi)
            if event.f != "put":
                return
            self.ends.append(hi)
        elif node in self.known.logs.diverged:
            return
        # Nobody hears what else a node does while it is being stopped.
        if node not in self.known.up:
            return
        at = bisect_right(self.ends, hi)
        if at and self.ends[at - 1] > event.lo and node not in self.lazy:
            self.owed.setdefault(node, []).append((self.ends[at - 1], event.t))

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
        elif self._is_inside(node, hi):
            self.violate(event, f"{node} dispatched up to {hi}, in the middle of a record", since=None)
        owed = self.owed.get(node)
        if owed:
            self._settle(node, owed, hi, event)

    def _is_inside(self, node: str, offset: int) -> bool:
        if not self.boundaries or offset in self.boundaries:
            return False
        return offset % self.known.setting(node, "mappedFileSizeCommitLog") != 0

    def _settle(self, node: str, owed: list[tuple[int, int]], reached: int, event: Event) -> None:
        first, since = owed[0]
        if first > reached:
            return
        if owed[-1][0] <= reached:
            owed.clear()
        else:
            owed[:] = [each for each in owed if each[0] > reached]
        if event.t - since > WITHIN_NS:
            self._is_late(node, first, since, event)

    def _is_late(self, node: str, hi: int, since: int, event: Event) -> bool:
        """Whether a record that is whole since then should have been dispatched by now; if so it is told."""
        began, within = self._period(node, since)
        took = spent_ns(self.known, node, began, event.t)
        if took <= within or not self._is_free(node, began) or node in self.known.logs.diverged:
            return False
        when = "" if began == since else " after the last fault there"
        what = f"{node} had the record that ends at {hi} for {took / MS:.0f} ms{when}, and it was in no queue"
        self.violate(event, what, since=began)
        return True

    def _period(self, node: str, since: int) -> tuple[int, int]:
        """From when on a node with something to dispatch since then owes it, and for how long it may take, ns."""
        ended = self.known.disturbances.ended.get(node, -1)
        return (since, WITHIN_NS) if ended < since else (ended, CATCH_UP_NS)

    def _is_free(self, node: str, began: int) -> bool:
        """Whether no fault touches a node since the begin of its period."""
        disturbances = self.known.disturbances
        return disturbances.is_unaffected(node, began if disturbances.ended.get(node, -1) < began else began + 1)

    def on_start(self, event: Start) -> None:
        node, hi = event.node, event.hi or 0
        if node == MASTER:
            del self.ends[bisect_right(self.ends, hi) :]
            # A process that was killed as it wrote its last record could tell nobody of it.
            self.boundaries.add(hi)

    def on_crash(self, event: Crash | Stop) -> None:
        node = event.node
        self._overdue(node, event)
        self.owed.pop(node, None)

    on_stop = on_crash

    def on_expire(self, event: Expire) -> None:
        node, lo = event.node, event.new_start
        self.owed[node] = [each for each in self.owed.get(node, ()) if each[0] > lo]

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """An older state may be of another history: where its records end is not known."""
        self.ends.clear()

    def on_fault(self, event: Fault) -> None:
        """Before something happens to a node, what is overdue there is told."""
        if event.status == "on" and event.node is not None:
            self._overdue(event.node, event)

    def _overdue(self, node: str, event: Event) -> None:
        owed = self.owed.get(node)
        if owed and self._is_late(node, *owed[0], event):
            owed.clear()

    # From outside.

    def on_record(self, event: Record | Entries) -> None:
        if event.audit != self.audit:
            self._settle_audit(event.audit)

    on_entries = on_record

    def on_audit(self, event: Audit) -> None:
        """A log was read: what must its queues hold?"""
        if event.f == "compare":
            return
        if event.number != self.audit:
            self._settle_audit(event.number)
        known, node = self.known, event.node
        if event.status != "whole" or node not in known.up or self.abstains(event, DIVERGED, LOST_UNDETECTED):
            return
        began, within = self._period(node, known.dispatched.grown.get(node, 0))
        rested = spent_ns(known, node, began, event.t) > within
        if rested and self._is_free(node, began) and known.disturbances.stall(began, event.t) is None:
            self.due[node] = (event.hi, event)
        elif node in known.dispatched.reached:
            self.due[node] = (known.dispatched.reached[node], event)

    def _settle_audit(self, following: int | None) -> None:
        """Events of one audit come together; the next one's first ends it."""
        listings = self.known.audits.last
        if any(listings[node].entries for node in self.due):
            for node, (upto, seen) in self.due.items():
                self._judge(node, upto, seen)
        self.audit, self.due = following, {}

    def _judge(self, node: str, upto: int, seen: Event) -> None:
        """A node's queues against what its log lists; a queue whose last record is beyond ``upto`` proves nothing."""
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
                self.violate(
                    seen,
                    f"{node} has no queue {queue}; its log holds offsets {listed.first} to {listed.last}",
                    since=None,
                )
            elif (entries.lo or 0) > listed.first or (entries.hi or 0) <= listed.last:
                held = f"[{entries.lo}, {entries.hi})"
                self.violate(
                    entries,
                    f"{node}'s queue {queue} holds {held}, its log offsets {listed.first} to {listed.last}",
                    since=None,
                )

    def end(self, last: Event) -> None:
        self._settle_audit(None)
        for node in list(self.owed):
            self._overdue(node, last)
