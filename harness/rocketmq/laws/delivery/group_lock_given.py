"""``group-lock-given``: a member of an orderly group gets a queue's lock within 60 s, unless another member may hold
it.

Checks:
- When a broker refuses a lock, another member may hold it: it received the lock, has not released it, and asked for it
  within 60 s. So a member that leaves or dies blocks others for no longer.
- A member with an unanswered request counts as a holder.
- All of this also at masters of other broker names.
Abstains when:
- The broker's clock was set.
- Members share a client id.
Source: RebalanceLockManager.tryLockBatch, unlockBatch.
"""

import json
from dataclasses import dataclass

from ....history import MS
from ...event_types.groups import Lock
from ...law import Law
from .group_lock_once import EVER, EXPIRY_NS, Key, open_calls

SLACK_NS = 1_000 * MS
"""Brokers count milliseconds, and expire a lock only after its time."""


@dataclass(slots=True, eq=False)
class Hold:
    ended_at: int = -1
    until: int = -1
    """ns; EVER if unknown."""


class GroupLockGiven(Law):
    needs = frozenset({"lock", "start", "crash"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.holds: dict[Key, dict[str, Hold]] = {}
        """By client."""

    def on_lock(self, event: Lock) -> None:
        begun = self.known.calls.asked(event)
        if begun is None or event.status == "asked":
            return
        held = set(json.loads(event.detail))
        for queue in json.loads(begun.call.detail):
            if event.f == "lock":
                self._ended(event, begun.call.t, queue, queue in held)
            elif event.status == "answered":
                self._given_back(event, begun.call.t, queue)

    def _ended(self, event: Lock, asked: int, queue: str, has_it: bool) -> None:
        hold = self._hold(event, queue)
        hold.ended_at = event.t
        if event.status == "unknown":
            hold.until = EVER
        elif event.status == "answered" and has_it:
            hold.until = max(hold.until, event.t + EXPIRY_NS + SLACK_NS)
        elif event.status == "answered":
            self._judge(event, asked, queue)

    def _given_back(self, event: Lock, asked: int, queue: str) -> None:
        hold, others = self._hold(event, queue), self._open(event, queue)
        if event.client not in others and hold.ended_at < asked and hold.until != EVER:
            # Another client's request may have arrived before it.
            hold.until = min(hold.until, event.t)

    def _judge(self, event: Lock, asked: int, queue: str) -> None:
        nodes = self.known.nodes
        if event.node in self.known.clocks or event.node in nodes.down or asked < nodes.last_start(event.node):
            return
        self.judged += 1
        may_have_it = {client for client, hold in self._holds(event, queue).items() if hold.until >= asked}
        if not (may_have_it | self._open(event, queue)) - {event.client}:
            text = f"{event.node} refuses {event.client} of {event.group} the lock of {queue}, which nobody else holds"
            self.violate(event, text, since=asked)

    def _open(self, event: Lock, queue: str) -> set[str]:
        """Clients with a lock request in flight, except the one that ends."""
        calls = open_calls(self.known, event.node, event.group, queue)
        return {each.client for each in calls if each.f == "lock" and (each.process, each.op) != _call(event)}

    def _holds(self, event: Lock, queue: str) -> dict[str, Hold]:
        key = (event.node, self.known.nodes.ended(event.node), event.group, queue)
        return self.holds.setdefault(key, {})

    def _hold(self, event: Lock, queue: str) -> Hold:
        return self._holds(event, queue).setdefault(event.client, Hold())


def _call(event: Lock) -> tuple[int, int]:
    return event.process, event.op
