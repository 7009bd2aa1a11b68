"""``progress-never-ahead``: no commit is above what the group was told to go on from, no broker's word above a commit.

Judged where a consumer commits, against the highest offset that its group was given by then: by the answers to its
pulls, by its deliveries, and by where its assignments began. And where a broker says what a group's progress is, in
answer to a query or in its table, against the highest offset that the group ever tried to commit.

Left out: what no consumer of the history committed. Source: RemoteBrokerOffsetStore, ConsumerOffsetManager.
"""

from ....event_types.client import Invoke, Ok
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.consumption import PAIR
from ...known.registers import NONE, offsets_of
from ...law import Law


class ProgressNeverAhead(Law):
    id = "progress-never-ahead"
    promise = (
        "No commit is above the offset from which its group was told to go on, and no broker reports progress above "
        "every commit."
    )
    source = "ProcessQueue.removeMessage; ConsumerOffsetManager"
    needs = frozenset({"invoke", "ok", "assign"})

    @only("commit", node=PAIR)
    def on_invoke(self, event: Invoke) -> None:
        consumed = self.known.consumption.consumed_by(event)
        if consumed is None:
            return
        self.judged += 1
        if (event.queue_offset or 0) > consumed.given:
            self.violate(
                event, f"{event.group} commits {event.queue_offset} of {event.queue}, and was told to go on from "
                f"{consumed.given} at most"
            )  # fmt: skip

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
            told = f"committed {committed} at most" if committed != NONE else "committed nothing"
            self.violate(event, f"{event.node} says that {group} is at {offset} of {queue}; it {told}")
