"""``query-statistics``: what a broker says of itself, of a topic and of a group follows from its log and its tables.

- Of itself: where its log begins and ends, how many bytes wait to be dispatched, when its first message was stored.
- Of a topic: each queue's first and next offset, and when its last message was stored.
- Of a group: each queue's next offset, the group's progress as the broker's own table has it, and when the message
  before that was stored.

Judged by the records that the broker's log lists, of queues that are complete (see ``audits``); bytes that wait only
where the broker has derived all of its log. A group's progress is compared with the table that was read in the same
audit, unless its consumers commit, or the slave copies its master's table, a second before the answer or later. Left
out: topics that the broker does not have, as a slave that never copied its master's; a log that is not whole; figures
that no log shows. RocketMQ brokers are not asked for the time of the first message: they say -1 where the log is short.
Source: AdminBrokerProcessor.getBrokerRuntimeInfo, getTopicStatsInfo, getConsumeStats.
"""

import json
from collections.abc import Mapping

from ....history import MS, Event
from ....judging.law import CONVENTION, EventFilter, only
from ...event_types.answers import Answer
from ...event_types.metadata import Table
from ...known.audits import Listing
from .asked import Asked, named

UNSURE_NS = 1_000 * MS
"""A commit, or a sync, may take so long to change a table."""


class QueryStatistics(Asked):
    id = "query-statistics"
    kind = CONVENTION
    promise = "What a broker says of itself, a topic and a group follows from its log and its tables."
    source = "AdminBrokerProcessor.getBrokerRuntimeInfo, getTopicStatsInfo, getConsumeStats"
    needs = frozenset({"answer", "record", "audit", "entries"})
    timed = True
    subjects = frozenset({"runtime", "topic", "group"})
    awaits = {"answer": EventFilter(subjects), "table": EventFilter(frozenset({"offsets", "topics"}))}

    def begin(self) -> None:
        super().begin()
        self.offsets: dict[str, Table] = {}
        """By broker, its table of progress as it was last read."""
        self.topics: dict[str, Table] = {}
        """By broker, its table of topics as it was last read."""

    @only("offsets", "topics")
    def on_table(self, event: Table) -> None:
        (self.offsets if event.f == "offsets" else self.topics)[event.node] = event

    def judge(self, event: Answer, log: Listing) -> None:
        if event.status == "TOPIC_NOT_EXIST":
            return
        if event.status != "PUT_OK":
            self.judged += 1
            what = event.queue or "itself"
            self.violate(
                event, f"{named(event, f'about {what}')} {event.status}: {event.detail or 'no more is known'}", None
            )
            return
        told = json.loads(event.detail or "{}")
        if event.f == "group" and not told and self._lacks(event):
            return
        if event.f == "runtime":
            self._judge_figures(event, log, told)
        else:
            self._judge_queues(event, log, told)

    def _lacks(self, event: Answer) -> bool:
        """Whether a broker does not know the topic: a slave that has its messages, and not its master's tables yet."""
        table = self.topics.get(event.node)
        return table is not None and event.queue not in json.loads(table.detail or "{}")

    def _judge_figures(self, event: Answer, log: Listing, told: Mapping[str, int]) -> None:
        read = log.read
        assert read is not None
        if read.status != "whole":
            return
        begins = {read.lo or 0, -1} if read.lo == read.hi else {read.lo or 0}
        due = {"commitLogMinOffset": begins, "commitLogMaxOffset": {read.hi or 0}}
        if log.derived:
            due["dispatchBehindBytes"] = {0}
        if log.records and log.records[0].lo == read.lo:
            due["earliestMessageTimeStamp"] = {log.records[0].store_ms or 0}
        for name, values in due.items():
            if name in told:
                self._compare(event, name, told[name], values)

    def _judge_queues(self, event: Answer, log: Listing, told: Mapping[str, list[int]]) -> None:
        for queue in dict.fromkeys(each.queue for each in log.records):
            topic, _, number = queue.rpartition("/")
            if topic != event.queue or not log.complete(queue):
                continue
            records, found = log.of(queue), told.get(number)
            last = records[-1]
            if found is None:
                self.judged += 1
                self.violate(event, f"{named(event, f'about {event.queue}')} without {queue}, which has messages", None)
            elif event.f == "topic":
                due = [records[0].queue_offset, (last.queue_offset or 0) + 1, last.store_ms]
                for name, value, right in zip(("first", "next", "last time"), found, due, strict=True):
                    self._compare(event, f"{name} of {queue}", value, {right or 0})
            else:
                self._judge_progress(event, log, queue, found)

    def _judge_progress(self, event: Answer, log: Listing, queue: str, found: list[int]) -> None:
        records, (following, progress, time) = log.of(queue), found
        self._compare(event, f"next of {queue}", following, {(records[-1].queue_offset or 0) + 1})
        before = {each.queue_offset: each.store_ms or 0 for each in records}.get(progress - 1, 0)
        self._compare(event, f"time of {queue} at {progress}", time, {before})
        table = self.offsets.get(event.node)
        is_sure = event.t - self.known.consumption.touched.get(event.node, -UNSURE_NS) >= UNSURE_NS
        if is_sure and table is not None and log.read is not None and table.seq > log.read.seq:
            topic, _, number = queue.rpartition("/")
            committed = json.loads(table.detail or "{}").get(f"{topic}@{event.group}", {}).get(number, 0)
            self._compare(event, f"progress of {event.group} in {queue}", progress, {max(0, committed)})

    def _compare(self, event: Event, what: str, found: int, due: set[int]) -> None:
        self.judged += 1
        if found not in due:
            told = " or ".join(map(str, sorted(due)))
            self.violate(
                event, f"{event.node} says {what}: {found}; by its log and tables it is {told}", event.t - UNSURE_NS
            )
