"""``group-lock-once``: of the members of an orderly group at most one holds a queue's lock.

A broker gives a lock for 60 s. Judged where two members were told that they hold the lock of one queue: the time from
the first one's question to the second one's answer must be longer than that, unless a lock was given back meanwhile. An
unlock of which nobody knows what became of it may come at any time.

Left out: what was locked before a broker ended, since locks are in its memory only; brokers whose clock was set;
members that share a client id; whether anybody consumes without a lock, see ``deliver-orderly``. Other than most laws
this one hears of another broker name's master, too. Source: RebalanceLockManager.
"""

import json
from typing import NamedTuple

from pairproof.harness.history import MS
from pairproof.harness.kinds.machine import Clock
from pairproof.harness.kinds.node import Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.groups import Lock
from pairproof.harness.rocketmq.law import Law

LIVES_NS = 60_000 * MS
"""REBALANCE_LOCK_MAX_LIVE_TIME, of brokers."""

Key = tuple[str, str, str]
"""A lock: broker, group, queue."""


class Grant(NamedTuple):
    """A member holds a lock: when it asked and was told so, ns."""

    asked: int
    told: int


class Unlocks:
    """What a member gave back of one lock."""

    __slots__ = ("last", "open")

    def __init__(self) -> None:
        self.open: set[tuple[int, int]] = set()
        """Calls that may still come to the broker, by process and number."""
        self.last = -1
        """When the last answer came, ns."""


class GroupLockOnce(Law):
    id = "group-lock-once"
    promise = "At most one member of an orderly group holds a queue's lock."
    source = "RebalanceLockManager: a lock is one client's for 60 s"
    needs = frozenset({"lock", "start", "crash"})
    deaf_to = frozenset()
    timed = True

    def begin(self) -> None:
        self.asked: dict[tuple[int, int], tuple[str, int]] = {}
        """Calls for locks that have not ended: the broker, and when they began, ns."""
        self.grants: dict[Key, dict[str, Grant]] = {}
        """By client."""
        self.unlocks: dict[tuple[Key, str], Unlocks] = {}
        self.down: set[str] = set()
        self.left_out: set[str] = set()
        """Brokers whose clock was set."""

    def on_lock(self, event: Lock) -> None:
        call = (event.process, event.op)
        if event.f == "lock":
            if event.status == "asked":
                if event.node not in self.down:
                    self.asked[call] = event.node, event.t
            else:
                _, asked = self.asked.pop(call, ("", -1))
                if asked >= 0 and event.status == "answered":
                    self._granted(event, Grant(asked, event.t))
            return
        for queue in json.loads(event.detail):
            found = self.unlocks.setdefault(((event.node, event.group, queue), event.client), Unlocks())
            if event.status == "asked":
                found.open.add(call)
            elif event.status != "unknown":
                found.open.discard(call)
                if event.status == "answered":
                    found.last = event.t

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        """A broker forgets its locks. Nobody knows which of the two gave what is answered until it is seen again."""
        self.down.add(event.node)
        for key in [key for key in self.grants if key[0] == event.node]:
            del self.grants[key]
        for call in [call for call, (node, _) in self.asked.items() if node == event.node]:
            del self.asked[call]

    on_stop = on_wipe = on_crash

    def on_start(self, event: Start) -> None:
        self.down.discard(event.node)

    def on_clock(self, event: Clock) -> None:
        self.left_out.add(event.node)

    def _granted(self, event: Lock, grant: Grant) -> None:
        if event.node in self.left_out:
            return
        for queue in json.loads(event.detail):
            key = (event.node, event.group, queue)
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
        text = f"{event.client} and {client} of {key[1]} both hold the lock of {key[2]} at {key[0]}"
        self.violate(event, text, since=first)

    def _may_be_back(self, key: Key, client: str, since: int) -> bool:
        """Whether the broker may have had an unlock of this client since then."""
        found = self.unlocks.get((key, client))
        return found is not None and (bool(found.open) or found.last >= since)
