"""``log-no-resurrection``: a record that a recovery truncated is readable there again only after it was sent or
replicated again.

Checks:
- A truncated record (its node's log reached its end before the crash, and ends before it after the start) is not seen
  by a store reader, nor delivered to a pull sent after the start, until appends reach its end again.
Abstains when:
- A part of the record was written again.
- The store was replaced or wiped, or its disk lied: the truncation itself may be lost.
- The log is longer than its trace after a start: a process may die between a write and its event.
Source: the design; CommitLog.recoverAbnormally moves positions only, and leaves the bytes on disk
(MappedFileQueue.truncateDirtyFiles), which are not part of the log.
"""

from ....event_types.client import Deliver
from ....judging.law import DURABILITY, EVERY
from ...contract import EXPIRE, POOL
from ...event_types.log import Append, Audit, Cut, Record
from ...known.circumstances import EARLIER_INCARNATION
from ...known.nodes import MACHINE, PROCESS
from ...law import Law

KEEP = {PROCESS, MACHINE, POOL, EXPIRE}
"""Events of a store that do not undo a truncation."""


class LogNoResurrection(Law):
    kind = DURABILITY
    needs = frozenset({"start", "append", "record"})
    awaits = {"cut": EVERY}

    def begin(self) -> None:
        self.cut: dict[str, dict[tuple[int, str | None], int]] = {}
        """By node, then by log offset and message of a truncated record: its end."""
        self.happened: dict[str, int] = {}
        """How many events of stores preceded the last truncation."""

    def _truncated(self, node: str | None) -> dict[tuple[int, str | None], int]:
        if not node or not self.cut.get(node):
            return {}
        return self.cut[node] if self.known.stores.of(node, self.happened[node]) <= KEEP else {}

    def on_cut(self, event: Cut) -> None:
        gone = (each for each in self.known.logs.puts if each.message and event.new_end < each.hi <= event.old_end)
        self.cut[event.node] = self._truncated(event.node) | {(each.lo, each.message): each.hi for each in gone}
        self.happened[event.node] = len(self.known.stores.happened)

    def on_append(self, event: Append) -> None:
        cut = self.cut.get(event.node)
        # An empty slave's copy may start anywhere.
        if cut and self.known.logs.ends.get(event.node, 0) in (0, event.lo):
            self.cut[event.node] = {which: end for which, end in cut.items() if end > event.hi}

    def on_deliver(self, event: Deliver) -> None:
        if self._truncated(event.node) and not self.abstains(event, EARLIER_INCARNATION):
            self._check(event, "was delivered")

    def on_record(self, event: Record) -> None:
        self._check(event, "is in its log")

    def _check(self, event: Deliver | Record, how: str) -> None:
        cut = self._truncated(event.node)
        if not cut:
            return
        self.judged += 1
        which = event.lo or 0, event.message
        # Another record of the same message, such as one sent back, may now be there.
        if cut.get(which) == event.hi:
            del cut[which]
            self.violate(
                event, f"{event.message} {how} on {event.node}, whose recovery had truncated it; no new write followed"
            )

    def on_audit(self, event: Audit) -> None:
        if event.f != "compare" and self._truncated(event.node):
            self.judged += 1
