"""``log-grows``: a node's log end never decreases during an incarnation; only recovery truncates it, at a record's
boundary, and keeps every record that the crash left.

Checks:
- Each append starts at the log end (on an empty slave, anywhere).
- A start with a lower end than before is followed by a ``cut`` event, at a boundary between records or at a file's
  start.
- The start keeps all safe whole records: all appended ones after a killed or stopped process, the committed or flushed
  ones after the kill of one with a transient store pool, the flushed ones after a power loss (in labs that record
  flushes; the reference's recovery flushes, RocketMQ's does not). ``log-flushed-survives`` checks the same for
  messages.
- After the master has lost its tail, only a diverged slave (see ``logs``) may end at a boundary of the lost records. It
  keeps the common part of both histories.
Abstains when:
- The store was replaced or wiped: it is a new log.
- A disk lied about a flush.
- The log is longer after a restart: a process may die between a write and its event.
- A slave's log begins inside a file, so its first record cannot be found.
Source: CommitLog.recoverNormally and recoverAbnormally.
"""

from ....event_types.node import Start, Wipe
from ....history import Event
from ....judging.law import DURABILITY
from ...contract import LIED
from ...event_types.log import Append, Cut, Record
from ...known.nodes import MACHINE, PROCESS, STOP
from ...law import Law
from ...topology import MASTER

ENDS = {STOP: "clean stop", PROCESS: "process crash", MACHINE: "machine crash"}


class LogGrows(Law):
    kind = DURABILITY
    needs = frozenset({"start", "append"})

    def begin(self) -> None:
        self.shorter: dict[str | None, tuple[Event, int]] = {}
        """By node: a start at a lower end than before, and that end, until a cut explains it."""
        self.boundaries: dict[int, bool] = {}
        """Boundaries in the master's log, and whether a record (not a filler) is known to end there."""
        self.lost: set[int] = set()
        self.sees_flushes = "flush" in self.known.observes

    def on_append(self, event: Append) -> None:
        node = event.node
        if self.shorter:
            self._unexplained(node)
        end = self.known.logs.ends.get(node)
        if node == MASTER:
            self.boundaries[event.hi] = event.f != "filler"
        elif not end:
            return
        if end is not None:
            self.judged += 1
            if event.lo != end:
                self.violate(event, f"{node} appended [{event.lo}, {event.hi}), its log ended at {end}")

    def on_record(self, event: Record) -> None:
        lo, hi = event.lo, event.hi
        if event.node in self.known.logs.diverged:
            self.lost.update((lo, hi))
        else:
            self.boundaries.setdefault(lo, False)
            self.boundaries[hi] = True

    def on_start(self, event: Start) -> None:
        node, end = event.node, event.hi
        before = None if node in self.known.stores.replaced else self.known.logs.ends.get(node)
        how = self.known.nodes.fate(node)
        if end is None:
            return
        if before is not None:
            self.judged += 1
            if end < before:
                self.shorter[node] = (event, before)
                self._check_kept(event, node, self._safe(node, before, how), how)
        if node == MASTER and before is not None and end < before:
            self.lost.update(boundary for boundary in self.boundaries if boundary > end)
            self.boundaries = {boundary: ends for boundary, ends in self.boundaries.items() if boundary <= end}

    def _safe(self, node: str, before: int, how: str | None) -> int:
        """The end of the part of a node's log that had to survive; 0 if unknown."""
        if how in (None, LIED) or (how == MACHINE and not self.sees_flushes):
            return 0
        safe = before if how != PROCESS else self._outside_pool(node, before)
        safe = min(safe, self.known.logs.durable.get(node, 0)) if how == MACHINE else safe
        return min(safe, self.known.logs.diverged.get(node, safe))

    def _outside_pool(self, node: str, before: int) -> int:
        known = self.known
        if node not in known.stores.pooled:
            return before
        return max(known.stores.committed.get(node, 0), known.logs.flushed.get(node, 0))

    def _check_kept(self, event: Start, node: str, safe: int, how: str | None) -> None:
        end, begin = event.hi or 0, self.known.logs.starts.get(node, 0)
        if begin % self.known.setting(node, "mappedFileSizeCommitLog"):
            return
        whole = max((b for b, ends in self.boundaries.items() if ends and begin < b <= safe), default=0)
        if whole > end:
            what = f"{node} came back with its log at {end}; its records up to {whole} outlive a {ENDS[how or STOP]}"
            self.violate(event, what)

    def on_cut(self, event: Cut) -> None:
        node, lo = event.node, event.new_end
        start, _ = self.shorter.pop(node, (None, 0))
        if start is None or start.hi != lo:
            self.violate(event, f"{node}'s log was truncated at {lo} by its running node, not by recovery")
        size = self.known.setting(node, "mappedFileSizeCommitLog")
        if self.boundaries and lo % size and not self._is_boundary(node, lo):
            self.violate(event, f"{node}'s log was truncated at {lo}, in the middle of a record")

    def _is_boundary(self, node: str, offset: int) -> bool:
        # A slave that recovers during the replacement of its master's store ends at a boundary of the old history.
        may_be_old = node in self.known.logs.diverged or MASTER in self.known.stores.replaced
        return offset in self.boundaries or (may_be_old and offset in self.lost)

    def on_wipe(self, event: Wipe) -> None:
        node = event.node
        self.shorter.pop(node, None)
        if node == MASTER:
            # An older state may hold another history.
            self.lost.update(self.boundaries)
            self.boundaries = {}

    def end(self, last: Event) -> None:
        for node in list(self.shorter):
            self._unexplained(node)

    def _unexplained(self, node: str | None) -> None:
        found = self.shorter.pop(node, None)
        if found is not None:
            start, before = found
            self.violate(start, f"{node} came back with its log at {start.hi} instead of {before}, without a cut event")
