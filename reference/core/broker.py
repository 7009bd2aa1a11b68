"""One broker, master or slave: BrokerController, sans-IO.

It wires the store, both halves of replication, the tables, and the processors that answer requests on the main and the
fast port (pulls: main port only). Any other request gets code 3. A slave copies the log from ``haMasterAddress``, or
else from the master that a name server reports; with neither it serves its own log.

The parts are class attributes, so that a subclass can replace exactly one decision.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, ClassVar

from ..ports import MS, Conn, Effects, Node, Watcher
from ..wire import remoting
from ..wire.headers import RequestCode
from ..wire.record import Record
from ..wire.remoting import Command
from .calls import Calls
from .client_table import SCAN_NS, ClientTable
from .command_peers import CommandPeers
from .config import BrokerConfig
from .config_file import ConfigFile
from .consumer_offsets import ConsumerOffsets
from .delay_offsets import DelayOffsets
from .delayed_delivery import DelayedDelivery
from .ha_master import HaMaster
from .ha_slave import HaSlave
from .metadata_sync import MetadataSync
from .parts import Parts
from .processors.administration import Administration
from .processors.members import Members
from .processors.progress import Progress
from .processors.pulling import Pulling
from .processors.queries import Queries
from .processors.send_back import SendBack
from .processors.sending import Sending
from .processors.statistics import Statistics
from .processors.transactions import Transactions
from .puts import Puts
from .queue_locks import QueueLocks
from .registration import Registration
from .requests import Handler, serve
from .retention import Retention
from .store import MessageStore
from .subscription_groups import GroupTable
from .topics import TopicTable

PERSIST = ("persist", None)
CLIENTS = ("clients", None)
CONFIG = "config"


class Broker(Node):
    peers_class: ClassVar[type[CommandPeers]] = CommandPeers
    store_class: ClassVar[type[MessageStore]] = MessageStore
    master_class: ClassVar[type[HaMaster]] = HaMaster
    slave_class: ClassVar[type[HaSlave]] = HaSlave
    puts_class: ClassVar[type[Puts]] = Puts
    topics_class: ClassVar[type[TopicTable]] = TopicTable
    groups_class: ClassVar[type[GroupTable]] = GroupTable
    offsets_class: ClassVar[type[ConsumerOffsets]] = ConsumerOffsets
    locks_class: ClassVar[type[QueueLocks]] = QueueLocks
    sending_class: ClassVar[type[Sending]] = Sending
    send_back_class: ClassVar[type[SendBack]] = SendBack
    pulling_class: ClassVar[type[Pulling]] = Pulling
    progress_class: ClassVar[type[Progress]] = Progress
    members_class: ClassVar[type[Members]] = Members
    administration_class: ClassVar[type[Administration]] = Administration
    statistics_class: ClassVar[type[Statistics]] = Statistics
    queries_class: ClassVar[type[Queries]] = Queries
    transactions_class: ClassVar[type[Transactions]] = Transactions
    registration_class: ClassVar[type[Registration]] = Registration
    sync_class: ClassVar[type[MetadataSync]] = MetadataSync
    delivery_class: ClassVar[type[DelayedDelivery]] = DelayedDelivery
    retention_class: ClassVar[type[Retention]] = Retention

    def __init__(self, config: BrokerConfig, io: Effects, watcher: Watcher) -> None:
        self.config = config
        self.io = io
        self.watcher = watcher
        self.store = self.store_class(config, io, watcher, None if config.is_slave else self._arrived)
        self.log = self.store.log
        self.ha = self.master_class(config, self.log, io, watcher)
        self.replica = self.slave_class(config, self.log, io, watcher)
        self.peers = self.peers_class(io, self._on_command, self._on_gone, config.version.ordinal)
        self.parts = self._make_parts()
        self.sending = self.sending_class(self.parts)
        self.pulling = self.pulling_class(self.parts)
        self.members = self.members_class(self.parts)
        self.registration = self.registration_class(self.parts, self._found_master)
        self.sync = self.sync_class(self.parts, self.registration.topics_changed)
        self.delivery = self.delivery_class(self.parts)
        self.retention = self.retention_class(self.store, config, io, self.expire)
        self.handlers = self._handlers()
        self._timers: Mapping[str, Callable[[Any], None]] = {
            "flush": self.store.on_timer,
            "flush-timeout": self.store.on_timer,
            "derived-flush": self.store.on_timer,
            "dispatch": self.store.on_timer,
            "commit": self._commit,
            "call": self.parts.calls.on_timer,
            "hold": self.pulling.on_timer,
            "register": self.registration.on_timer,
            "sync": self.sync.on_timer,
            "delay": self.delivery.on_timer,
            "retention": self.retention.on_timer,
            "persist": self._persist,
            "clients": self._expire_clients,
        }
        self._fast: set[Conn] = set()
        self._armed: set[Hashable] = set()

    def _make_parts(self) -> Parts:
        config, io = self.config, self.io
        disk, wall = io.disk, io.wall_ms
        return Parts(
            config=config,
            io=io,
            watcher=self.watcher,
            store=self.store,
            puts=self.puts_class(config, self.store, self.ha),
            topics=self.topics_class(disk, wall, config),
            groups=self.groups_class(disk, wall, config),
            offsets=self.offsets_class(disk),
            delay_offsets=DelayOffsets(disk),
            clients=ClientTable(),
            locks=self.locks_class(),
            peers=self.peers,
            calls=Calls(io),
        )

    def _handlers(self) -> Mapping[int, Handler]:
        parts, members = self.parts, self.members
        progress, queries = self.progress_class(parts), self.queries_class(parts)
        administration, statistics = self.administration_class(parts), self.statistics_class(parts)
        return {
            RequestCode.SEND_MESSAGE: self.sending.on_send,
            RequestCode.SEND_MESSAGE_V2: self.sending.on_send,
            RequestCode.SEND_BATCH_MESSAGE: self.sending.on_send,
            RequestCode.CONSUMER_SEND_MSG_BACK: self.send_back_class(parts).on_send_back,
            RequestCode.END_TRANSACTION: self.transactions_class(parts).on_end,
            RequestCode.PULL_MESSAGE: self.pulling.on_pull,
            RequestCode.QUERY_MESSAGE: queries.on_query,
            RequestCode.VIEW_MESSAGE_BY_ID: queries.on_view,
            RequestCode.QUERY_CONSUMER_OFFSET: progress.on_query,
            RequestCode.UPDATE_CONSUMER_OFFSET: progress.on_update,
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: progress.on_search,
            RequestCode.GET_MAX_OFFSET: progress.on_max,
            RequestCode.GET_MIN_OFFSET: progress.on_min,
            RequestCode.GET_EARLIEST_MSG_STORETIME: progress.on_earliest,
            RequestCode.HEART_BEAT: members.on_heartbeat,
            RequestCode.UNREGISTER_CLIENT: members.on_unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: members.on_consumer_ids,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: members.on_consumers,
            RequestCode.GET_PRODUCER_CONNECTION_LIST: members.on_producers,
            RequestCode.LOCK_BATCH_MQ: members.on_lock,
            RequestCode.UNLOCK_BATCH_MQ: members.on_unlock,
            RequestCode.UPDATE_AND_CREATE_TOPIC: administration.on_put_topic,
            RequestCode.DELETE_TOPIC_IN_BROKER: administration.on_delete_topic,
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: administration.on_put_group,
            RequestCode.DELETE_SUBSCRIPTIONGROUP: administration.on_delete_group,
            RequestCode.UPDATE_BROKER_CONFIG: administration.on_put_config,
            RequestCode.GET_BROKER_CONFIG: administration.on_config,
            RequestCode.GET_BROKER_RUNTIME_INFO: statistics.on_runtime_info,
            RequestCode.GET_TOPIC_STATS_INFO: statistics.on_topic,
            RequestCode.GET_CONSUME_STATS: statistics.on_group,
            RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: statistics.on_consumers,
            RequestCode.GET_ALL_TOPIC_CONFIG: lambda request: request.answer(body=parts.topics.encode()),
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: lambda request: request.answer(body=parts.groups.encode()),
            RequestCode.GET_ALL_CONSUMER_OFFSET: lambda request: request.answer(body=parts.offsets.encode()),
            RequestCode.GET_ALL_DELAY_OFFSET: lambda request: request.answer(body=parts.delay_offsets.encode()),
        }

    def on_start(self) -> None:
        self.store.start()
        parts = self.parts
        for table, file in self._files().items():
            file.on_saved = lambda file, table=table: self._saved(table, file)
        parts.topics.load()
        parts.groups.load()
        parts.offsets.load()
        for file in self._files().values():
            for name in file.names:
                self.io.disk.sync(name)
            file.flushed(file.saves)
        if self.config.is_slave:
            self.replica.start()
            self.sync.start()
        else:
            self.delivery.start()
        self.retention.start()
        self.registration.start()

    def on_stop(self) -> None:
        """Stop in an orderly way: everything durable, no abort file."""
        self.registration.stop()
        self.delivery.stop()
        self.replica.stop()
        self.parts.calls.close_all()
        self.peers.drop_all()
        for conn in list(self.ha.connections):
            self.io.close(conn)
        parts = self.parts
        for table in (parts.topics, parts.groups, parts.offsets, parts.delay_offsets):
            table.save()
        for file in self._files().values():
            for name in file.names:
                self.io.disk.sync(name)
        self.store.stop()

    def expire(self, keep_files: int) -> None:
        """Retention: delete all but the newest ``keep_files`` of the log, with their index entries."""
        if self.store.expire(keep_files):
            self.ha.expired()

    def on_accepted(self, conn: Conn, port: str) -> None:
        if port == "ha":
            self.ha.on_accepted(conn)
            return
        self.peers.accept(conn)
        if port == "fast" and conn in self.peers:
            self._fast.add(conn)

    def on_connected(self, address: str, conn: Conn) -> None:
        """An outgoing connection is open: to the master's log, or to a name server or the master's main port.

        If both have one address, each gets one of the two connections.
        """
        if self.parts.calls.connects_to(address):
            self.parts.calls.on_connected(address, conn)
        else:
            self.replica.on_connected(conn)

    def on_connect_failed(self, address: str) -> None:
        if self.parts.calls.connects_to(address):
            self.parts.calls.on_connect_failed(address)
        else:
            self.replica.on_lost()

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        if conn is not self.replica.conn:
            self._owner(conn).on_bytes(conn, data)
        elif self.replica.on_bytes(data):
            self.store.dispatch()
            self.store.flusher.grown()

    def on_writable(self, conn: Conn) -> None:
        if conn is self.replica.conn:
            self.replica.on_writable()
        else:
            self._owner(conn).on_writable(conn)

    def on_closed(self, conn: Conn) -> None:
        if conn is self.replica.conn:
            self.replica.on_lost()
        else:
            self._owner(conn).on_closed(conn)

    def _owner(self, conn: Conn) -> CommandPeers | Calls | HaMaster:
        if conn in self.peers:
            return self.peers
        return self.parts.calls if conn in self.parts.calls else self.ha

    def on_timer(self, key: Hashable) -> None:
        assert isinstance(key, tuple)
        handler = self._timers.get(key[0])
        if handler is not None:
            handler(key)
        elif self.config.is_slave and key[1] is None and key[0] != "ha-transfer":
            self.replica.on_timer(key)
        else:
            self.ha.on_timer(key)

    def on_flushed(self, token: Hashable) -> None:
        if isinstance(token, tuple) and token[0] == CONFIG:
            self._files()[token[1]].flushed(token[2])
            return
        self.store.on_flushed(token)
        self.retention.grown()
        if self.ha.flushed_only:
            self.ha.wake()

    def _commit(self, key: Any) -> None:
        self.store.on_timer(key)
        self.ha.wake()

    def _on_command(self, conn: Conn, command: Command) -> None:
        # Responses to notifications are ignored.
        if not command.is_response:
            self.handle(self.peers, conn, command)

    def handle(self, peers: CommandPeers, conn: Conn, command: Command) -> None:
        handler = self.handlers.get(command.code)
        if handler is None or (command.code == RequestCode.PULL_MESSAGE and conn in self._fast):
            remark = f" request type {command.code} not supported"
            peers.answer(conn, command, remoting.REQUEST_CODE_NOT_SUPPORTED, remark=remark)
            return
        version, permission = self.parts.topics.version, self.parts.config.brokerPermission
        serve(handler, peers, conn, command)
        if self.parts.topics.version is not version or self.parts.config.brokerPermission != permission:
            self.registration.topics_changed()
        self._arm_sweeps()

    def _on_gone(self, conn: Conn) -> None:
        self._fast.discard(conn)
        self.pulling.gone(conn)
        self.members.gone(conn)

    def _arrived(self, record: Record, tags_code: int) -> None:
        message = record.message
        self.pulling.arrived(message.topic, message.queue_id, record.queue_offset + 1, tags_code)
        self.delivery.arrived(message.topic, message.queue_id)

    # Periodic work, scheduled only while there is some.

    def _arm_sweeps(self) -> None:
        now = self.io.now()
        parts = self.parts
        unsaved = parts.offsets.changed or parts.topics.changed or parts.groups.changed
        if unsaved and PERSIST not in self._armed:
            self._armed.add(PERSIST)
            self.io.timer(PERSIST, now + self.config.flushConsumerOffsetInterval * MS)
        if self.members.busy and CLIENTS not in self._armed:
            self._armed.add(CLIENTS)
            self.io.timer(CLIENTS, now + SCAN_NS)

    def _persist(self, key: Hashable) -> None:
        self._armed.discard(PERSIST)
        for table in (self.parts.topics, self.parts.groups, self.parts.offsets):
            table.save()
        self._arm_sweeps()

    def _expire_clients(self, key: Hashable) -> None:
        self._armed.discard(CLIENTS)
        self.members.expire()
        self._arm_sweeps()

    def _files(self) -> dict[str, ConfigFile]:
        parts = self.parts
        return {
            "topics": parts.topics.file,
            "groups": parts.groups.file,
            "offsets": parts.offsets.file,
            "delays": parts.delay_offsets.file,
        }

    def _saved(self, table: str, file: ConfigFile) -> None:
        self.watcher.persisted(table)
        if self.config.tableSaves == "flushed":
            self.io.flush(file.names, (CONFIG, table, file.saves))
        else:
            file.flushed(file.saves)

    def _found_master(self, address: str, ha_address: str) -> None:
        """A name server reported the master; empty if it knows none: then the last HA address remains."""
        if self.config.is_slave:
            self.sync.master = address
            if ha_address and not self.config.haMasterAddress:
                self.replica.follow(ha_address)
