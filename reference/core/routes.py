"""The name server's tables of brokers and topics, in memory only.

A broker is identified by its address, and has a broker name and id (0: the master). Topics come from masters only, if
the broker or the registration's data version is new; a registration adds and replaces topics, it never deletes any. A
topic is removed with its last broker group. Left out: order configuration, and RocketMQ 5's additions (acting masters,
topic deletion). Source: RouteInfoManager.
"""

from typing import NamedTuple

from ..ports import Conn
from ..wire.bodies import DataVersion, TopicConfig
from ..wire.bodies_route import (
    BrokerData,
    ClusterInfo,
    QueueData,
    RegisterBrokerBody,
    TopicRouteData,
)

EXPIRES_NS = 120 * 1_000_000_000
MASTER_ID = 0
MAX_BROKERS = 10_000
MAX_TOPICS = 100_000


class Identity(NamedTuple):
    cluster: str
    name: str
    broker_id: int
    address: str


class Live(NamedTuple):
    conn: Conn
    seen: int
    version: DataVersion
    ha_address: str


class Master(NamedTuple):
    address: str = ""
    ha_address: str = ""


class RouteTable:
    """Brokers and topics. ``now`` is monotonic time, ns."""

    def __init__(self) -> None:
        self.live: dict[str, Live] = {}
        self.brokers: dict[str, BrokerData] = {}
        self.topics: dict[str, dict[str, QueueData]] = {}
        self._filters: dict[str, tuple[str, ...]] = {}

    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        """Register a broker; returns a slave's master. None, with nothing changed, beyond the limit of brokers."""
        new_address, new_name = who.address not in self.live, who.name not in self.brokers
        if (new_address and len(self.live) >= MAX_BROKERS) or (new_name and len(self.brokers) >= MAX_BROKERS):
            return None
        topics, version = body.topic_config_serialize_wrapper
        first = self._set_address(who)
        if who.broker_id == MASTER_ID and (first or self.changed(who.address, version)):
            for topic in topics.values():
                self._add_topic(who.name, topic)
        self.live[who.address] = Live(conn, now, version, ha_address)
        self._filters.pop(who.address, None)
        if body.filter_server_list:
            self._filters[who.address] = body.filter_server_list
        master = self.brokers[who.name].broker_addrs.get(MASTER_ID)
        if who.broker_id == MASTER_ID or master is None or master not in self.live:
            return Master()
        return Master(master, self.live[master].ha_address)

    def unregister(self, who: Identity) -> None:
        """Remove the broker's id, whatever its address, and its address, whatever its name."""
        if who.address in self.live:
            self._forget(who.address)
        if who.name in self.brokers:
            self.brokers[who.name].broker_addrs.pop(who.broker_id, None)
            self._tidy(who.name)

    def changed(self, address: str, version: DataVersion) -> bool:
        found = self.live.get(address)
        return found is None or found.version != version

    def touch(self, address: str, now: int) -> None:
        if address in self.live:
            self.live[address] = self.live[address]._replace(seen=now)

    def gone(self, conn: Conn) -> None:
        for address in [address for address, live in self.live.items() if live.conn is conn]:
            self._forget(address)

    def expire(self, now: int) -> list[Conn]:
        """Remove brokers without a message for 120 s; returns their connections, to be closed."""
        late = {address: live.conn for address, live in self.live.items() if now - live.seen > EXPIRES_NS}
        for address in late:
            self._forget(address)
        return list(dict.fromkeys(late.values()))

    def route(self, topic: str) -> TopicRouteData | None:
        queues = self.topics.get(topic)
        if not queues:
            return None
        brokers = tuple(_copy(self.brokers[name]) for name in queues)
        addresses = [address for broker in brokers for address in broker.broker_addrs.values()]
        filters = {address: self._filters[address] for address in addresses if address in self._filters}
        return TopicRouteData(brokers, tuple(queues.values()), filters)

    def cluster_info(self) -> ClusterInfo:
        clusters: dict[str, tuple[str, ...]] = {}
        for name, broker in self.brokers.items():
            clusters[broker.cluster] = (*clusters.get(broker.cluster, ()), name)
        return ClusterInfo({name: _copy(broker) for name, broker in self.brokers.items()}, clusters)

    def _set_address(self, who: Identity) -> bool:
        broker = self.brokers.setdefault(who.name, BrokerData(who.name, who.cluster, {}))
        addresses = broker.broker_addrs
        for broker_id in [each for each, its in addresses.items() if its == who.address and each != who.broker_id]:
            del addresses[broker_id]
        first = who.broker_id not in addresses
        addresses[who.broker_id] = who.address
        return first

    def _add_topic(self, broker: str, topic: TopicConfig) -> None:
        name, readers, writers, perm, _, sys_flag, _ = topic
        if name in self.topics or len(self.topics) < MAX_TOPICS:
            self.topics.setdefault(name, {})[broker] = QueueData(broker, readers, writers, perm, sys_flag)

    def _forget(self, address: str) -> None:
        self.live.pop(address)
        self._filters.pop(address, None)
        for name, broker in list(self.brokers.items()):
            for broker_id in [each for each, its in broker.broker_addrs.items() if its == address]:
                del broker.broker_addrs[broker_id]
            self._tidy(name)

    def _tidy(self, name: str) -> None:
        """Remove a group without brokers, and topics that only it had."""
        if self.brokers[name].broker_addrs:
            return
        del self.brokers[name]
        for topic in [topic for topic, queues in self.topics.items() if name in queues]:
            del self.topics[topic][name]
            if not self.topics[topic]:
                del self.topics[topic]


def _copy(broker: BrokerData) -> BrokerData:
    return broker._replace(broker_addrs=dict(sorted(broker.broker_addrs.items())))
