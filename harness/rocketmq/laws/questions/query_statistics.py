"""``query-statistics``: a broker's statistics of itself, a topic and a group follow from its log and its tables.

Checks:
- Itself: the log's begin and end, the undispatched bytes, the first message's store time.
- A topic: each queue's first and next offset, and the last message's store time.
- A group: each queue's next offset, the group's progress as in the broker's table, and the store time of the message
  before that.
Abstains when:
- The queue is incomplete (see ``audits``), the log is not whole, or no log shows the figure.
- An administrator has ever left the topic fewer queues at the broker.
- The broker does not have the topic, as a slave that has not copied its master's table.
- For undispatched bytes: the log is not derived completely.
- For progress: a consumer committed, or the slave copied its master's table, less than 1 s before the answer.
- For the first message's time: the broker is RocketMQ's, which answers -1 for a short log.
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

TABLE_CHANGE_NS = 1_000 * MS


class QueryStatistics(Asked):
    kind = CONVENTION
    needs = frozenset({"answer", "record", "audit", "entries"})
    timed = True
    subjects = frozenset({"runtime", "topic", "group"})
    awaits = {"answer": EventFilter(subjects), "table": EventFilter(frozenset({"offsets", "topics"}))}

    def begin(self) -> None:
        super().begin()
        self.offsets: dict[str, Table] = {}
        self.topics: dict[str, Table] = {}

    @only("offsets", "topics")
    def on_table(self, event: Table) -> None:
        (self.offsets if event.f == "offsets" else self.topics)[event.node] = event

    def judge(self, event: Answer, log: Listing) -> None:
        if event.status == "TOPIC_NOT_EXIST":
            return
        if event.status != "PUT_OK":
            self.judged += 1
            what = event.queue or "itself"
            self.violate(event, f"{named(event, f'about {what}')} {event.status}: {event.detail or 'no details'}", None)
            return
        answer = json.loads(event.detail or "{}")
        if event.f == "group" and not answer and self._lacks(event):
            return
        if event.f == "runtime":
            self._judge_figures(event, log, answer)
        else:
            self._judge_queues(event, log, answer)

    def _lacks(self, event: Answer) -> bool:
        """Whether the broker lacks the topic: a slave may copy messages before its master's tables."""
        table = self.topics.get(event.node)
        return table is not None and event.queue not in json.loads(table.detail or "{}")

    def _judge_figures(self, event: Answer, log: Listing, figures: Mapping[str, int]) -> None:
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
            if name in figures:
                self._compare(event, name, figures[name], values)

    def _judge_queues(self, event: Answer, log: Listing, figures: Mapping[str, list[int]]) -> None:
        for queue in dict.fromkeys(each.queue for each in log.records):
            topic, _, number = queue.rpartition("/")
            if topic != event.queue or not log.complete(queue):
                continue
            records, found = log.of(queue), figures.get(number)
            last = records[-1]
            if found is None and self._is_closed(event, topic, int(number)):
                continue
            if found is None:
                self.judged += 1
                self.violate(event, f"{named(event, f'about {event.queue}')} without {queue}, which has messages", None)
            elif event.f == "topic":
                due = [records[0].queue_offset, (last.queue_offset or 0) + 1, last.store_ms]
                for name, value, right in zip(("first", "next", "last time"), found, due, strict=True):
                    self._compare(event, f"{name} of {queue}", value, {right or 0})
            else:
                self._judge_progress(event, log, queue, found)

    def _is_closed(self, event: Answer, topic: str, queue: int) -> bool:
        """Whether an administrator may have left the topic fewer queues, of the kind that the answer lists."""
        return any(
            each is None or queue >= (each.writeQueueNums if event.f == "topic" else each.readQueueNums)
            for each in self.known.tables.topics(event.node, topic, 0)
        )

    def _judge_progress(self, event: Answer, log: Listing, queue: str, found: list[int]) -> None:
        records, (following, progress, time) = log.of(queue), found
        self._compare(event, f"next of {queue}", following, {(records[-1].queue_offset or 0) + 1})
        before = {each.queue_offset: each.store_ms or 0 for each in records}.get(progress - 1, 0)
        self._compare(event, f"time of {queue} at {progress}", time, {before})
        table = self.offsets.get(event.node)
        is_sure = event.t - self.known.consumption.touched.get(event.node, -TABLE_CHANGE_NS) >= TABLE_CHANGE_NS
        if is_sure and table is not None and log.read is not None and table.seq > log.read.seq:
            topic, _, number = queue.rpartition("/")
            committed = json.loads(table.detail or "{}").get(f"{topic}@{event.group}", {}).get(number, 0)
            self._compare(event, f"progress of {event.group} in {queue}", progress, {max(0, committed)})

    def _compare(self, event: Event, what: str, found: int, due: set[int]) -> None:
        self.judged += 1
        if found not in due:
            right = " or ".join(map(str, sorted(due)))
            text = f"{event.node} reports {what}: {found}; by its log and tables it is {right}"
            self.violate(event, text, event.t - TABLE_CHANGE_NS)
