"""Clients and groups: HEART_BEAT (34), UNREGISTER_CLIENT (35), member lists (38, 203, 204), and queue locks (41, 42).

A heartbeat creates its consumer groups and their retry topics. When a group's members or topics change, all its
consumers are notified (NOTIFY_CONSUMER_IDS_CHANGED, 40) unless the group's configuration forbids it; the notification
precedes the answer to the request that caused it.

Where this differs from RocketMQ, on purpose: a slave serves members and locks but creates neither groups nor retry
topics (in RocketMQ the next synchronisation removes them); a heartbeat that is too large or names an illegal group is
refused. Left out: filters other than tags. Source: ClientManageProcessor, ConsumerManageProcessor,
AdminBrokerProcessor, DefaultConsumerIdsChangeListener.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from ...errors import CodecError
from ...ports import Conn
from ...wire import beans, remoting
from ...wire.bodies_client import (
    Connection,
    ConsumerConnection,
    ConsumerList,
    HeartbeatData,
    LockBatchRequest,
    LockBatchResponse,
    ProducerConnection,
)
from ...wire.headers import RequestCode
from ...wire.remoting import Command
from ..client_table import Client
from ..parts import Parts
from ..queue_locks import LOCK_LIVES_NS
from ..requests import Refused, Request
from ..topics import NAME, retry_topic
from .limits import check_group, check_texts

MAX_GROUPS_OF_CLIENT = 1_000
REMEMBERED = 16 * 1024
"""Bytes of a heartbeat whose parsed form is cached: clients repeat theirs."""


class Members:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self._locked_until = -1

    def makes_groups(self) -> bool:
        return not self.parts.config.is_slave

    def notifies(self, group: str) -> bool:
        found = self.parts.groups.get(group)
        return found is None or found.notify_consumer_ids_changed_enable

    @property
    def busy(self) -> bool:
        clients = self.parts.clients
        return bool(clients.producers or clients.consumers) or self._locked_until >= 0

    def gone(self, conn: Conn) -> None:
        self._notify(self.parts.clients.closed(conn))

    def expire(self) -> None:
        now = self.parts.io.now()
        for conn in self.parts.clients.expire(now):
            self.parts.peers.drop(conn)
        self.parts.locks.expire(now)
        if now > self._locked_until:
            self._locked_until = -1

    def on_heartbeat(self, request: Request) -> None:
        command, parts = request.command, self.parts
        body = command.body
        check_texts(command.language)
        data = (_heartbeat if len(body) <= REMEMBERED else _heartbeat.__wrapped__)(body)
        if self.makes_groups():
            self._make(consumer.group_name for consumer in data.consumer_data_set)
        now = parts.io.now()
        self._notify(parts.clients.heartbeat(request.conn, data, now, command.language, command.version))
        request.answer()

    def on_unregister(self, request: Request) -> None:
        header = request.header
        leaves = header.get("producerGroup"), header.get("consumerGroup")
        self._notify(self.parts.clients.unregister(request.conn, *leaves))
        request.answer()

    def on_consumer_ids(self, request: Request) -> None:
        group = request.header["consumerGroup"]
        ids = self.parts.clients.consumer_ids(group)
        if not ids:
            raise Refused(remoting.SYSTEM_ERROR, f"group {group:.255} has no consumer here")
        request.answer(body=beans.encode(ConsumerList(tuple(ids))))

    def on_consumers(self, request: Request) -> None:
        name = request.header["consumerGroup"]
        group = self.parts.clients.consumers.get(name)
        if group is None:
            raise Refused(remoting.CONSUMER_NOT_ONLINE, f"group {name:.255} has no consumer here")
        request.answer(
            body=beans.encode(
                ConsumerConnection(
                    self._connections(group.clients), dict(group.subscriptions), group.consume_type,
                    group.message_model, group.consume_from_where,
                )
            )
        )  # fmt: skip

    def on_producers(self, request: Request) -> None:
        name = request.header["producerGroup"]
        clients = self.parts.clients.producers.get(name)
        if clients is None:
            raise Refused(remoting.SYSTEM_ERROR, f"group {name:.255} has no producer here")
        request.answer(body=beans.encode(ProducerConnection(self._connections(clients))))

    def on_lock(self, request: Request) -> None:
        now = self.parts.io.now()
        group, client, queues = beans.decode(LockBatchRequest, request.command.body)
        check_texts(group, client)
        for queue in queues:
            check_texts(queue.topic, queue.broker_name)
        held = self.parts.locks.lock(group, client, queues, now)
        if held:
            self._locked_until = now + LOCK_LIVES_NS
        request.answer(body=beans.encode(LockBatchResponse(tuple(held))))

    def on_unlock(self, request: Request) -> None:
        self.parts.locks.unlock(*beans.decode(LockBatchRequest, request.command.body))
        request.answer()

    def _make(self, groups: Iterable[str]) -> None:
        found = self.parts.groups.find_all(groups)
        retries = {retry_topic(name): group.retry_queue_nums for name, group in found.items()}
        # The retry topic of a long group name may be illegal.
        self.parts.topics.ensure_all({topic: queues for topic, queues in retries.items() if NAME.fullmatch(topic)})

    def _notify(self, groups: Iterable[str]) -> None:
        parts = self.parts
        for group in groups:
            if not self.notifies(group):
                continue
            for conn in parts.clients.consumers_of(group):
                opaque = parts.calls.next_opaque()
                changed = Command(
                    RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, opaque, remoting.ONEWAY_FLAG, {"consumerGroup": group}
                )
                parts.peers.send(conn, remoting.encode(changed))

    def _connections(self, clients: Mapping[Conn, Client]) -> tuple[Connection, ...]:
        found = []
        for conn, client in clients.items():
            host, port = self.parts.io.address(conn)
            found.append(Connection(client.client_id, f"{host}:{port}", client.language, client.version))
        return tuple(found)


@lru_cache(maxsize=256)
def _heartbeat(body: bytes) -> HeartbeatData:
    data = beans.decode(HeartbeatData, body)
    groups = [each.group_name for each in data.producer_data_set]
    groups += [each.group_name for each in data.consumer_data_set]
    if len(groups) > MAX_GROUPS_OF_CLIENT:
        raise CodecError(f"heartbeat with {len(groups)} groups: at most {MAX_GROUPS_OF_CLIENT} are allowed")
    for group in groups:
        check_group(group)
    check_texts(data.client_id)
    for consumer in data.consumer_data_set:
        check_texts(consumer.consume_type, consumer.message_model, consumer.consume_from_where)
    return data
