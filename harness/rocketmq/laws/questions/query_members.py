"""``query-members``: a broker names the running consumers of a group, and forgets those that left within two minutes.

Checks:
- The number of consumers that the broker names: at least those whose heartbeat must have arrived, at most the running
  ones and those that left less than ``FORGOTTEN_NS`` before. A heartbeat must arrive once consumer, route and broker
  have been undisturbed for ``ARRIVAL_NS``. Histories have no client ids; a client named twice, as after a reconnect,
  counts once.
Abstains when:
- The consumer's route does not name the broker, or the master has another broker name.
Source: ConsumerManager, ClientHousekeepingService, MQClientInstance.sendHeartbeatToAllBrokerWithLock (every 30 s).
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
ARRIVAL_NS = HEARTBEAT_NS + 15_000 * MS
"""A lost call takes up to 3 s, a connection up to 5 s, and the next heartbeat comes 30 s after the last one."""
FORGOTTEN_NS = 120_000 * MS + 2 * 10_000 * MS
"""CHANNEL_EXPIRED_TIMEOUT, and a scan every 10 s."""


class QueryMembers(Law):
    needs = frozenset({"answer", "consumer", "route"})
    awaits = {"consumer": EVERY, "answer": EventFilter(frozenset({"members"}))}
    timed = True

    def begin(self) -> None:
        self.left: list[tuple[str, int]] = []
        self.routed_since: dict[tuple[int | None, str], int] = {}

    def on_consumer(self, event: Consumer) -> None:
        if event.status != "on" and event.process in self.known.consumption.consumers:
            self.left.append((event.group, event.t))

    def on_route(self, event: Route) -> None:
        if event.process not in self.known.consumption.consumers:
            return
        nodes = set(map(str, payload(event.detail).values())) if event.status == "found" else set()
        for process, node in [key for key in self.routed_since if key[0] == event.process]:
            if node not in nodes:
                del self.routed_since[process, node]
        for node in sorted(nodes):
            self.routed_since.setdefault((event.process, node), event.t)

    @only("members")
    def on_answer(self, event: Answer) -> None:
        if event.status in NOT_ANSWERED:
            return
        named = len(set(json.loads(event.detail or "[]"))) if event.status == "PUT_OK" else 0
        members = self.known.consumption.consumers.items()
        running = [(process, each.since) for process, each in members if each.group == event.group]
        due = [each for each in running if self._must_be_named(event, *each)]
        most = len(running) + sum(group == event.group and event.t - t < FORGOTTEN_NS for group, t in self.left)
        self.judged += 1
        if not len(due) <= named <= most:
            allowed = f"{len(due)}" if len(due) == most else f"{len(due)} to {most}"
            who = f"{event.node} names {named} consumers of {event.group}"
            self.violate(event, f"{who}; {allowed} should be known there", since=event.t - FORGOTTEN_NS)

    def _must_be_named(self, event: Event, process: int | None, since: int) -> bool:
        """Whether a heartbeat of the consumer must have arrived."""
        disturbances, routed = self.known.disturbances, self.routed_since.get((process, event.node or ""))
        if routed is None or any(disturbances.is_unavailable(node) for node in self.known.up):
            return False
        # After a fault or a power loss the next heartbeat may only find the connection dead.
        lost_power = self.known.nodes.lost_power_at.values()
        faults = [*(each.t for each in disturbances.active.values()), *disturbances.ended.values(), *lost_power]
        disturbed = max((t + HEARTBEAT_NS for t in faults), default=0)
        return event.t - max(since, routed, disturbed, self.known.disturbed_at()) >= ARRIVAL_NS
