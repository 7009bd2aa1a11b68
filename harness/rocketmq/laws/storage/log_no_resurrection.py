"""``log-no-resurrection``: a record that a recovery cut stays away until it is sent or replicated again.

A node held a record if its log reached the record's end when it went down. If its next start ends the log before that,
the record is cut. It is back in an honest way when appends have brought the log's end to the record's end again. Seen
by a store reader, or delivered to a pull that was asked after the start, any sooner, it came from bytes that the
recovery had left behind.

Left out: records of which only a part was written again; whatever a replaced or wiped store brings back; a log that is
longer than its trace after a start, since a process may die between writing and telling. Source: the design; RocketMQ's
recovery moves positions only, so that such bytes stay on its disk (MappedFileQueue.truncateDirtyFiles).
"""

from ....event_types.client import Deliver
from ....event_types.node import Wipe
from ....judging.law import DURABILITY, EVERY
from ...event_types.log import Append, Audit, Cut, Record
from ...known.circumstances import EARLIER_INCARNATION
from ...law import Law


class LogNoResurrection(Law):
    id = "log-no-resurrection"
    kind = DURABILITY
    promise = "A record that a recovery cut is readable on that node again only after it was sent or replicated again."
    source = "CommitLog.recoverAbnormally: what lies behind the cut is not log any more"
    needs = frozenset({"start", "append", "record"})
    awaits = {"cut": EVERY}

    def begin(self) -> None:
        self.cut: dict[str, dict[tuple[int, str | None], int]] = {}
        """Per node: records that a recovery cut, by place and message, and where they ended."""

    def on_cut(self, event: Cut) -> None:
        gone = (each for each in self.known.logs.puts if each.message and event.new_end < each.hi <= event.old_end)
        self.cut.setdefault(event.node, {}).update(((each.lo, each.message), each.hi) for each in gone)

    def on_append(self, event: Append) -> None:
        cut = self.cut.get(event.node)
        # An empty slave's copy may begin anywhere.
        if cut and self.known.logs.ends.get(event.node, 0) in (0, event.lo):
            self.cut[event.node] = {which: end for which, end in cut.items() if end > event.hi}

    def on_wipe(self, event: Wipe) -> None:
        self.cut.pop(event.node, None)

    def on_deliver(self, event: Deliver) -> None:
        if self.cut.get(event.node) and not self.abstains(event, EARLIER_INCARNATION):
            self._look(event, "was delivered")

    def on_record(self, event: Record) -> None:
        self._look(event, "is in its log")

    def _look(self, event: Deliver | Record, how: str) -> None:
        cut = self.cut.get(event.node or "")
        if not cut:
            return
        self.judged += 1
        which = event.lo or 0, event.message
        # Another record of the same message, one that was sent back, say, may have come to lie there.
        if cut.get(which) == event.hi:
            del cut[which]
            self.violate(
                event, f"{event.message} {how} on {event.node}, whose recovery had cut it; nobody wrote it again"
            )

    def on_audit(self, event: Audit) -> None:
        """Nothing of it there: that counts, too."""
        if event.f != "compare" and self.cut.get(event.node):
            self.judged += 1
