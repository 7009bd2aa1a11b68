"""``log-grows``: a log only grows while its node lives, and recovery cuts no more than a crash took.

Each append starts at the log's end (an empty slave may start anywhere). A start with a lower end than before must be
followed by a ``cut`` that says so, at a border between records or at a file's start. And it must keep every whole
record of what is safe: all that was appended after a killed or stopped process, what had been flushed after a power
loss (judged where the lab records flushes). This is said of bytes and of either node; of messages see
``log-flushed-survives``.

Where the master lost its tail, borders of the lost records are none any more, save for a slave that still holds them
(a diverged one, see ``logs``); such a slave must keep what both histories share.

A store that was replaced or wiped is a new one: nothing is asked of its start. A log's start may move on as its oldest
files expire.

Left out: disks that lied about a flush. A log that is longer after a restart: a process may die between writing and
telling. A filler behind the last record, which RocketMQ keeps or drops. A slave's log that begins inside a file:
nothing can find its first record again.
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
    id = "log-grows"
    kind = DURABILITY
    promise = (
        "A node's log end never decreases while it lives; only recovery cuts it, at a record's border, and keeps every "
        "record that the crash left."
    )
    source = "CommitLog.recoverNormally, CommitLog.recoverAbnormally"
    needs = frozenset({"start", "append"})

    def begin(self) -> None:
        self.shorter: dict[str | None, tuple[Event, int]] = {}
        """Starts at a lower end than before, and that end, until recovery explains them."""
        self.boundaries: dict[int, bool] = {}
        """Of the master's log: borders, and whether a record (not a filler) is known to end there."""
        self.lost: set[int] = set()
        """Borders of what the master lost."""
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
        """Up to where a node's log had to survive; 0 where nobody knows."""
        if how in (None, LIED) or (how == MACHINE and not self.sees_flushes):
            return 0
        safe = min(before, self.known.logs.flushed.get(node, 0)) if how == MACHINE else before
        return min(safe, self.known.logs.diverged.get(node, safe))

    def _check_kept(self, event: Start, node: str, safe: int, how: str | None) -> None:
        end, begin = event.hi or 0, self.known.logs.starts.get(node, 0)
        if begin % self.known.setting(node, "mappedFileSizeCommitLog"):
            return
        whole = max((b for b, ends in self.boundaries.items() if ends and begin < b <= safe), default=0)
        if whole > end:
            self.violate(
                event,
                f"{node} came back with its log at {end}; its records up to {whole} outlive a {ENDS[how or STOP]}",
            )

    def on_cut(self, event: Cut) -> None:
        node, lo = event.node, event.new_end
        start, _ = self.shorter.pop(node, (None, 0))
        if start is None or start.hi != lo:
            self.violate(event, f"{node}'s log was cut at {lo} while it lived, not by recovery")
        size = self.known.setting(node, "mappedFileSizeCommitLog")
        if self.boundaries and lo % size and not self._is_boundary(node, lo):
            self.violate(event, f"{node}'s log was cut at {lo}, in the middle of a record")

    def _is_boundary(self, node: str, offset: int) -> bool:
        # A slave that recovers while its master's store is being replaced still ends at a border of the old history.
        may_be_old = node in self.known.logs.diverged or MASTER in self.known.stores.replaced
        return offset in self.boundaries or (may_be_old and offset in self.lost)

    def on_wipe(self, event: Wipe) -> None:
        node = event.node
        self.shorter.pop(node, None)
        if node == MASTER:
            # An older state may even hold another history: its borders are learnt anew.
            self.lost.update(self.boundaries)
            self.boundaries = {}

    def end(self, last: Event) -> None:
        for node in list(self.shorter):
            self._unexplained(node)

    def _unexplained(self, node: str | None) -> None:
        found = self.shorter.pop(node, None)
        if found is not None:
            start, before = found
            self.violate(start, f"{node} came back with its log at {start.hi} instead of {before}, and no cut says why")
