"""``query-members``: a broker names the consumers of a group: those that live, and no more than had the time to go.

A consumer tells every broker of its route that it is there, every 30 s. So once it, the route and the broker have been
there for longer than that, undisturbed, the broker names it. A consumer that went without a word may be named for two
minutes more. Counted, not compared by name: a history does not have client ids. A client that has connected again may
be named twice meanwhile, and counts once. Left out: brokers that a consumer's route does not lead to; masters of other
broker names. Source: ConsumerManager, ClientHousekeepingService, MQClientInstance.sendHeartbeatToAllBrokerWithLock.
"""

import json

from ....event_types.client import Consumer, Route
from ....history import MS, Event
from ....judging.law import EVERY, EventFilter, only
from ....texts.content import payload
from ...event_types.answers import Answer
from ...law import Law
from .asked import NOT_ANSWERED

HEARTBEAT_NS = 30_000 * MS
HEARD_NS = HEARTBEAT_NS + 15_000 * MS
"""A call that is lost takes up to 3 s, and a connection up to 5 s; the next heartbeat comes 30 s after the last one."""
FORGOTTEN_NS = 120_000 * MS + 2 * 10_000 * MS
"""CHANNEL_EXPIRED_TIMEOUT, and a look every 10 s."""


class QueryMembers(Law):
    id = "query-members"
    promise = "A broker names the living consumers of a group, and forgets those that went within two minutes."
    source = "ConsumerManager; MQClientInstance.sendHeartbeatToAllBrokerWithLock"
    needs = frozenset({"answer", "consumer", "route"})
    awaits = {"consumer": EVERY, "answer": EventFilter(frozenset({"members"}))}
    timed = True

    def begin(self) -> None:
        self.came: dict[int, tuple[str, int]] = {}
        """Living consumers by process: group, and since when."""
        self.went: list[tuple[str, int]] = []
        """Groups that a consumer left, and when."""
        self.leads: dict[tuple[int, str], int] = {}
        """Since when a consumer's route has led to a broker."""

    def on_consumer(self, event: Consumer) -> None:
        if event.status == "on":
            self.came[event.process] = event.group, event.t
        elif self.came.pop(event.process, None) is not None:
            self.went.append((event.group, event.t))

    def on_route(self, event: Route) -> None:
        if event.process not in self.came:
            return
        nodes = set(map(str, payload(event.detail).values())) if event.status == "found" else set()
        for process, node in [key for key in self.leads if key[0] == event.process]:
            if node not in nodes:
                del self.leads[process, node]
        for node in sorted(nodes):
            self.leads.setdefault((event.process, node), event.t)

    @only("members")
    def on_answer(self, event: Answer) -> None:
        if event.status in NOT_ANSWERED:
            return
        named = len(set(json.loads(event.detail or "[]"))) if event.status == "PUT_OK" else 0
        living = [(process, since) for process, (group, since) in self.came.items() if group == event.group]
        due = [each for each in living if self._is_heard(event, *each)]
        most = len(living) + sum(group == event.group and event.t - t < FORGOTTEN_NS for group, t in self.went)
        self.judged += 1
        if not len(due) <= named <= most:
            told = f"{len(due)}" if len(due) == most else f"{len(due)} to {most}"
            who = f"{event.node} names {named} consumers of {event.group}"
            self.violate(event, f"{who}; {told} should be known there", since=event.t - FORGOTTEN_NS)

    def _is_heard(self, event: Event, process: int, since: int) -> bool:
        """Whether the broker must have had a heartbeat of a consumer."""
        disturbances, leads = self.known.disturbances, self.leads.get((process, event.node or ""))
        if leads is None or any(disturbances.is_unavailable(node) for node in self.known.up):
            return False
        # After a fault, or without power, the next heartbeat may only show that the connection is dead.
        lost_power = self.known.nodes.lost_power_at.values()
        faults = [*(each.t for each in disturbances.active.values()), *disturbances.ended.values(), *lost_power]
        disturbed = max((t + HEARTBEAT_NS for t in faults), default=0)
        return event.t - max(since, leads, disturbed, self.known.disturbed_at()) >= HEARD_NS
