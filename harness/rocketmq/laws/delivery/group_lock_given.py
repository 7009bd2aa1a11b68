"""``group-lock-given``: a member of an orderly group is refused a queue's lock only while another may hold it.

A broker that does not give a lock must have another holder: another member of the group to which it has given the lock,
which has not given it back, and which has asked for it within 60 s. So a member that leaves, or dies, does not keep
others from its queues for longer than that. A call for a lock of which nobody knows what became of it may have got it,
or may get it any time.

Left out: brokers whose clock was set; members that share a client id; whether members ask at all, see
``deliver-no-loss``. Other than most laws this one hears of another broker name's master, too.
Source: RebalanceLockManager.
"""

import json

from pairproof.harness.history import MS
from pairproof.harness.kinds.machine import Clock
from pairproof.harness.kinds.node import Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.groups import Lock
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.laws.delivery.group_lock_once import LIVES_NS, Key

SLACK_NS = 1_000 * MS
"""Brokers count milliseconds, and a lock goes when it is older than its life."""
EVER = 1 << 62


class Hold:
    """Until when a member may hold a lock."""

    __slots__ = ("open", "told", "until")

    def __init__(self) -> None:
        self.open: set[tuple[int, int]] = set()
        """Calls for it that have not ended, by process and number."""
        self.told = -1
        """When the last of them ended, ns."""
        self.until = -1
        """ns; EVER if nobody knows."""


class GroupLockGiven(Law):
    id = "group-lock-given"
    promise = "A member of an orderly group gets a queue's lock unless another member may hold it, within 60 s."
    source = "RebalanceLockManager.tryLockBatch, unlockBatch"
    needs = frozenset({"lock", "start", "crash"})
    deaf_to = frozenset()
    timed = True

    def begin(self) -> None:
        self.holds: dict[Key, dict[str, Hold]] = {}
        """By client."""
        self.asked: dict[tuple[int, int], tuple[int, list[str]]] = {}
        """Calls that have not ended: when they began, ns, and the queues."""
        self.ended: dict[str, int] = {}
        """Brokers that are not up, and since when, ns."""
        self.born: dict[str, int] = {}
        """When brokers were last seen to come up, ns."""
        self.left_out: set[str] = set()
        """Brokers whose clock was set."""

    def on_lock(self, event: Lock) -> None:
        call = (event.process, event.op)
        if event.status == "asked":
            queues = json.loads(event.detail)
            self.asked[call] = event.t, queues
            if event.f == "lock":
                for queue in queues:
                    self._hold(event, queue).open.add(call)
            return
        asked, queues = self.asked.pop(call, (event.t, []))
        held = set(json.loads(event.detail))
        for queue in queues:
            if event.f == "lock":
                self._ended(event, call, asked, queue, queue in held)
            elif event.status == "answered":
                self._given_back(event, asked, queue)

    def _ended(self, event: Lock, call: tuple[int, int], asked: int, queue: str, has_it: bool) -> None:
        hold = self._hold(event, queue)
        hold.open.discard(call)
        hold.told = event.t
        if event.status == "unknown":
            hold.until = EVER
        elif event.status == "answered" and has_it:
            hold.until = max(hold.until, event.t + LIVES_NS + SLACK_NS)
        elif event.status == "answered":
            self._judge(event, asked, queue)

    def _given_back(self, event: Lock, asked: int, queue: str) -> None:
        hold = self._hold(event, queue)
        if not hold.open and hold.told < asked and hold.until != EVER:
            # The question of another may have come before it.
            hold.until = min(hold.until, event.t)

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        self.ended.setdefault(event.node, event.t)

    on_stop = on_wipe = on_crash

    def on_start(self, event: Start) -> None:
        """It has forgotten its locks, but for what it may have given before anybody saw that it is back."""
        ended = self.ended.pop(event.node, event.t)
        self.born[event.node] = event.t
        for key, holds in self.holds.items():
            if key[0] == event.node:
                for hold in holds.values():
                    if hold.told < ended:
                        hold.until = min(hold.until, event.t)

    def on_clock(self, event: Clock) -> None:
        self.left_out.add(event.node)

    def _judge(self, event: Lock, asked: int, queue: str) -> None:
        if event.node in self.left_out or event.node in self.ended or asked < self.born.get(event.node, 0):
            return
        self.judged += 1
        others = self.holds[event.node, event.group, queue]
        if not any(hold.open or hold.until >= asked for client, hold in others.items() if client != event.client):
            text = f"{event.node} refuses {event.client} of {event.group} the lock of {queue}, which nobody else holds"
            self.violate(event, text, since=asked)

    def _hold(self, event: Lock, queue: str) -> Hold:
        holds = self.holds.setdefault((event.node, event.group, queue), {})
        return holds.setdefault(event.client, Hold())
