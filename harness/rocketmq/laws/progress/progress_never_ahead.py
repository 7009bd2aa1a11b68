"""``progress-never-ahead``: no commit is above the offsets that its group was given, and no broker reports progress
above every commit.

Checks:
- Each commit is at most the highest offset that the group had received before: in answers to pulls, by deliveries, or
  as the start of an assignment.
- The progress in a broker's answer or table is at most the group's highest commit.
Abstains when:
- No consumer of the history has consumed the queue.
Source: ProcessQueue.removeMessage; RemoteBrokerOffsetStore, ConsumerOffsetManager.
"""

from ....event_types.client import Invoke, Ok
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.consumption import PAIR
from ...known.registers import NONE, offsets_of
from ...law import Law


class ProgressNeverAhead(Law):
    needs = frozenset({"invoke", "ok", "assign"})

    @only("commit", node=PAIR)
    def on_invoke(self, event: Invoke) -> None:
        consumed = self.known.consumption.consumed_by(event)
        if consumed is None:
            return
        self.judged += 1
        if (event.queue_offset or 0) > consumed.given:
            what = f"{event.group} commits {event.queue_offset} of {event.queue}"
            self.violate(event, f"{what}, and was given {consumed.given} at most")

    @only("query", node=PAIR)
    def on_ok(self, event: Ok) -> None:
        if event.queue_offset is not None:
            consumed = self.known.consumption.consumed_by(event)
            committed = NONE if consumed is None else consumed.committed
            self._judge(event, event.group or "", event.queue or "", event.queue_offset, committed)

    @only("offsets", node=PAIR)
    def on_table(self, event: Table) -> None:
        for (group, queue), offset in offsets_of(event.detail or "{}").items():
            consumed = self.known.consumption.consumed.get((group, queue))
            if consumed is not None:
                self._judge(event, group, queue, offset, consumed.committed)

    def _judge(self, event: Ok | Table, group: str, queue: str, offset: int, committed: int) -> None:
        self.judged += 1
        if offset > max(committed, 0):
            sent = f"committed {committed} at most" if committed != NONE else "committed nothing"
            self.violate(event, f"{event.node} reports that {group} is at {offset} of {queue}; it {sent}")
