"""``deliver-order``: a consumer sees a queue in offset order, and an offset is one message, whoever serves it.

What a pull brings begins at the offset asked for or later and rises from message to message. Within one assignment it
comes after what earlier pulls brought. Where the consumer itself asks for less than it had, it has rewound, and the
order begins anew. Over the whole trial one queue offset is one message, from master and slave alike, unless the log of
the master was cut below the end of one of the two.

Left out: pulls that a reader without a group has under way side by side; whether it was right to rewind or to leave
something out, see ``deliver-at-least-once``, ``deliver-no-loss`` and ``progress-live-consumer``; whether the cut was
one that may be, see ``contract``. Source: ProcessQueue, ConsumeQueue.
"""

from typing import NamedTuple

from ....event_types.client import Assign, Deliver
from ...known.consumption import PAIR
from ...law import Law


class Place(NamedTuple):
    """The first message that came under a queue offset."""

    message: str | None
    hi: int
    node: str | None


class Reading:
    """What a consumer sees of a queue."""

    __slots__ = ("began", "least", "op")

    def __init__(self, op: int | None, began: int, least: int) -> None:
        self.op = op
        """Its present pull."""
        self.began = began
        """The event with which that began."""
        self.least = least
        """The least offset that may come next of it."""


class DeliverOrder(Law):
    id = "deliver-order"
    promise = (
        "Unless it rewinds, a consumer sees a queue in offset order; an offset names the same message on master and "
        "slave."
    )
    source = "ProcessQueue; ConsumeQueue: every broker derives it from the same log"
    needs = frozenset({"invoke", "deliver"})

    def begin(self) -> None:
        self.readings: dict[tuple[int | None, str | None], Reading] = {}
        self.places: dict[tuple[str, str | None, int], Place] = {}

    def on_assign(self, event: Assign) -> None:
        self.readings.pop((event.process, event.queue), None)

    def on_deliver(self, event: Deliver) -> None:
        if event.queue_offset is None:
            return
        self.judged += 1
        self._judge_order(event, event.queue_offset)
        self._judge_place(event, event.queue_offset)

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

    def _judge_place(self, event: Deliver, offset: int) -> None:
        of = "" if event.node in PAIR else event.node or ""
        hi = event.hi or 0
        first = self.places.setdefault((of, event.queue, offset), Place(event.message, hi, event.node))
        if first.message == event.message:
            return
        cut = self.known.consumption.lost_from
        if cut is None or max(hi, first.hi) <= cut:
            self.violate(
                event, f"{event.queue} at {offset} is {event.message} from {event.node}, {first.message} it was "
                f"from {first.node}, and no crash took that"
            )  # fmt: skip
