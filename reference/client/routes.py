"""A client's routes, from name servers, and its choice of a broker for a broker name.

A route stays until a name server returns another one; a failed request or a missing route changes nothing. A refresh
asks the name server that answered last, then each of the others once. A broker name's addresses come from the newest
route that lists it. Left out: the ordered topics' own configuration. Source: MQClientInstance
(updateTopicRouteInfoFromNameServer, findBrokerAddressInSubscribe, topicRouteData2TopicPublishInfo,
topicRouteData2TopicSubscribeInfo).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from ..core.calls import Calls, Outcome
from ..ports import Effects
from ..wire.bodies import READ, WRITE
from ..wire.bodies_client import MessageQueue
from ..wire.bodies_route import TopicRouteData
from ..wire.headers import RequestCode
from ..wire.remoting import TOPIC_NOT_EXIST
from .asking import ask, body_of
from .settings import SECOND

MASTER_ID = 0
REFRESH_REST_NS = 3 * SECOND
"""Least time between refreshes of a topic's route because of failed calls."""
MAX_BROKERS = 1_000
MAX_QUEUES = 10_000
"""Bound for one topic's queues, whatever its route claims."""
MAX_WAITING = 10_000


class Choice(NamedTuple):
    broker_id: int
    address: str
    version: int = 0
    """Its ordinal in MQVersion, from its last answer to a heartbeat; 0: none yet."""

    @property
    def is_slave(self) -> bool:
        """Whether it is a slave, which does not accept progress."""
        return self.broker_id != MASTER_ID


def choose(addresses: Mapping[int, str], wanted: int, only_this: bool = False) -> Choice | None:
    """The broker with the ``wanted`` id; for a slave's id else the one with the next id; else the one with the lowest
    id, unless ``only_this``.
    """
    candidates = [wanted] if wanted == MASTER_ID else [wanted, wanted + 1]
    if not only_this and addresses:
        candidates.append(min(addresses))
    return next((Choice(each, addresses[each]) for each in candidates if each in addresses), None)


@dataclass(eq=False)
class Routes:
    """The routes of one client. ``learned`` is called for each answer, with the topic and its route or None."""

    io: Effects
    calls: Calls
    name_servers: tuple[str, ...]
    learned: Callable[[str, TopicRouteData | None], None]
    closed: bool = False
    topics: dict[str, TopicRouteData] = field(default_factory=dict)
    brokers: dict[str, Mapping[int, str]] = field(default_factory=dict)
    _versions: dict[str, int] = field(default_factory=dict)
    _readable: dict[str, list[MessageQueue]] = field(default_factory=dict)
    _writable: dict[str, list[MessageQueue]] = field(default_factory=dict)
    _server: int = 0
    _requested_at: dict[str, int] = field(default_factory=dict)
    _waiting: dict[str, list[Callable[[], None]]] = field(default_factory=dict)

    def choose(self, broker_name: str, wanted: int, only_this: bool = False) -> Choice | None:
        found = choose(self.brokers.get(broker_name, {}), wanted, only_this)
        return None if found is None else found._replace(version=self._versions.get(found.address, 0))

    def record_version(self, address: str, version: int) -> None:
        if any(address in addresses.values() for addresses in self.brokers.values()):
            self._versions[address] = version

    def addresses(self, masters_only: bool) -> list[str]:
        found = [
            address
            for _, brokers in sorted(self.brokers.items())
            for broker_id, address in sorted(brokers.items())
            if broker_id == MASTER_ID or not masters_only
        ]
        return list(dict.fromkeys(found))

    def readable(self, topic: str) -> list[MessageQueue]:
        if topic not in self._readable and topic in self.topics:
            queues = self.topics[topic].queue_datas
            counts = [(each.broker_name, each.read_queue_nums) for each in queues if each.perm & READ]
            self._readable[topic] = _queues(topic, counts)
        return self._readable.get(topic, [])

    def writable(self, topic: str) -> list[MessageQueue]:
        if topic not in self._writable and topic in self.topics:
            queues = self.topics[topic].queue_datas
            counts = [
                (each.broker_name, each.write_queue_nums)
                for each in queues
                if each.perm & WRITE and MASTER_ID in self.brokers.get(each.broker_name, {})
            ]
            self._writable[topic] = _queues(topic, counts)
        return self._writable.get(topic, [])

    def refresh(self, topic: str, done: Callable[[], None] | None = None) -> None:
        """Request the topic's route, unless a request is in flight; ``done`` is called at its end."""
        if self.closed:
            return
        waiting = self._waiting.get(topic)
        if waiting is None:
            self._requested_at[topic] = self.io.now()
            self._waiting[topic] = [done] if done else []
            self._ask(topic, len(self.name_servers))
        elif done is not None and len(waiting) < MAX_WAITING:
            waiting.append(done)
        elif done is not None:
            done()

    def refresh_if_old(self, topic: str) -> None:
        """A call failed: its broker may be gone. Refreshes at most every 3 s."""
        requested_at = self._requested_at.get(topic)
        if requested_at is None or self.io.now() - requested_at >= REFRESH_REST_NS:
            self.refresh(topic)

    def _ask(self, topic: str, tries: int) -> None:
        server = self.name_servers[self._server % len(self.name_servers)]
        code, ended = RequestCode.GET_ROUTEINFO_BY_TOPIC, partial(self._answered, topic, tries, self._server)
        ask(self.calls, server, code, {"topic": topic}, ended)

    def _answered(self, topic: str, tries: int, server: int, outcome: Outcome) -> None:
        if self.closed:
            return
        if not self._take(topic, outcome):
            if server == self._server:
                # Requests for other topics may have failed there, too.
                self._server = (server + 1) % len(self.name_servers)
            if tries > 1:
                self._ask(topic, tries - 1)
                return
        for done in self._waiting.pop(topic):
            done()

    def _take(self, topic: str, outcome: Outcome) -> bool:
        if outcome.answer is not None and outcome.answer.code == TOPIC_NOT_EXIST:
            self.learned(topic, None)
            return True
        route = body_of(TopicRouteData, outcome)
        if route is None:
            return False
        self.topics.pop(topic, None)
        self.topics[topic] = route
        self._readable.clear()
        self._writable.clear()
        self.brokers = {
            broker.broker_name: broker.broker_addrs
            for each in self.topics.values()
            for broker in each.broker_datas[:MAX_BROKERS]
        }
        if self._versions:
            listed = {address for addresses in self.brokers.values() for address in addresses.values()}
            self._versions = {each: version for each, version in self._versions.items() if each in listed}
        self.learned(topic, route)
        return True


def _queues(topic: str, counts: list[tuple[str, int]]) -> list[MessageQueue]:
    found: list[MessageQueue] = []
    for name, count in sorted(counts):
        count = min(count, MAX_QUEUES - len(found))
        found += [MessageQueue(topic, name, queue_id) for queue_id in range(count)]
    return found
