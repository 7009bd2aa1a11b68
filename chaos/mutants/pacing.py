"""Mutants of clients' timers: heartbeats, polls, rebalances, and pulls."""

from __future__ import annotations

from ...reference.client.consumer import Consumer
from ...reference.client.process_queue import ProcessQueue
from ...reference.client.producer import Producer
from ...reference.client.progress import Progress
from ...reference.client.pulling import Pulling
from ...reference.client.queue_locking import QueueLocking
from ...reference.client.rebalancing import Rebalancing
from ...reference.client.settings import SECOND
from .mutant import CONSUMER, PRODUCER, seeded

OTHERWISE_NS = 10 * SECOND


@seeded(
    CONSUMER,
    "client-paced",
    "sends heartbeats every 40 s: enough to stay registered, but too rarely",
)
class BeatsRarely(Consumer):
    def beat(self) -> None:
        super().beat()
        self.alarms.after(4 * OTHERWISE_NS, "heartbeat")


@seeded(PRODUCER, "client-paced", "beats every 10 s")
class BeatsOften(Producer):
    def beat(self) -> None:
        super().beat()
        self.alarms.after(OTHERWISE_NS, "heartbeat")


@seeded(CONSUMER, "client-paced", "rebalances at every notice of a change, without a minimum interval")
class NeverRests(Rebalancing):
    def soon(self, delay_ns: int = 0) -> None:
        self._last = None
        super().soon(delay_ns)


@seeded(CONSUMER, "queue-paced", "retries a failed pull at once")
class PullsAtOnce(Pulling):
    def _later(self, held: ProcessQueue) -> None:
        self.shared.alarms.after(0, "pull", held.queue)


@seeded(CONSUMER, "queue-paced", "commits its progress every 10 s")
class TellsRarely(Progress):
    def commit_all(self) -> None:
        super().commit_all()
        self.shared.alarms.after(OTHERWISE_NS, "commit")


@seeded(CONSUMER, "queue-paced", "renews its locks every 10 s")
class RenewsOften(QueueLocking):
    def renew(self) -> None:
        super().renew()
        self.shared.alarms.after(OTHERWISE_NS, "locks")


@seeded(CONSUMER, "client-paced", "says no goodbye to slaves")
class LeavesSlavesOut(Consumer):
    def _unregister(self) -> None:
        routes, addresses = self.routes, self.routes.addresses
        routes.addresses = lambda masters_only: addresses(masters_only=True)  # type: ignore[method-assign]
        super()._unregister()
