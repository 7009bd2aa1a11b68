"""Connected producers and consumers by group, from their heartbeats.

A client is a connection. It is removed when the connection closes, when it unregisters, or after 120 s without a
heartbeat. When a group's consumers or topics change, all its consumers (``consumers_of``) must be notified to
rebalance: the calls return such groups. An expired consumer triggers a notification, too; RocketMQ leaves that to the
next rebalance. The table is in memory only and never replicated. Left out: creating groups and retry topics, sending
NOTIFY_CONSUMER_IDS_CHANGED (40), and notifyConsumerIdsChangedEnable. Source: ClientManageProcessor, ConsumerManager,
ConsumerGroupInfo, ProducerManager.
"""

from typing import NamedTuple

from ..ports import Conn
from ..wire.bodies_client import ConsumerData, HeartbeatData, SubscriptionData

EXPIRES_NS = 120 * 1_000_000_000
SCAN_NS = 10 * 1_000_000_000
MAX_GROUPS = 100_000
MAX_SUBSCRIBED = 64 * 1024 * 1024
"""Approximate bytes of all groups' subscriptions."""


class Client(NamedTuple):
    client_id: str
    seen: int
    language: str = "OTHER"
    version: int = 0


class Consumers:
    """A consumer group: its members and the subscriptions of its newest heartbeat."""

    __slots__ = ("clients", "consume_from_where", "consume_type", "message_model", "size", "subscriptions")

    def __init__(self) -> None:
        self.clients: dict[Conn, Client] = {}
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.size = 0
        self.consume_type = self.message_model = self.consume_from_where = ""

    def heartbeat(self, conn: Conn, client: Client, data: ConsumerData, room: int) -> bool:
        """Record a heartbeat; whether a member or topic is new, or a topic is gone.

        Subscriptions are unchanged if they would take more than ``room`` additional bytes.
        """
        self.consume_type, self.message_model = data.consume_type, data.message_model
        self.consume_from_where = data.consume_from_where
        before = self.subscriptions
        after = {each.topic: _newer(before.get(each.topic), each) for each in data.subscription_data_set}
        size = sum(map(_size, after.values()))
        if size - self.size <= max(0, room):
            self.subscriptions, self.size = after, size
        joined = conn not in self.clients
        self.clients[conn] = client
        return joined or before.keys() != self.subscriptions.keys()


class ClientTable:
    """Groups with their members. ``now`` is monotonic time, ns."""

    def __init__(self) -> None:
        self.producers: dict[str, dict[Conn, Client]] = {}
        self.consumers: dict[str, Consumers] = {}
        self.subscribed = 0

    def heartbeat(
        self, conn: Conn, data: HeartbeatData, now: int, language: str = "OTHER", version: int = 0
    ) -> list[str]:
        """Record a HEART_BEAT (34); the consumer groups that changed. A group beyond the limit is ignored."""
        client = Client(data.client_id, now, language, version)
        for producer in data.producer_data_set:
            if producer.group_name in self.producers or len(self.producers) < MAX_GROUPS:
                self.producers.setdefault(producer.group_name, {})[conn] = client
        changed = []
        for consumer in data.consumer_data_set:
            name = consumer.group_name
            if name not in self.consumers and len(self.consumers) >= MAX_GROUPS:
                continue
            group = self.consumers.setdefault(name, Consumers())
            before = group.size
            if group.heartbeat(conn, client, consumer, MAX_SUBSCRIBED - self.subscribed):
                changed.append(name)
            self.subscribed += group.size - before
        return changed

    def unregister(self, conn: Conn, producer_group: str | None, consumer_group: str | None) -> list[str]:
        if producer_group is not None:
            self._drop_producer(producer_group, conn)
        return [consumer_group] if consumer_group is not None and self._drop_consumer(consumer_group, conn) else []

    def closed(self, conn: Conn) -> list[str]:
        for group in list(self.producers):
            self._drop_producer(group, conn)
        return [group for group in list(self.consumers) if self._drop_consumer(group, conn)]

    def expire(self, now: int) -> list[Conn]:
        """Connections whose last heartbeat is over 120 s old: the caller closes them and calls ``closed``."""
        members = [*self.producers.values(), *(group.clients for group in self.consumers.values())]
        late = [conn for clients in members for conn, client in clients.items() if now - client.seen > EXPIRES_NS]
        return list(dict.fromkeys(late))

    def consumers_of(self, group: str) -> list[Conn]:
        """All consumers to notify of a change, including the one that caused it."""
        found = self.consumers.get(group)
        return list(found.clients) if found else []

    def consumer_ids(self, group: str) -> list[str]:
        """The client ids of GET_CONSUMER_LIST_BY_GROUP (38); empty for an unknown group."""
        found = self.consumers.get(group)
        return [client.client_id for client in found.clients.values()] if found else []

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """The subscription of a pull that carries none; None without one or without a live consumer."""
        found = self.consumers.get(group)
        return found.subscriptions.get(topic) if found else None

    def _drop_producer(self, group: str, conn: Conn) -> None:
        clients = self.producers.get(group, {})
        clients.pop(conn, None)
        if not clients:
            self.producers.pop(group, None)

    def _drop_consumer(self, group: str, conn: Conn) -> bool:
        found = self.consumers.get(group)
        if found is None or found.clients.pop(conn, None) is None:
            return False
        if not found.clients:
            self.subscribed -= found.size
            del self.consumers[group]
        return True


def _size(data: SubscriptionData) -> int:
    tags = sum(len(tag) + 64 for tag in data.tags_set)
    return 512 + len(data.topic) + len(data.sub_string) + tags + 32 * len(data.code_set)


def _newer(old: SubscriptionData | None, new: SubscriptionData) -> SubscriptionData:
    """A heartbeat with an older subscription does not replace the group's newer one."""
    return old if old is not None and old.sub_version >= new.sub_version else new
