"""``deliver-orderly``: an orderly group receives each queue in order, by one member at a time: the holder of its lock.

Checks:
- A member of an orderly group receives messages only from queues that it has taken and locked. It asked for the lock at
  most 30 s ago (half of the brokers' 60 s, so that two members never rely on one lock), was not refused since, and has
  not released the lock.
- The group receives no message for the first time after a later one of its queue.
- Both also for masters of other broker names.
Abstains when:
- For the order: a log lost its end or its oldest files, a store was replaced, or offsetCheckInSlave is on.
Source: ConsumeMessageOrderlyService, ProcessQueue.isLockExpired (REBALANCE_LOCK_MAX_LIVE_TIME).
"""

import json
from dataclasses import dataclass, field

from ....event_types.client import Assign, Deliver
from ....history import MS
from ....judging.law import EventFilter
from ...event_types.groups import Lock
from ...known.consumption import PAIR
from ...law import Law

VALID_NS = 30_000 * MS
"""REBALANCE_LOCK_MAX_LIVE_TIME of consumers."""

Key = tuple[int, str, str]
"""A consumer's process, the queue's broker (empty: the pair's), and the queue."""


@dataclass(slots=True, eq=False)
class Received:
    last: int = -1
    offsets: set[int] = field(default_factory=set)


class DeliverOrderly(Law):
    needs = frozenset({"lock", "deliver", "assign", "consumer"})
    ignored_nodes = frozenset()
    awaits = {"consumer": EventFilter(frozenset({"orderly"}))}
    timed = True

    def begin(self) -> None:
        self.locks: dict[Key, int] = {}
        """Locks that a member relies on: its last request, ns."""
        self.taken: set[Key] = set()
        self.received: dict[tuple[str, str, str], Received] = {}
        """By group, broker and queue."""

    def on_lock(self, event: Lock) -> None:
        owner = _owner(event.node)
        if event.f == "unlock":
            if event.status == "asked":
                for queue in json.loads(event.detail):
                    self.locks.pop((event.process, owner, queue), None)
        elif event.status == "answered" and (begun := self.known.calls.asked(event)) is not None:
            held = set(json.loads(event.detail))
            for key in [(event.process, owner, queue) for queue in json.loads(begun.call.detail)]:
                self.locks.pop(key, None)
                if key[2] in held:
                    self.locks[key] = begun.call.t

    def on_assign(self, event: Assign) -> None:
        if self.known.consumption.is_orderly(event.process):
            key = (event.process, _owner(event.node), event.queue)
            (self.taken.add if event.status == "on" else self.taken.discard)(key)

    def on_deliver(self, event: Deliver) -> None:
        if event.group is None or not self.known.consumption.is_orderly(event.process):
            return
        self.judged += 1
        key = (event.process, _owner(event.node), event.queue)
        asked, what = self.locks.get(key), f"{event.queue} at {event.queue_offset} came to process {event.process}"
        if key not in self.taken:
            self.violate(event, f"{what} of {event.group}, which has not taken the queue", since=None)
        elif asked is None:
            self.violate(event, f"{what} of {event.group}, which does not hold the queue's lock", since=None)
        elif event.t - asked > VALID_NS + self.known.healthy_ns:
            late = (event.t - asked) // MS
            self.violate(event, f"{what} of {event.group}, which last asked for the lock {late} ms ago", since=asked)
        self._judge_order(event, self.received.setdefault((event.group, key[1], event.queue), Received()))

    def _judge_order(self, event: Deliver, received: Received) -> None:
        offset = event.queue_offset
        if offset in received.offsets:
            return
        # Offsets are in send order only if no log has lost its beginning.
        in_order = not self.known.stores.lost and not any(self.known.logs.starts.values())
        if offset < received.last and in_order and not self.known.consumption.corrects_on_slaves():
            text = f"{event.queue} at {offset} came to {event.group} for the first time when {received.last} had come"
            self.violate(event, text, since=None)
        received.offsets.add(offset)
        received.last = max(received.last, offset)


def _owner(node: str | None) -> str:
    return "" if node is None or node in PAIR else node
