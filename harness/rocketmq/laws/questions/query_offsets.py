"""``query-offsets``: a queue's offsets, by position or by time, are those of its records.

Checks:
- The minimum is the first record's offset, the maximum the offset after the last one, the earliest time the first
  record's store time.
- The offset for a time is that of a record stored then, or else of one of the nearest in time; before or after all
  records, of the first or the last one.
- A group without progress starts at 0 while the queue begins at 0 and its first message counts as in memory (see
  ``read-split``); else the broker has no offset, and the consumer chooses.
Abstains when:
- The queue is incomplete (see ``audits``) or has no record.
- For times: the records are not in time order, as a broker does a binary search.
- The broker is RocketMQ's, for times (4.9 searches only one queue file, 5.x returns the first record that is not older)
  and for groups without progress: it is not asked.
Source: DefaultMessageStore.getOffsetInQueueByTime, getMaxOffsetInQueue, getMinOffsetInQueue, getEarliestMessageTime;
ConsumerManageProcessor.queryConsumerOffset.
"""

from ....judging.law import EventFilter
from ...event_types.answers import Answer
from ...event_types.log import Record
from ...known.audits import Listing
from ...settings import memory
from .asked import Asked, named


class QueryOffsets(Asked):
    needs = frozenset({"answer", "record", "audit", "entries"})
    subjects = frozenset({"time", "max", "min", "earliest", "newcomer"})
    awaits = {"answer": EventFilter(subjects)}

    def judge(self, event: Answer, log: Listing) -> None:
        records = log.of(event.queue)
        if not log.complete(event.queue):
            return
        first, last = records[0], records[-1]
        found: int | None = event.queue_offset
        if event.f == "newcomer":
            self._judge_newcomer(event, log, first)
            return
        match event.f:
            case "time":
                due = _nearest(records, event.asked or 0)
            case "max":
                due = {(last.queue_offset or 0) + 1}
            case "min":
                due = {first.queue_offset or 0}
            case _:
                due, found = {first.store_ms or 0}, event.lo
        if not due:
            return
        self.judged += 1
        asked = f"{event.f} {event.asked} of {event.queue}" if event.f == "time" else f"{event.f} of {event.queue}"
        if event.status != "PUT_OK":
            self.violate(event, f"{named(event, asked)} {event.status}: {event.detail or 'no details'}")
        elif found not in due:
            right = " or ".join(map(str, sorted(due)[:2]))
            self.violate(event, f"{named(event, asked)} {found}; by its log it is {right}")

    def _judge_newcomer(self, event: Answer, log: Listing, first: Record) -> None:
        held = memory(self.known.config.get(event.node, {}))
        if held is None or log.read is None:
            return
        is_held = (first.queue_offset or 0) <= 0 and log.read.hi - (first.lo or 0) <= held
        due = ("PUT_OK", 0) if is_held else ("QUERY_NOT_FOUND", None)
        self.judged += 1
        if (event.status, event.queue_offset) != due:
            asked = named(event, f"where a new group begins in {event.queue}")
            right = "0" if is_held else "nowhere"
            self.violate(event, f"{asked} {event.status}, {event.queue_offset}; by its log and memory it is {right}")


def _nearest(records: list[Record], ms: int) -> set[int]:
    """Queue offsets of the records whose store times are nearest; none where times go back."""
    times = [each.store_ms or 0 for each in records]
    if times != sorted(times):
        return set()
    least = min(abs(time - ms) for time in times)
    return {each.queue_offset or 0 for each, time in zip(records, times, strict=True) if abs(time - ms) == least}
