"""``group-lock-once``: of the members of an orderly group at most one holds a queue's lock.

A broker gives a lock for 60 s. Judged where two members were told that they hold the lock of one queue: the time from
the first one's question to the second one's answer must be longer than that, unless a lock was given back meanwhile. An
unlock of which nobody knows what became of it may come at any time.

Left out: what was locked before a broker ended, since locks are in its memory only; brokers whose clock was set;
members that share a client id; whether anybody consumes without a lock, see ``deliver-orderly``. Other than most laws
this one hears of another broker name's master, too. Source: RebalanceLockManager.
"""

import json
from collections.abc import Iterator
from typing import NamedTuple

from ....history import MS
from ...event_types.groups import Lock
from ...known.model import Known
from ...law import Law

LIVES_NS = 60_000 * MS
"""REBALANCE_LOCK_MAX_LIVE_TIME, of brokers."""

EVER = 1 << 62
Key = tuple[str, int, str, str]
"""A lock: broker and its incarnation, which forgets with its process; group and queue."""


class Grant(NamedTuple):
    """A member holds a lock: when it asked and was told so, ns."""

    asked: int
    told: int


class GroupLockOnce(Law):
    id = "group-lock-once"
    promise = "At most one member of an orderly group holds a queue's lock."
    source = "RebalanceLockManager: a lock is one client's for 60 s"
    needs = frozenset({"lock", "start", "crash"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.grants: dict[Key, dict[str, Grant]] = {}
        """By client."""
        self.given_back: dict[tuple[str, str, str, str], int] = {}
        """By broker, group, queue and client: when it was last answered that it has given the lock back, ns; EVER if
        nobody knows what became of that."""

    def on_lock(self, event: Lock) -> None:
        known = self.known
        if event.f == "lock":
            begun = known.calls.asked(event) if event.status == "answered" else None
            # Until a broker is seen to be back nobody knows which incarnation of it gave what is answered.
            if begun is not None and known.calls.is_current(event) and event.node not in known.nodes.down:
                self._granted(event, Grant(begun.call.t, event.t))
        elif event.status in ("answered", "unknown"):
            at = event.t if event.status == "answered" else EVER
            for queue in json.loads(event.detail):
                lock = (event.node, event.group, queue, event.client)
                self.given_back[lock] = max(self.given_back.get(lock, -1), at)

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
        if event.t - first >= LIVES_NS or self._may_be_back(key, client, other.asked):
            return
        if grant.asked <= other.told and self._may_be_back(key, event.client, grant.asked):
            return
        node, _, group, queue = key
        text = f"{event.client} and {client} of {group} both hold the lock of {queue} at {node}"
        self.violate(event, text, since=first)

    def _may_be_back(self, key: Key, client: str, since: int) -> bool:
        """Whether the broker may have had an unlock of this client since then."""
        node, _, group, queue = key
        return self.given_back.get((node, group, queue, client), -1) >= since or any(
            each.f == "unlock" for each in open_calls(self.known, node, group, queue) if each.client == client
        )


def open_calls(known: Known, node: str, group: str, queue: str) -> Iterator[Lock]:
    """Questions for a lock, and to give it back, that are under way."""
    for begun in known.calls.questions(Lock):
        call = begun.call
        if (call.node, call.group) == (node, group) and queue in json.loads(call.detail):
            yield call
