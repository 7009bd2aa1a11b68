"""``query-offsets``: where a queue begins and ends, when, and which of its messages was stored at a time.

A broker answers with the offset of the queue's first record, the offset behind that of its last one, the store time of
the first one, and for a time with the offset of a record that was stored then; if there is none, of one of the nearest
in time: the first or the last record for a time before or after all of them.

A group without progress begins at 0 while the queue still begins there and its first message counts as being in memory
(see ``read-split``); else the broker knows of nothing, and the consumer chooses.

Judged by the records that the broker's log lists, of queues that are complete (see ``audits``). Left out: queues
without a record; times in a queue whose records are not in the order of times, since a broker searches by halves.
Brokers of RocketMQ are not asked for times: 4.9 looks in one queue file only, 5.x answers with the first record that is
not older; nor for groups without progress.
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
    id = "query-offsets"
    promise = "A queue's offsets, by place or by time, are those of its records."
    source = "DefaultMessageStore.getOffsetInQueueByTime, getMaxOffsetInQueue, getMinOffsetInQueue"
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
            self.violate(event, f"{named(event, asked)} {event.status}: {event.detail or 'no more is known'}")
        elif found not in due:
            told = " or ".join(map(str, sorted(due)[:2]))
            self.violate(event, f"{named(event, asked)} {found}; by its log it is {told}")

    def _judge_newcomer(self, event: Answer, log: Listing, first: Record) -> None:
        held = memory(self.known.config.get(event.node, {}))
        if held is None or log.read is None:
            return
        is_held = (first.queue_offset or 0) <= 0 and log.read.hi - (first.lo or 0) <= held
        due = ("PUT_OK", 0) if is_held else ("QUERY_NOT_FOUND", None)
        self.judged += 1
        if (event.status, event.queue_offset) != due:
            asked = named(event, f"where a new group begins in {event.queue}")
            told = "0" if is_held else "nowhere"
            self.violate(event, f"{asked} {event.status}, {event.queue_offset}; by its log and memory it is {told}")


def _nearest(records: list[Record], ms: int) -> set[int]:
    """Queue offsets of the records whose store times are nearest; none where times go back."""
    times = [each.store_ms or 0 for each in records]
    if times != sorted(times):
        return set()
    least = min(abs(time - ms) for time in times)
    return {each.queue_offset or 0 for each, time in zip(records, times, strict=True) if abs(time - ms) == least}
