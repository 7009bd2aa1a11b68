"""``deliver-orderly``: a member of an orderly group consumes a queue only while its lock counts, and the group gets
each queue in order.

Each message that such a member is given lies in a queue that it has taken, of which a broker has told it that it holds
the lock; it asked so at most 30 s ago (half of what brokers give a lock, so that two members never count on the same
one), has not been refused since, and has not given the lock back. Whatever members there are, no message comes to the
group for the first time when a later one of its queue has come.

Left out: the order, once any log lost a part, whether its end or its oldest files, or a broker got another store, or
where slaves may send consumers elsewhere (offsetCheckInSlave). Other than most laws this one hears of another broker
name's master, too. Source: ConsumeMessageOrderlyService, ProcessQueue.REBALANCE_LOCK_MAX_LIVE_TIME.
"""

import json

from ....event_types.client import Assign, Deliver
from ....history import MS
from ....judging.law import EventFilter
from ...event_types.groups import Lock
from ...known.consumption import PAIR
from ...law import Law

COUNTS_NS = 30_000 * MS
"""REBALANCE_LOCK_MAX_LIVE_TIME, of consumers."""

Place = tuple[int, str, str]
"""A consumer's process, whose queue it is (empty: the pair's), and the queue."""


class Came:
    """What a group has had of a queue."""

    __slots__ = ("last", "offsets")

    def __init__(self) -> None:
        self.last = -1
        self.offsets: set[int] = set()


class DeliverOrderly(Law):
    id = "deliver-orderly"
    promise = "An orderly group gets each queue in order, by one member at a time: the one whose lock counts."
    source = "ConsumeMessageOrderlyService; ProcessQueue.isLockExpired"
    needs = frozenset({"lock", "deliver", "assign", "consumer"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EventFilter(frozenset({"orderly"}))}
    timed = True

    def begin(self) -> None:
        self.counts: dict[Place, int] = {}
        """Locks that a member counts on: when it asked for them last, ns."""
        self.taken: set[Place] = set()
        self.came: dict[tuple[str, str, str], Came] = {}
        """By group, whose queue, and queue."""

    def on_lock(self, event: Lock) -> None:
        whose = _whose(event.node)
        if event.f == "unlock":
            if event.status == "asked":
                for queue in json.loads(event.detail):
                    self.counts.pop((event.process, whose, queue), None)
        elif event.status == "answered" and (begun := self.known.calls.asked(event)) is not None:
            held = set(json.loads(event.detail))
            for place in [(event.process, whose, queue) for queue in json.loads(begun.call.detail)]:
                self.counts.pop(place, None)
                if place[2] in held:
                    self.counts[place] = begun.call.t

    def on_assign(self, event: Assign) -> None:
        if self.known.consumption.is_orderly(event.process):
            place = (event.process, _whose(event.node), event.queue)
            (self.taken.add if event.status == "on" else self.taken.discard)(place)

    def on_deliver(self, event: Deliver) -> None:
        if event.group is None or not self.known.consumption.is_orderly(event.process):
            return
        self.judged += 1
        place = (event.process, _whose(event.node), event.queue)
        asked, what = self.counts.get(place), f"{event.queue} at {event.queue_offset} came to process {event.process}"
        if place not in self.taken:
            self.violate(event, f"{what} of {event.group}, which has not taken the queue", since=None)
        elif asked is None:
            self.violate(event, f"{what} of {event.group}, which does not hold the queue's lock", since=None)
        elif event.t - asked > COUNTS_NS + self.known.healthy_ns:
            late = (event.t - asked) // MS
            self.violate(event, f"{what} of {event.group}, which last asked for the lock {late} ms ago", since=asked)
        self._judge_order(event, self.came.setdefault((event.group, place[1], event.queue), Came()))

    def _judge_order(self, event: Deliver, came: Came) -> None:
        offset = event.queue_offset
        if offset in came.offsets:
            return
        # Offsets say which message comes first only where all logs begin at their beginning.
        in_order = not self.known.stores.lost and not any(self.known.logs.starts.values())
        if offset < came.last and in_order and not self.known.consumption.corrects_on_slaves():
            text = f"{event.queue} at {offset} came to {event.group} for the first time when {came.last} had come"
            self.violate(event, text, since=None)
        came.offsets.add(offset)
        came.last = max(came.last, offset)


def _whose(node: str | None) -> str:
    return "" if node is None or node in PAIR else node
