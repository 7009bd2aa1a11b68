"""``group-lock-once``: at most one member of an orderly group holds a queue's lock.

Checks:
- Two members receive the lock of one queue only if more than 60 s, the lock's time, lie between the first one's request
  and the second one's answer, or if the lock may have been released. An unlock without a known answer may arrive at any
  time.
- All of this also at masters of other broker names.
Abstains when:
- The lock is of an earlier incarnation of the broker: locks are only in memory.
- The broker's clock was set.
- Members share a client id.
Source: RebalanceLockManager: a lock is one client's for 60 s.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from ....history import MS
from ...event_types.groups import Lock
from ...known.model import Known
from ...law import Law

EXPIRY_NS = 60_000 * MS
"""REBALANCE_LOCK_MAX_LIVE_TIME of brokers."""
EVER = 1 << 62
Key = tuple[str, int, str, str]
"""A lock: broker, its incarnation, group and queue."""


class Grant(NamedTuple):
    """A lock that a member received; both times in ns."""

    asked: int
    answered: int


class GroupLockOnce(Law):
    needs = frozenset({"lock", "start", "crash"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.grants: dict[Key, dict[str, Grant]] = {}
        """By client."""
        self.released: dict[tuple[str, str, str, str], int] = {}
        """By broker, group, queue and client: the last answered unlock, ns; EVER if its answer is unknown."""

    def on_lock(self, event: Lock) -> None:
        known = self.known
        if event.f == "lock":
            begun = known.calls.asked(event) if event.status == "answered" else None
            # Before a restarted broker's start is recorded, the incarnation that answered is unknown.
            if begun is not None and known.calls.is_current(event) and event.node not in known.nodes.down:
                self._granted(event, Grant(begun.call.t, event.t))
        elif event.status in ("answered", "unknown"):
            at = event.t if event.status == "answered" else EVER
            for queue in json.loads(event.detail):
                lock = (event.node, event.group, queue, event.client)
                self.released[lock] = max(self.released.get(lock, -1), at)

    def _granted(self, event: Lock, grant: Grant) -> None:
        if event.node in self.known.clocks:
            return
        for queue in json.loads(event.detail):
            key = (event.node, self.known.nodes.ended(event.node), event.group, queue)
            grants = self.grants.setdefault(key, {})
            grants[event.client] = grant
            for client, other in grants.items():
                if client != event.client:
                    self.judged += 1
                    self._judge(event, key, client, other, grant)

    def _judge(self, event: Lock, key: Key, client: str, other: Grant, grant: Grant) -> None:
        first = min(other.asked, grant.asked)
        if event.t - first >= EXPIRY_NS or self._may_be_released(key, client, other.asked):
            return
        if grant.asked <= other.answered and self._may_be_released(key, event.client, grant.asked):
            return
        node, _, group, queue = key
        text = f"{event.client} and {client} of {group} both hold the lock of {queue} at {node}"
        self.violate(event, text, since=first)

    def _may_be_released(self, key: Key, client: str, since: int) -> bool:
        """Whether the broker may have received this client's unlock since then."""
        node, _, group, queue = key
        return self.released.get((node, group, queue, client), -1) >= since or any(
            each.f == "unlock" for each in open_calls(self.known, node, group, queue) if each.client == client
        )


def open_calls(known: Known, node: str, group: str, queue: str) -> Iterator[Lock]:
    """Lock and unlock requests in flight."""
    for begun in known.calls.questions(Lock):
        call = begun.call
        if (call.node, call.group) == (node, group) and queue in json.loads(call.detail):
            yield call
