"""One broker, master or slave: BrokerController, DefaultMessageStore and the two processors this issue needs, sans-IO.

Answers SEND_MESSAGE_V2 (310) and PULL_MESSAGE (11) on its main port, HA on the port beside it. The put path is
RocketMQ's: append, then flush and replica outcome in parallel; the flush status is set first and the replica status
overrides it. Everything else a client may ask gets code 3.

The parts are class attributes, so that another version of one decision replaces exactly that part.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import partial
from typing import ClassVar, cast

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.flushing import Flusher
from pairproof.reference.core.ha_master import HaMaster
from pairproof.reference.core.ha_slave import HaSlave
from pairproof.reference.core.queue_index import QueueIndex
from pairproof.reference.errors import CodecError, StoreFull
from pairproof.reference.ports import Conn, Effects, Watcher
from pairproof.reference.wire import message_id, record, remoting
from pairproof.reference.wire.remoting import Command, CommandReader

TOPIC = re.compile(r"[%|a-zA-Z0-9_-]{1,127}")
NUMBER = re.compile(r"-?[0-9]{1,19}")
MAX_CLIENTS = 1_000
MAX_UNSENT = 4 * 1024 * 1024
MAX_PULL_MESSAGES = 32
MAX_PULL_BYTES = 256 * 1024
ABORT = "abort"


class PendingPut:
    """A stored send whose answer waits for its flush and its replica."""

    __slots__ = ("answer", "flush", "replica")

    def __init__(self, answer: partial[None]) -> None:
        self.answer = answer
        self.flush: str | None = None
        self.replica: str | None = None

    def flushed(self, status: str) -> None:
        """The flush ended one way or the other."""
        self.flush = status
        self._settle()

    def replicated(self, status: str) -> None:
        """The replica was confirmed or given up."""
        self.replica = status
        self._settle()

    def _settle(self) -> None:
        if self.flush is not None and self.replica is not None:
            self.answer(self.replica if self.replica != "PUT_OK" else self.flush)


class Broker:
    """A node of the pair. The shell calls the ``on_…`` methods; see :class:`pairproof.reference.ports.Node`."""

    log_class: ClassVar[type[CommitLog]] = CommitLog
    master_class: ClassVar[type[HaMaster]] = HaMaster
    slave_class: ClassVar[type[HaSlave]] = HaSlave
    flusher_class: ClassVar[type[Flusher]] = Flusher

    def __init__(self, config: BrokerConfig, io: Effects, watcher: Watcher) -> None:
        self.config = config
        self.io = io
        self.watcher = watcher
        self.log = self.log_class(io.disk, config.mappedFileSizeCommitLog, max_message_size=config.maxMessageSize)
        self.queues = QueueIndex()
        self.flusher = self.flusher_class(config, self.log, io, watcher)
        self.ha = self.master_class(config, self.log, io, watcher)
        self.replica = self.slave_class(config, self.log, io, watcher)
        self.recovery = "empty"
        self.clients: dict[Conn, CommandReader] = {}
        self.unsent: dict[Conn, bytes] = {}
        self.store_host = (bytes(int(part) for part in config.brokerIP1.split(".")), config.listenPort)

    # Decisions.

    def ends_cleanly(self) -> bool:
        """Whether the last stop was an orderly one: no abort file was left."""
        return ABORT not in self.io.disk.names("")

    def waits_for_slave(self, wait: bool) -> bool:
        """Whether a send's answer depends on a slave."""
        return wait and self.config.slaves_to_wait_for > 0

    def waits_for_flush(self, wait: bool) -> bool:
        """Whether a send's answer depends on the disk."""
        return wait and self.flusher.sync

    # Life.

    def on_start(self) -> None:
        """Recover the log, rebuild the queues, and go on duty."""
        self.recovery = self.log.recover(self.ends_cleanly()).kind
        self.io.disk.open(ABORT, 0)
        self.io.disk.sync(ABORT)
        self.queues.dispatch(self.log)
        if self.config.is_slave:
            self.replica.start()

    def on_stop(self) -> None:
        """End in an orderly way: everything durable, no abort file."""
        self.replica.stop()
        for conn in [*self.clients, *self.ha.connections]:
            self.io.close(conn)
        for name in self.log.flush_due():
            self.io.disk.sync(name)
        self.log.mark_flushed(self.log.end)
        self.io.disk.delete(ABORT)

    def expire(self, keep_files: int) -> None:
        """Retention: delete all but the newest ``keep_files`` of the log, and let go of all that lay in the others."""
        before = self.log.start
        start = self.log.expire(keep_files)
        if start > before:
            self.watcher.expired(start)
            self.queues.expire(start)
            self.ha.expired()

    # Connections.

    def on_accepted(self, conn: Conn, port: str) -> None:
        """Somebody connected to ``main`` or ``ha``."""
        if port == "ha":
            self.ha.on_accepted(conn)
        elif len(self.clients) >= MAX_CLIENTS:
            self.io.close(conn)
        else:
            self.clients[conn] = CommandReader()

    def on_connected(self, address: str, conn: Conn) -> None:
        """The HA connection to the master stands."""
        self.replica.on_connected(conn)

    def on_connect_failed(self, address: str) -> None:
        """The master did not take the HA connection."""
        self.replica.on_lost()

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        """Bytes of the master, of a slave, or of a client."""
        if conn is self.replica.conn:
            if self.replica.on_bytes(data):
                self.queues.dispatch(self.log)
                self.flusher.grown()
        elif conn in self.clients:
            self._on_client_bytes(conn, data)
        else:
            self.ha.on_bytes(conn, data)

    def on_writable(self, conn: Conn) -> None:
        """A socket takes bytes again."""
        if conn is self.replica.conn:
            self.replica.on_writable()
        elif conn in self.clients:
            self._send(conn, b"")
        else:
            self.ha.on_writable(conn)

    def on_closed(self, conn: Conn) -> None:
        """A peer closed its end."""
        if conn is self.replica.conn:
            self.replica.on_lost()
        elif self.clients.pop(conn, None) is not None:
            self.unsent.pop(conn, None)
        else:
            self.ha.on_closed(conn)

    def on_timer(self, key: Hashable) -> None:
        """A deadline of one of the parts."""
        name = cast(tuple[str, None], key)
        if name[0].startswith("flush"):
            self.flusher.on_timer(name[0])
        elif self.config.is_slave and name[0].startswith("ha-") and name[1] is None and name[0] != "ha-transfer":
            self.replica.on_timer(name)
        else:
            self.ha.on_timer(name)

    def on_flushed(self, token: Hashable) -> None:
        """A flush that the flusher began is done."""
        self.flusher.on_flushed(cast(int, token))
        if self.ha.flushed_only:
            self.ha.wake()

    # Clients.

    def _on_client_bytes(self, conn: Conn, data: bytes) -> None:
        try:
            for command in self.clients[conn].feed(data):
                self._on_command(conn, command)
                if conn not in self.clients:
                    return
        except CodecError:
            # What is not a frame cannot be answered: its opaque is unknown.
            self._drop(conn)

    def _on_command(self, conn: Conn, command: Command) -> None:
        if command.is_response:
            # We asked nothing.
            return
        try:
            if command.code == remoting.SEND_MESSAGE_V2:
                self._on_send(conn, command)
            elif command.code == remoting.PULL_MESSAGE:
                self._on_pull(conn, command)
            else:
                self._refuse(conn, command, remoting.REQUEST_CODE_NOT_SUPPORTED, f"request type {command.code} unknown")
        except KeyError as missing:
            self._refuse(conn, command, remoting.SYSTEM_ERROR, f"the request lacks the field {missing}")
        except ValueError as bad:
            self._refuse(conn, command, remoting.SYSTEM_ERROR, f"a field of the request is no number: {bad}")

    def _on_send(self, conn: Conn, command: Command) -> None:
        fields = command.fields
        if self.config.is_slave:
            self._refuse(conn, command, remoting.SERVICE_NOT_AVAILABLE, "a slave takes no messages")
            return
        topic, queue_id = fields["b"], _number(fields["e"])
        if not TOPIC.fullmatch(topic):
            self._refuse(
                conn, command, remoting.MESSAGE_ILLEGAL, "the topic is longer than 127 or has illegal characters"
            )
            return
        if not 0 <= queue_id < self.config.defaultTopicQueueNums:
            self._refuse(conn, command, remoting.SYSTEM_ERROR, f"queueId {queue_id} is out of range")
            return
        properties = fields.get("i", "")
        wait = _waits(properties)
        message = record.Message(
            topic=topic,
            queue_id=queue_id,
            body=command.body,
            properties=self._stored_properties(properties),
            flag=_number(fields.get("h", "0")),
            sys_flag=_number(fields.get("f", "0")),
            born_ms=_number(fields["g"]),
            born_host=(b"\x7f\0\0\x01", 0),
            store_host=self.store_host,
            reconsume_times=_number(fields.get("j", "0")),
        )
        queue_offset = self.queues.next_offset(topic, queue_id)
        try:
            put = self.log.put(message, queue_offset, self.io.wall_ms())
        except StoreFull:
            self._refuse(conn, command, remoting.SERVICE_NOT_AVAILABLE, "the disk is full")
            return
        except CodecError as why:
            self._refuse(conn, command, remoting.MESSAGE_ILLEGAL, str(why))
            return
        self._stored(put.lo, put.hi, put.data, put.filler)
        answer = partial(self._answer_send, conn, command, message_id.encode(self.store_host, put.lo), queue_offset)
        self._settle_put(put.hi, wait, PendingPut(answer))

    def _stored_properties(self, given: str) -> bytes:
        """As 4.9 stores them: without WAIT, which was only for this broker, and with the cluster's name."""
        kept = [each for each in given.split("\x02") if each and not each.startswith("WAIT\x01")]
        kept.append(f"CLUSTER\x01{self.config.brokerClusterName}")
        return "\x02".join(kept).encode()

    def _stored(self, lo: int, hi: int, data: bytes, filler: tuple[int, int] | None) -> None:
        if filler is not None:
            at, end = filler
            self.watcher.appended(at, end, self.log.read(at, end - at), "filler")
        self.watcher.appended(lo, hi, data, "put")
        self.queues.dispatch(self.log)

    def _settle_put(self, end: int, wait: bool, pending: PendingPut) -> None:
        """Decide what the answer waits for, then let the disk and the slaves get to work."""
        if not self.waits_for_slave(wait):
            pending.replica = "PUT_OK"
        elif not self.ha.slave_available(end):
            pending.replica = "SLAVE_NOT_AVAILABLE"
        else:
            self.ha.await_slave(end, pending.replicated)
            if self.ha.flushed_only:
                # It leaves for the slaves after the flush only, and a whole flush interval is a long wait.
                self.flusher.urge()
        if self.waits_for_flush(wait):
            self.flusher.wait(end, pending.flushed)
        else:
            pending.flushed("PUT_OK")
        self.flusher.grown()
        self.ha.wake()

    def _answer_send(self, conn: Conn, command: Command, msg_id: str, queue_offset: int, status: str) -> None:
        fields = {"msgId": msg_id, "queueId": command.fields["e"], "queueOffset": str(queue_offset)}
        self._answer(conn, command, remoting.CODE_OF_STATUS[status], fields)

    def _on_pull(self, conn: Conn, command: Command) -> None:
        fields = command.fields
        topic, queue_id, offset = fields["topic"], _number(fields["queueId"]), _number(fields["queueOffset"])
        limit = min(_number(fields["maxMsgNums"]), MAX_PULL_MESSAGES)
        low, high = self.queues.min_offset(topic, queue_id), self.queues.next_offset(topic, queue_id)
        body, taken = self._messages(topic, queue_id, offset, limit) if low <= offset < high else (b"", 0)
        code, following = remoting.SUCCESS, offset + taken
        if not taken and low <= offset <= high:
            code = remoting.PULL_NOT_FOUND
        elif not taken:
            code, following = remoting.PULL_OFFSET_MOVED, low if offset < low else high
        if code == remoting.PULL_OFFSET_MOVED and self.config.is_slave:
            # A slave does not move a reader: it may only be behind.
            code, following = remoting.PULL_RETRY_IMMEDIATELY, offset
        answer = {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(following),
            "minOffset": str(low),
            "maxOffset": str(high),
        }
        self._answer(conn, command, code, answer, body)

    def _messages(self, topic: str, queue_id: int, offset: int, limit: int) -> tuple[bytes, int]:
        found: list[bytes] = []
        size = 0
        for entry in self.queues.get(topic, queue_id, offset, limit):
            if found and size + entry.size > MAX_PULL_BYTES:
                break
            found.append(self.log.read(entry.physical_offset, entry.size))
            size += entry.size
        return b"".join(found), len(found)

    def _refuse(self, conn: Conn, command: Command, code: int, remark: str) -> None:
        self._answer(conn, command, code, {}, remark=remark)

    def _answer(
        self,
        conn: Conn,
        command: Command,
        code: int,
        fields: dict[str, str],
        body: bytes = b"",
        remark: str | None = None,
    ) -> None:
        if not command.is_oneway:
            self._send(conn, remoting.response(command, code, fields, body, remark))

    def _send(self, conn: Conn, data: bytes) -> None:
        if conn not in self.clients:
            return
        data = self.unsent.pop(conn, b"") + data
        taken = self.io.send(conn, data)
        if taken < len(data):
            if len(data) - taken > MAX_UNSENT:
                # A client that does not read its answers must not fill our memory.
                self._drop(conn)
            else:
                self.unsent[conn] = data[taken:]

    def _drop(self, conn: Conn) -> None:
        self.clients.pop(conn, None)
        self.unsent.pop(conn, None)
        self.io.close(conn)


def _number(text: str) -> int:
    """A field as Java's Long.parseLong takes it; ValueError otherwise."""
    if not NUMBER.fullmatch(text):
        raise ValueError(repr(text))
    return int(text)


def _waits(properties: str) -> bool:
    """Whether a message waits for the store's promise: unless its property WAIT says anything but true."""
    for each in properties.split("\x02"):
        if each.startswith("WAIT\x01"):
            return each[5:].lower() == "true"
    return True
