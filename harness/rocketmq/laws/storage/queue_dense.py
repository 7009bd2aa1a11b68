"""``queue-dense``: queue offsets are dense, and an offset gets a second message only if the first was lost.

Three things are asked of the records that an audit lists, and of the answers that told where a message is:

- in each queue of a log, in the log's order, each record has the offset behind the one before it; where the log holds
  all that it ever held, the first one has offset 0;
- a master's record has the offset that the send's answer named;
- a master's queue offset that had a message goes to another one only after a start that lost the first, or on another
  store. A message that expired counts as lost only if the machine crashed since: all else leaves the queue files, which
  know how far the queue has come.

Whether a message might be lost says ``contract``. Left out: what an earlier life of the master told, or told of a send
that carries a remark (a delayed message goes to another queue first). What a lying disk lost of the master's queues
before a start that could not know it (``lost_undetected``). diverged Slaves (see ``logs``), whose
log is no copy of any one log; and logs that begin before that of a slave which was promoted, since it gives the offsets
before that a second time. Half messages, where they are stored with offset 0 (the rolled-back ones, and all of them
before 4.3): a record's event does not tell them, and simulated clients send none.
Source: CommitLog.topicQueueTable, DefaultMessageStore.recoverTopicQueueTable.
"""

from ....event_types.client import Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ....texts.content import waits_first
from ...event_types.log import Audit, Expire, Record
from ...known.circumstances import DIVERGED, EARLIER_INCARNATION, LONGER
from ...law import Law
from ...topology import MASTER

Place = tuple[str | None, int | None]
"""Queue and queue offset."""


class QueueDense(Law):
    id = "queue-dense"
    kind = DURABILITY
    promise = "A queue's offsets are dense, and an offset gets a second message only if the first was lost."
    source = "CommitLog.topicQueueTable; DefaultMessageStore.recoverTopicQueueTable"
    needs = frozenset({"invoke", "ok", "record", "audit"})

    def begin(self) -> None:
        self.told: dict[int | None, Ok] = {}
        """Answers that named an offset, by where in the master's log the record is."""
        self.taken: dict[Place, Ok | Record] = {}
        """What was last found, or told to be, at each of the master's queue offsets."""
        self.expired = False

    def on_ok(self, event: Ok) -> None:
        call = self.known.calls.begun(event)
        if call is None or event.f != "send" or event.node != MASTER or waits_first(call.call):
            return
        if event.lo is None or event.hi is None or event.queue_offset is None:
            return
        if not self.abstains(event, EARLIER_INCARNATION):
            self.told[event.lo] = event
            self._take(event)

    def on_audit(self, event: Audit) -> None:
        node = event.node
        records = self.known.audits.records(event)
        if not records or self.abstains(event, DIVERGED, LONGER):
            return
        self.judged += 1
        following: dict[str | None, int] = {}
        begins = event.lo == 0 and not self.expired
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
            told = self.told.get(each.lo)
            if told is not None and told.message == each.message and told.queue_offset != each.queue_offset:
                where = f"{each.message} has offset {each.queue_offset} in {each.queue}"
                self.violate(each, f"{where}; its sender was told {told.queue_offset}")

    def _take(self, event: Ok | Record) -> None:
        place = event.queue, event.queue_offset
        before, self.taken[place] = self.taken.get(place), event
        # What one audit finds twice in a queue is told as such.
        if before is None or before.lo == event.lo or (before.kind, before.op) == (event.kind, event.op):
            return
        where = f"offset {event.queue_offset} of {event.queue}"
        self.violate(event, f"{where} went to {event.message}; {before.message} has it, and was not lost")

    # What takes messages.

    def on_expire(self, event: Expire) -> None:
        """The oldest files are gone, of this log and of any that is copied from it later."""
        self.expired = True

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.taken.clear()

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        lost_power = self.known.nodes.lost_power(MASTER)
        if self.known.lost_undetected.spoils(event):
            self.taken.clear()
        if event.hi is None and not lost_power:
            # Nobody says what was recovered; without a power loss it is all that there was.
            return
        lo, hi = event.lo or 0 if lost_power else 0, event.hi or 0
        kept = {place: each for place, each in self.taken.items() if lo <= (each.lo or 0) and (each.hi or 0) <= hi}
        self.taken = kept
