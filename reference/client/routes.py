"""Where topics are, as name servers say, and which broker of a name a client turns to.

A route stays until a name server gives another: one that does not answer, or that knows no route any more, changes
nothing. A refresh asks the name server that answered last, then each of the others once. Addresses of a broker name
are those of the newest route that lists it.
Source: MQClientInstance (updateTopicRouteInfoFromNameServer, findBrokerAddressInSubscribe,
topicRouteData2TopicPublishInfo, topicRouteData2TopicSubscribeInfo). Left out: the ordered topics' own configuration.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from ..core.calls import Calls, Outcome
from ..ports import Effects
from ..wire.bodies_client import MessageQueue
from ..wire.bodies_route import TopicRouteData
from ..wire.headers import RequestCode
from ..wire.remoting import TOPIC_NOT_EXIST
from .asking import ask, body_of
from .settings import SECOND

MASTER_ID = 0
PERM_READ = 4
PERM_WRITE = 2
REFRESH_REST_NS = 3 * SECOND
"""Failures of calls ask for a topic's route at most this often."""
MAX_BROKERS = 1_000
MAX_QUEUES = 10_000
"""Of one topic; a route may claim any number."""
MAX_WAITING = 10_000


class Choice(NamedTuple):
    """The broker that a client turns to: RocketMQ's FindBrokerResult."""

    broker_id: int
    address: str
    version: int = 0
    """The ordinal in MQVersion that its last answer to a heartbeat carried; 0: none came yet."""

    @property
    def is_slave(self) -> bool:
        """Whether it copies the master: it takes no progress, so none is carried to it."""
        return self.broker_id != MASTER_ID


def choose(addresses: Mapping[int, str], wanted: int, only_this: bool = False) -> Choice | None:
    """The broker with the ``wanted`` id; for a slave's id else the one with the next id; else any, which is the lowest
    id, unless ``only_this`` will do.
    """
    candidates = [wanted] if wanted == MASTER_ID else [wanted, wanted + 1]
    if not only_this and addresses:
        candidates.append(min(addresses))
    return next((Choice(each, addresses[each]) for each in candidates if each in addresses), None)


class Routes:
    """The routes of one client. ``learned`` hears of each answer: the topic, and its route or None if there is none."""

    def __init__(
        self,
        io: Effects,
        calls: Calls,
        name_servers: tuple[str, ...],
        learned: Callable[[str, TopicRouteData | None], None],
    ) -> None:
        self.io = io
        self.calls = calls
        self.name_servers = name_servers
        self.learned = learned
        self.closed = False
        self.topics: dict[str, TopicRouteData] = {}
        self.brokers: dict[str, Mapping[int, str]] = {}
        self._versions: dict[str, int] = {}
        self._readable: dict[str, list[MessageQueue]] = {}
        self._writable: dict[str, list[MessageQueue]] = {}
        self._server = 0
        self._asked: dict[str, int] = {}
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    # What is known.

    def choose(self, broker_name: str, wanted: int, only_this: bool = False) -> Choice | None:
        """As :func:`choose`, of the brokers of that name, with the version that the chosen one has told."""
        found = choose(self.brokers.get(broker_name, {}), wanted, only_this)
        return None if found is None else found._replace(version=self._versions.get(found.address, 0))

    def told_version(self, address: str, version: int) -> None:
        """A broker answered a heartbeat. Only brokers of the routes are remembered."""
        if any(address in addresses.values() for addresses in self.brokers.values()):
            self._versions[address] = version

    def addresses(self, masters_only: bool) -> list[str]:
        """Where all brokers of all routes listen, by name and id."""
        found = [
            address
            for _, brokers in sorted(self.brokers.items())
            for broker_id, address in sorted(brokers.items())
            if broker_id == MASTER_ID or not masters_only
        ]
        return list(dict.fromkeys(found))

    def readable(self, topic: str) -> list[MessageQueue]:
        """The queues that consumers share, in order; none without a route."""
        if topic not in self._readable and topic in self.topics:
            queues = self.topics[topic].queue_datas
            counts = [(each.broker_name, each.read_queue_nums) for each in queues if each.perm & PERM_READ]
            self._readable[topic] = _queues(topic, counts)
        return self._readable.get(topic, [])

    def writable(self, topic: str) -> list[MessageQueue]:
        """The queues that producers use, in order: those whose master is there."""
        if topic not in self._writable and topic in self.topics:
            queues = self.topics[topic].queue_datas
            counts = [
                (each.broker_name, each.write_queue_nums)
                for each in queues
                if each.perm & PERM_WRITE and MASTER_ID in self.brokers.get(each.broker_name, {})
            ]
            self._writable[topic] = _queues(topic, counts)
        return self._writable.get(topic, [])

    # How it becomes known.

    def refresh(self, topic: str, done: Callable[[], None] | None = None) -> None:
        """Ask for the topic's route, unless that is going on; ``done`` is called when it is over, whatever came."""
        if self.closed:
            return
        waiting = self._waiting.get(topic)
        if waiting is None:
            self._asked[topic] = self.io.now()
            self._waiting[topic] = [done] if done else []
            self._ask(topic, len(self.name_servers))
        elif done is not None and len(waiting) < MAX_WAITING:
            waiting.append(done)
        elif done is not None:
            done()

    def refresh_if_old(self, topic: str) -> None:
        """A call failed: perhaps its broker has gone. Asks no more often than every 3 s."""
        asked = self._asked.get(topic)
        if asked is None or self.io.now() - asked >= REFRESH_REST_NS:
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
                # Other topics' questions may have failed there, too.
                self._server = (server + 1) % len(self.name_servers)
            if tries > 1:
                self._ask(topic, tries - 1)
                return
        for done in self._waiting.pop(topic):
            done()

    def _take(self, topic: str, outcome: Outcome) -> bool:
        """Take in what a name server said; whether it said anything."""
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
