"""Mutants of who reads where: what brokers suggest, whom clients ask, whom a name server names."""

from collections.abc import Hashable
from typing import Any

from pairproof.chaos.mutants.mutant import CONSUMER, Mutant, consumer_with, name_server_with, with_parts
from pairproof.reference.client.process_queue import ProcessQueue
from pairproof.reference.client.pulling import Pulling as ConsumersPulling
from pairproof.reference.client.routes import MASTER_ID, Choice, Routes, choose
from pairproof.reference.client.settings import SECOND
from pairproof.reference.core.calls import Outcome
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.processors.pulling import Pulling
from pairproof.reference.core.reading import Found, Reader
from pairproof.reference.core.registration import PERIOD, Registration
from pairproof.reference.core.routes import RouteTable
from pairproof.reference.core.store import MessageStore
from pairproof.reference.ports import Conn
from pairproof.reference.wire.bodies import SubscriptionGroupConfig
from pairproof.reference.wire.bodies_client import MessageQueue

BLOCKED_NS = 30 * SECOND

# What brokers suggest.


class SplitsAlways(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return group.which_broker_when_consume_slowly if found.slow else group.broker_id


class KeepsTheSlow(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return super().suggestion(group, found._replace(slow=False))


class SendsHome(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return MASTER_ID


class WholeMemory(Reader):
    """Takes all of a machine's memory for the log's."""

    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        super().__init__(config, store)
        self.memory = config.totalMemory


class CountsWholeMemory(Pulling):
    reader_class = WholeMemory


# Whom consumers ask.


class AsksMasterFirst(ConsumersPulling):
    def choice(self, queue: MessageQueue) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, MASTER_ID)


class FollowsSuggestions(ConsumersPulling):
    def wanted(self, queue: MessageQueue) -> int:
        return self.suggested.get(queue, super().wanted(queue))


class NeverNext(ConsumersPulling):
    def choice(self, queue: MessageQueue) -> Choice | None:
        brokers = self.shared.routes.brokers.get(queue.broker_name, {})
        wanted = self.wanted(queue)
        return choose(brokers, wanted if wanted in brokers else min(brokers, default=MASTER_ID))


class PullsInOneThread(ConsumersPulling):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.blocked_until = 0

    def start(self, held: ProcessQueue, refreshed: bool = False) -> None:
        if self.shared.io.now() < self.blocked_until:
            self._later(held)
        else:
            super().start(held, refreshed)

    def _later(self, held: ProcessQueue) -> None:
        now = self.shared.io.now()
        if now >= self.blocked_until:
            self.blocked_until = now + BLOCKED_NS
        super()._later(held)


class KeepsFirstRoute(Routes):
    def _take(self, topic: str, outcome: Outcome) -> bool:
        return topic in self.topics or super()._take(topic, outcome)


class GivesQueuesUp(ConsumersPulling):
    def _later(self, held: ProcessQueue) -> None:
        """There is no later."""


# Whom name servers name.


class KeepsTheDead(RouteTable):
    def gone(self, conn: Conn) -> None:
        """It may come back."""


class NeverExpires(RouteTable):
    def expire(self, now: int) -> list[Conn]:
        return []


class RegistersOnce(Registration):
    def on_timer(self, key: Hashable) -> None:
        if key != PERIOD:
            super().on_timer(key)


ROUTING = (
    Mutant("splits_always", "master", with_parts(pulling_class=SplitsAlways), "read-split",
           "suggests a slave to the slow though slaveReadEnable is off"),
    Mutant("keeps_the_slow", "master", with_parts(pulling_class=KeepsTheSlow), "read-split",
           "suggests the group's usual broker to readers that lag"),
    Mutant("whole_memory", "master", with_parts(pulling_class=CountsWholeMemory), "read-split",
           "compares a reader's lag with all of the memory, not with the log's share"),
    Mutant("sends_home", "slave", with_parts(pulling_class=SendsHome), "read-split",
           "a slave suggests the master to those whose group wants the slave"),
    Mutant("asks_master_first", CONSUMER, consumer_with(pulling_class=AsksMasterFirst), "route-choice",
           "a consumer asks the master while there is one, whatever was suggested"),
    Mutant("follows_suggestions", CONSUMER, consumer_with(pulling_class=FollowsSuggestions), "route-choice",
           "a consumer asks the broker that was last suggested, though its user fixed another one"),
    Mutant("never_next", CONSUMER, consumer_with(pulling_class=NeverNext), "route-choice",
           "a consumer asks any broker where a suggested slave is missing, not the next one (before 4.8)"),
    Mutant("keeps_the_dead", "names", name_server_with(routes_class=KeepsTheDead), "route-expiry",
           "a name server names brokers whose connection has ended"),
    Mutant("never_expires", "names", name_server_with(routes_class=NeverExpires), "route-expiry",
           "a name server names brokers that have been silent for more than 120 s"),
    Mutant("registers_once", "slave", with_parts(registration_class=RegistersOnce), "route-expiry",
           "a broker does not register from time to time: a restarted name server never hears of it"),
    Mutant("pulls_in_one_thread", CONSUMER, consumer_with(pulling_class=PullsInOneThread), "mode-isolation",
           "a consumer pulls nothing while one broker name cannot be reached"),
    Mutant("keeps_first_route", CONSUMER, consumer_with(routes_class=KeepsFirstRoute), "mode-isolation",
           "a consumer never hears of a broker name that was away when it came"),
    Mutant("gives_queues_up", CONSUMER, consumer_with(pulling_class=GivesQueuesUp), "role-read-failover",
           "a consumer never again asks for a queue for which it could not ask once"),
)  # fmt: skip
