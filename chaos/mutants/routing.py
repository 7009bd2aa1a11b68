"""Mutants of routing: brokers' suggestions, clients' choices, name servers' routes."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from ...reference.client.process_queue import ProcessQueue
from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.client.routes import MASTER_ID, Choice, Routes, choose
from ...reference.client.settings import SECOND
from ...reference.core.broker import Broker
from ...reference.core.calls import Outcome
from ...reference.core.config import BrokerConfig
from ...reference.core.processors.pulling import Pulling
from ...reference.core.reading import Found, Reader
from ...reference.core.registration import PERIOD, Registration
from ...reference.core.routes import Identity, Master, RouteTable
from ...reference.core.store import MessageStore
from ...reference.ports import Conn
from ...reference.wire.bodies import SubscriptionGroupConfig, TopicConfig
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.bodies_route import BrokerData, RegisterBrokerBody, TopicRouteData
from .mutant import CONSUMER, seeded

BLOCKED_NS = 30 * SECOND

# Brokers' suggestions.


@seeded("master", "read-split", "suggests a slave to slow readers although slaveReadEnable is off")
class SplitsAlways(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return group.which_broker_when_consume_slowly if found.slow else group.broker_id


@seeded("master", "read-split", "suggests the group's usual broker to readers that lag")
class KeepsTheSlow(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return super().suggestion(group, found._replace(slow=False))


@seeded("slave", "read-split", "a slave suggests the master to readers whose group is set to the slave")
class SendsHome(Pulling):
    def suggestion(self, group: SubscriptionGroupConfig, found: Found) -> int:
        return MASTER_ID


@seeded("master", "read-split", "compares a reader's lag with all memory, not with the log's share")
class WholeMemory(Reader):
    def __init__(self, config: BrokerConfig, store: MessageStore) -> None:
        super().__init__(config, store)
        self.memory = config.totalMemory


# Consumers' choices.


@seeded(CONSUMER, "route-choice", "a consumer reads from the master while there is one, ignoring suggestions")
class AsksMasterFirst(ConsumersPulling):
    def choice(self, queue: MessageQueue) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, MASTER_ID)


@seeded(CONSUMER, "route-choice", "a consumer reads from the last suggested broker although its user fixed another one")
class FollowsSuggestions(ConsumersPulling):
    def wanted(self, queue: MessageQueue) -> int:
        return self.suggested.get(queue, super().wanted(queue))


@seeded(
    CONSUMER,
    "route-choice",
    "a consumer reads from any broker if the suggested slave is missing, not from the next one",
    seen_in="<4.8",
)
class NeverNext(ConsumersPulling):
    def choice(self, queue: MessageQueue) -> Choice | None:
        brokers = self.shared.routes.brokers.get(queue.broker_name, {})
        wanted = self.wanted(queue)
        return choose(brokers, wanted if wanted in brokers else min(brokers, default=MASTER_ID))


@seeded(CONSUMER, "mode-isolation", "a consumer pulls nothing while one broker name is unreachable")
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


@seeded(CONSUMER, "mode-isolation", "a consumer never discovers a broker name that was down at its start")
class KeepsFirstRoute(Routes):
    def _take(self, topic: str, outcome: Outcome) -> bool:
        return topic in self.topics or super()._take(topic, outcome)


@seeded(CONSUMER, "role-read-failover", "a consumer never retries a queue after one failed request")
class GivesQueuesUp(ConsumersPulling):
    def _later(self, held: ProcessQueue) -> None:
        """No retry."""


# Name servers' routes.


@seeded("names", "route-expiry", "a name server lists brokers whose connection has ended")
class KeepsTheDead(RouteTable):
    def gone(self, conn: Conn) -> None:
        """It may come back."""


@seeded("names", "route-expiry", "a name server lists brokers that have been silent for more than 120 s")
class NeverExpires(RouteTable):
    def expire(self, now: int) -> list[Conn]:
        return []


@seeded("names", "route-names-once", "a name server also lists a slave as the master while there is no master")
class NamesStandIns(RouteTable):
    def route(self, topic: str) -> TopicRouteData | None:
        found = super().route(topic)
        return found and found._replace(broker_datas=tuple(map(_with_stand_in, found.broker_datas)))


def _with_stand_in(broker: BrokerData) -> BrokerData:
    return broker._replace(broker_addrs={MASTER_ID: min(broker.broker_addrs.values()), **broker.broker_addrs})


@seeded("slave", "route-expiry", "a broker does not register periodically: a restarted name server never lists it")
class RegistersOnce(Registration):
    def on_timer(self, key: Hashable) -> None:
        if key != PERIOD:
            super().on_timer(key)


@seeded("master", "route-reported", "never again registers at a name server that failed once", seen_in="4.0")
class GivesNameServersUp(Registration):
    def _ended(self, address: str, number: int, asked: Mapping[str, str], outcome: Outcome) -> None:
        super()._ended(address, number, asked, outcome)
        if outcome.answer is None:
            self.name_servers = tuple(each for each in self.name_servers if each != address)


@seeded("names", "route-expiry", "a name server lists a broker only from its second registration on")
class ListsAtTheSecond(RouteTable):
    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        known = super().register(who, conn, ha_address, body, now)
        if known is not None and conn not in self.met:
            self.met.add(conn)
            self._forget(who.address)
        return known

    def __init__(self) -> None:
        super().__init__()
        self.met: set[Conn] = set()


# The addresses of the pair's own network.


def _registers(changed: Callable[[BrokerConfig], BrokerConfig]) -> type[Registration]:
    class Registers(Registration):
        def _register(self, address: str) -> None:
            config = self.parts.config
            self.parts.config = changed(config)
            super()._register(address)
            self.parts.config = config

    return Registers


@seeded(
    "master", "ha-address-source", "registers brokerIP1 as its HA address although brokerIP2 is set", seen_in="4.x, 5.x"
)
class RegistersFirstAddress(_registers(lambda config: replace(config, brokerIP2=""))):  # type: ignore[misc]
    pass


@seeded("master", "ha-address-source", "registers listenPort + 1 although haListenPort is set", seen_in="5.1")
class RegistersNextPort(_registers(lambda config: replace(config, haListenPort=0))):  # type: ignore[misc]
    pass


@seeded("slave", "ha-address-source", "a slave connects to the registered address although haMasterAddress is set")
class IgnoresMasterAddress(Broker):
    def __init__(self, config: BrokerConfig, *given: Any) -> None:
        super().__init__(replace(config, haMasterAddress="") if config.name_servers else config, *given)


@seeded("names", "route-reported", "keeps the queues that a topic had first")
class KeepsFirstQueues(RouteTable):
    def _add_topic(self, broker: str, topic: TopicConfig) -> None:
        if broker not in self.topics.get(topic.topic_name, ()):
            super()._add_topic(broker, topic)


@seeded("master", "route-reported", "registers the permissions of its topics regardless of brokerPermission")
class RegistersRefused(_registers(lambda config: replace(config, brokerPermission=6))):  # type: ignore[misc]
    pass
