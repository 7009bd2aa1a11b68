"""What a simulated trial has besides the pair where there is a name server: consumers, and a longer end.

At its end everybody who runs must have come to rest, also those who look only every so often: delayed messages are
delivered and consumers catch up, or a bound passes; then a period of the slaves' metadata sync is quiet, and 12 s for
its calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.chaos.targets.reference import NAME_SERVER
from pairproof.harness.history import MS
from pairproof.harness.rocketmq import places
from pairproof.reference.core.delay import SCHEDULE_TOPIC, queue_of_level
from pairproof.reference.wire.bodies_client import MessageQueue

if TYPE_CHECKING:
    from pairproof.chaos.labs.sim.session import SimSession

LOOK_NS = 1_000 * MS
CATCH_UP_NS = 180_000 * MS
"""Routes are asked for every 30 s, a group shared out every 20 s, a lost member missed after 120 s."""
CALLS_NS = 12_000 * MS


class Whole:
    """``machine`` makes a consumer's machine."""

    def __init__(self, session: SimSession, machine: Callable[[str], Host]) -> None:
        self.session = session
        build, fixed = session.target.consumer_class(), places.chosen_by_user(session.settings)
        self.consumers = Consumers(session.clients, machine, build, NAME_SERVER, fixed)

    def settle(self) -> None:
        """Until consumers have caught up, or the bound passes; then quiet."""
        for _ in range(CATCH_UP_NS // LOOK_NS):
            if not self._waits() and self.consumers.stand_at(self._ends()):
                break
            self.session.run_until(_never, LOOK_NS)
        self.session.run_until(_never, self.session.target.sync_period_ms(self.session.settings) * MS + CALLS_NS)

    def _ends(self) -> dict[MessageQueue, int]:
        """The next offset of each of the topic's queues."""
        found = {}
        for name in (places.MASTER, places.OTHER):
            broker = self.session.broker(name) if name in self.session.hosts else None
            topic = broker.parts.topics.get(TOPIC) if broker is not None else None
            if broker is not None and topic is not None:
                for number in range(topic.read_queue_nums):
                    queue = MessageQueue(TOPIC, broker.config.brokerName, number)
                    found[queue] = broker.store.queues.next_offset(TOPIC, number)
        return found

    def _waits(self) -> bool:
        """Whether the master still holds delayed messages back."""
        master = self.session.broker(places.MASTER)
        if master is None:
            return False
        queues = master.store.queues
        return any(
            at < queues.next_offset(SCHEDULE_TOPIC, queue_of_level(level)) for level, at in master.delivery.next.items()
        )


def _never() -> bool:
    return False
