"""``queue-dense``: a queue's offsets are dense, and an offset gets a second message only if the first was lost.

Checks:
- In each queue of an audited log, each record has the offset after the last one; the first has 0 if the log is
  complete.
- A master's record has the offset that the send's answer reported.
- A used queue offset of the master gets another message only after a start that lost the first one, or on another store
  (``contract`` defines when a message may be lost). An expired message counts as lost only after a machine crash:
  otherwise its queue file keeps the offset.
Abstains when:
- The answer is of an earlier incarnation of the master, or the send carries a remark (a delayed message is first stored
  in another queue).
- A node has run with queues of which a lying disk had taken a part undetectably (``lost_undetected``).
- The slave diverged (see ``logs``), or the log begins before a promoted slave's, which assigns earlier offsets again.
- The record is a half message with offset 0 (rolled back, or any before 4.3), which events do not show.
Source: CommitLog.topicQueueTable, DefaultMessageStore.recoverTopicQueueTable.
"""

from ....event_types.client import Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ....texts.content import waits_first
from ...event_types.log import Audit, Record
from ...known.circumstances import DIVERGED, EARLIER_INCARNATION, LONGER, QUEUES_LOST_UNDETECTED
from ...law import Law
from ...topology import MASTER

Position = tuple[str | None, int | None]


class QueueDense(Law):
    kind = DURABILITY
    needs = frozenset({"invoke", "ok", "record", "audit"})

    def begin(self) -> None:
        self.answers: dict[int | None, Ok] = {}
        """Answers that reported an offset, by the record's log offset on the master."""
        self.taken: dict[Position, Ok | Record] = {}
        """The last record, or answer, for each queue offset of the master."""

    def on_ok(self, event: Ok) -> None:
        call = self.known.calls.begun(event)
        if call is None or event.f != "send" or event.node != MASTER or waits_first(call.call):
            return
        if event.lo is None or event.hi is None or event.queue_offset is None:
            return
        if not self.abstains(event, EARLIER_INCARNATION, QUEUES_LOST_UNDETECTED):
            self.answers[event.lo] = event
            self._take(event)

    def on_audit(self, event: Audit) -> None:
        node = event.node
        records = self.known.audits.records(event)
        if not records or self.abstains(event, DIVERGED, LONGER, QUEUES_LOST_UNDETECTED):
            return
        self.judged += 1
        following: dict[str | None, int] = {}
        # Later copies of a log that expired lack its oldest files as well.
        begins = event.lo == 0 and not self.known.stores.expired
        for each in records:
            offset = each.queue_offset or 0
            due = following.get(each.queue, 0 if begins else offset)
            if offset != due:
                self.violate(each, f"{node}: {each.message} has offset {offset} in {each.queue}; {due} was next")
            following[each.queue] = offset + 1
        if node == MASTER:
            self._compare(records)

    def _compare(self, records: list[Record]) -> None:
        for each in records:
            self._take(each)
            answer = self.answers.get(each.lo)
            if answer is not None and answer.message == each.message and answer.queue_offset != each.queue_offset:
                what = f"{each.message} has offset {each.queue_offset} in {each.queue}"
                self.violate(each, f"{what}; the answer reported {answer.queue_offset}")

    def _take(self, event: Ok | Record) -> None:
        position = event.queue, event.queue_offset
        before, self.taken[position] = self.taken.get(position), event
        # on_audit reports two records of one audit.
        if before is None or before.lo == event.lo or (before.kind, before.op) == (event.kind, event.op):
            return
        offset = f"offset {event.queue_offset} of {event.queue}"
        self.violate(event, f"{offset} went to {event.message}; {before.message} has it, and was not lost")

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.taken.clear()

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        left = self.known.nodes.left(event)
        kept = {at: each for at, each in self.taken.items() if left.lo <= (each.lo or 0) and (each.hi or 0) <= left.hi}
        self.taken = kept
