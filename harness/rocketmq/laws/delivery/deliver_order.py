"""``deliver-order``: unless it rewinds, a consumer reads a queue in offset order; an offset names one message on all
brokers.

Checks:
- The messages of a pull start at or above the offset asked for, and their offsets ascend.
- Within one assignment, a pull's messages come after those of earlier pulls, unless the consumer itself asks for an
  earlier offset: then the order starts again.
- A queue offset is one message on master and slave, unless the master's log was cut below the end
  of one of the two.
Abstains when:
- A reader without a group has several pulls in flight.
- The order, for a log that holds parts of two histories: both have the same offsets.
Source: ProcessQueue; ConsumeQueue, which every broker derives from the same log.
"""

from dataclasses import dataclass
from typing import NamedTuple

from ....event_types.client import Assign, Deliver
from ...known.circumstances import DIVERGED, LONGER, QUEUES_LOST_UNDETECTED
from ...known.consumption import PAIR
from ...law import Law


class First(NamedTuple):
    message: str | None
    hi: int
    node: str | None


@dataclass(slots=True, eq=False)
class Reading:
    op: int | None
    began: int
    """The pull's first event (``seq``)."""
    least: int


class DeliverOrder(Law):
    needs = frozenset({"invoke", "deliver"})

    def begin(self) -> None:
        self.readings: dict[tuple[int | None, str | None], Reading] = {}
        self.first: dict[tuple[str, str | None, int], First] = {}

    def on_assign(self, event: Assign) -> None:
        self.readings.pop((event.process, event.queue), None)

    def on_deliver(self, event: Deliver) -> None:
        self.judged += 1
        if not self.abstains(event, DIVERGED, LONGER, QUEUES_LOST_UNDETECTED):
            self._judge_order(event, event.queue_offset)
        self._judge_offset(event, event.queue_offset)

    def _judge_order(self, event: Deliver, offset: int) -> None:
        key = (event.process, event.queue)
        reading = self.readings.get(key)
        if reading is None or reading.op != event.op:
            begun = self.known.calls.begun(event)
            began, asked = (event.seq, 0) if begun is None else (begun.call.seq, begun.call.asked_from or 0)
            if reading is not None and began < reading.began and event.group is not None:
                self.violate(event, f"{event.queue} at {offset} came after what a later pull brought")
                return
            reading = self.readings[key] = Reading(event.op, began, asked)
        if offset < reading.least:
            self.violate(event, f"{event.queue} at {offset} came when {reading.least} or more was due")
        reading.least = offset + 1

    def _judge_offset(self, event: Deliver, offset: int) -> None:
        of = "" if event.node in PAIR else event.node or ""
        hi = event.hi or 0
        first = self.first.setdefault((of, event.queue, offset), First(event.message, hi, event.node))
        if first.message == event.message:
            return
        cut = self.known.consumption.lost_from
        if cut is None or max(hi, first.hi) <= cut:
            what = f"{event.queue} at {offset} is {event.message} from {event.node}"
            self.violate(event, f"{what}, {first.message} it was from {first.node}, and no crash took that")
