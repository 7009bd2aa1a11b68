"""Who is connected: producers and consumers by group, from their heartbeats.

A client is a connection; it is forgotten when that closes, when it says so, or after 120 s without a heartbeat.
Whenever a group's consumers or topics change, all its consumers are to be told to share the queues out anew: the calls
return the groups, ``told`` says who that is. A consumer that expires makes its group be told, too; RocketMQ leaves that
to the next rebalance. In memory only, and never copied to a slave.
Not here: creating groups and retry topics, sending NOTIFY_CONSUMER_IDS_CHANGED (40), and whether the group's
notifyConsumerIdsChangedEnable allows it. Source: ClientManageProcessor, ConsumerManager, ConsumerGroupInfo,
ProducerManager.
"""

from typing import NamedTuple

from ..ports import Conn
from ..wire.bodies_client import ConsumerData, HeartbeatData, SubscriptionData

EXPIRES_NS = 120 * 1_000_000_000
SCAN_NS = 10 * 1_000_000_000
MAX_GROUPS = 100_000
MAX_SUBSCRIBED = 64 * 1024 * 1024
"""Bytes, roughly, of all groups' subscriptions."""


class Client(NamedTuple):
    """One member of a group."""

    client_id: str
    seen: int
    """When its last heartbeat came, ns."""
    language: str = "OTHER"
    version: int = 0
    """Of its client library, as its last heartbeat's frame says."""


class Consumers:
    """A consumer group: its members, and what it subscribes to, as its newest heartbeat says."""

    __slots__ = ("clients", "consume_from_where", "consume_type", "message_model", "size", "subscriptions")

    def __init__(self) -> None:
        self.clients: dict[Conn, Client] = {}
        self.subscriptions: dict[str, SubscriptionData] = {}
        self.size = 0
        self.consume_type = self.message_model = self.consume_from_where = ""

    def heartbeat(self, conn: Conn, client: Client, data: ConsumerData, room: int) -> bool:
        """Take it in; whether there is a new member, a new topic or a topic less.

        Subscriptions stay what they are if they would take more than ``room`` bytes more.
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
        """Bytes, roughly, of all groups' subscriptions."""

    def heartbeat(
        self, conn: Conn, data: HeartbeatData, now: int, language: str = "OTHER", version: int = 0
    ) -> list[str]:
        """Take in a HEART_BEAT (34); the consumer groups that changed by it. A group too many is ignored."""
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
        """Take in an UNREGISTER_CLIENT (35); the consumer groups that changed."""
        if producer_group is not None:
            self._drop_producer(producer_group, conn)
        return [consumer_group] if consumer_group is not None and self._drop_consumer(consumer_group, conn) else []

    def closed(self, conn: Conn) -> list[str]:
        """The connection is gone; the consumer groups that changed."""
        for group in list(self.producers):
            self._drop_producer(group, conn)
        return [group for group in list(self.consumers) if self._drop_consumer(group, conn)]

    def expire(self, now: int) -> list[Conn]:
        """Connections with a membership older than 120 s: the caller closes them and calls ``closed``."""
        members = [*self.producers.values(), *(group.clients for group in self.consumers.values())]
        late = [conn for clients in members for conn, client in clients.items() if now - client.seen > EXPIRES_NS]
        return list(dict.fromkeys(late))

    def told(self, group: str) -> list[Conn]:
        """Who must hear that the group changed: all its consumers, the one that caused it included."""
        found = self.consumers.get(group)
        return list(found.clients) if found else []

    def consumer_ids(self, group: str) -> list[str]:
        """The answer to GET_CONSUMER_LIST_BY_GROUP (38): client ids; empty if there is no such group."""
        found = self.consumers.get(group)
        return [client.client_id for client in found.clients.values()] if found else []

    def subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """What a pull without a subscription of its own takes; None if the group has none, or no live consumer."""
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
    """A heartbeat of a consumer that knows less does not take the group's subscription back."""
    return old if old is not None and old.sub_version >= new.sub_version else new
