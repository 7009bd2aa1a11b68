"""What clients talk to in tests: a scripted name server and scripted brokers, and a listener that writes down."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from client_world import MS, Host

from pairproof.reference.core.command_peers import CommandPeers
from pairproof.reference.ports import Conn
from pairproof.reference.wire import beans, headers, record, remoting
from pairproof.reference.wire.bodies_client import ConsumerList, HeartbeatData, LockBatchRequest, LockBatchResponse
from pairproof.reference.wire.bodies_route import BrokerData, QueueData, TopicRouteData, encode_route
from pairproof.reference.wire.headers import RequestCode
from pairproof.reference.wire.record import Message
from pairproof.reference.wire.remoting import Command

TOPIC = "T"
SILENCE = object()
"""A script's answer that never comes."""


class Request(NamedTuple):
    """A request as a scripted node saw it."""

    time: int
    code: int
    header: dict[str, Any]
    body: bytes
    conn: Conn
    command: Command


class Answer(NamedTuple):
    """What a script says to a request."""

    code: int = remoting.SUCCESS
    values: Mapping[str, Any] = {}
    body: bytes = b""


Script = Callable[[Request], Any]


class Scripted:
    """A node that answers by ``scripts``, by request code; code 3 without one."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.peers = CommandPeers(host, self._on_command, self.gone)
        self.scripts: dict[int, Script] = {}
        self.requests: list[Request] = []

    def seen(self, code: int) -> list[Request]:
        return [request for request in self.requests if request.code == code]

    def answer(self, request: Request, answer: Answer) -> None:
        fields = headers.encode_response(request.code, answer.values, answer.code) if answer.values else {}
        self.peers.answer(request.conn, request.command, answer.code, fields, answer.body)

    def _on_command(self, conn: Conn, command: Command) -> None:
        header = headers.decode_request(command)
        request = Request(self.host.now(), command.code, header, command.body, conn, command)
        self.requests.append(request)
        script = self.scripts.get(command.code)
        answer = script(request) if script else Answer(remoting.REQUEST_CODE_NOT_SUPPORTED)
        if answer is not SILENCE and not command.is_oneway:
            self.answer(request, answer)

    def gone(self, conn: Conn) -> None: ...
    def on_start(self) -> None: ...
    def on_stop(self) -> None:
        self.peers.drop_all()

    def on_accepted(self, conn: Conn, port: str) -> None:
        self.peers.accept(conn)

    def on_connected(self, address: str, conn: Conn) -> None: ...
    def on_connect_failed(self, address: str) -> None: ...
    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self.peers.on_bytes(conn, data)

    def on_writable(self, conn: Conn) -> None:
        self.peers.on_writable(conn)

    def on_closed(self, conn: Conn) -> None:
        self.peers.on_closed(conn)

    def on_timer(self, key: Hashable) -> None: ...
    def on_flushed(self, token: Hashable) -> None: ...


class Names(Scripted):
    """A name server that says what the test has put into ``brokers``: broker name to id to address."""

    def __init__(self, host: Host, queues: int = 4, **brokers: dict[int, str]) -> None:
        super().__init__(host)
        self.queues = queues
        self.perm = 6
        self.brokers = brokers
        self.topics = {TOPIC}
        self.scripts[RequestCode.GET_ROUTEINFO_BY_TOPIC] = self._route

    def _route(self, request: Request) -> Answer:
        if not self.brokers or request.header["topic"] not in self.topics:
            return Answer(remoting.TOPIC_NOT_EXIST)
        route = TopicRouteData(
            tuple(BrokerData(name, "c", addresses) for name, addresses in self.brokers.items()),
            tuple(QueueData(name, self.queues, self.queues, self.perm) for name in self.brokers),
        )
        return Answer(body=encode_route(route, request.command.version))


class FakeBroker(Scripted):
    """A broker as a consumer knows it: members, offsets, queues with records, long polls, locks."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.members: dict[Conn, str] = {}
        self.tells = True
        self.offsets: dict[tuple[str, int], int] = {}
        self.queues: dict[int, list[bytes]] = {}
        self.suggests = 0
        self.locks: dict[int, str] = {}
        self.held: list[tuple[Request, int]] = []
        self.scripts |= {
            RequestCode.HEART_BEAT: self._heartbeat,
            RequestCode.UNREGISTER_CLIENT: self._unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self._members,
            RequestCode.QUERY_CONSUMER_OFFSET: self._query,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._commit,
            RequestCode.GET_MIN_OFFSET: lambda request: Answer(values={"offset": 0}),
            RequestCode.GET_MAX_OFFSET: self._max,
            RequestCode.PULL_MESSAGE: self.pull,
            RequestCode.LOCK_BATCH_MQ: self._lock,
            RequestCode.UNLOCK_BATCH_MQ: self._unlock,
        }

    def put(self, queue: int, count: int = 1, tag: str | None = None) -> None:
        """Store messages, whose bodies say where they are."""
        records = self.queues.setdefault(queue, [])
        for _ in range(count):
            offset = len(records)
            properties = f"TAGS\x01{tag}".encode() if tag else b""
            message = Message(TOPIC, queue, f"{queue}/{offset}".encode(), properties)
            records.append(record.encode(message, offset, 1_000 * offset, self.host.wall_ms()))
        waiting, self.held = self.held, []
        for request, until in waiting:
            if request.header["queueId"] == queue:
                self.answer(request, self._found(request))
            else:
                self.held.append((request, until))

    def tell_group(self, group: str) -> None:
        """NOTIFY_CONSUMER_IDS_CHANGED."""
        fields = {"consumerGroup": group}
        for conn in self.members:
            command = Command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, 1, remoting.ONEWAY_FLAG, fields)
            self.host.send(conn, remoting.encode(command))

    def _heartbeat(self, request: Request) -> Answer:
        data = beans.decode(HeartbeatData, request.body)
        if request.conn not in self.members:
            self.members[request.conn] = data.client_id
            if self.tells and data.consumer_data_set:
                self.tell_group(data.consumer_data_set[0].group_name)
        return Answer()

    def _unregister(self, request: Request) -> Answer:
        self.gone(request.conn)
        return Answer()

    def gone(self, conn: Conn) -> None:
        if self.members.pop(conn, None) is not None and self.tells:
            self.tell_group("g")

    def _members(self, request: Request) -> Answer:
        if not self.members:
            return Answer(remoting.SYSTEM_ERROR)
        return Answer(body=beans.encode(ConsumerList(tuple(self.members.values()))))

    def _query(self, request: Request) -> Answer:
        offset = self.offsets.get((request.header["consumerGroup"], request.header["queueId"]))
        return Answer(remoting.QUERY_NOT_FOUND) if offset is None else Answer(values={"offset": offset})

    def _commit(self, request: Request) -> Answer:
        self.offsets[request.header["consumerGroup"], request.header["queueId"]] = request.header["commitOffset"]
        return Answer()

    def _max(self, request: Request) -> Answer:
        return Answer(values={"offset": len(self.queues.get(request.header["queueId"], ()))})

    def pull(self, request: Request) -> Any:
        header = request.header
        if header["sysFlag"] & 1:
            self._commit(request)
        if header["queueOffset"] < len(self.queues.get(header["queueId"], ())):
            return self._found(request)
        until = self.host.now() + header["suspendTimeoutMillis"] * MS
        self.held.append((request, until))
        self.host.world.at(until, self._expire)
        return SILENCE

    def _expire(self) -> None:
        now = self.host.now()
        late = [request for request, until in self.held if until <= now]
        self.held = [(request, until) for request, until in self.held if until > now]
        for request in late:
            self.answer(request, self.pulled(request, remoting.PULL_NOT_FOUND, request.header["queueOffset"]))

    def _found(self, request: Request) -> Answer:
        at, most = request.header["queueOffset"], request.header["maxMsgNums"]
        found = self.queues[request.header["queueId"]][at : at + most]
        return self.pulled(request, remoting.SUCCESS, at + len(found), b"".join(found))

    def pulled(self, request: Request, code: int, next_offset: int, body: bytes = b"") -> Answer:
        end = len(self.queues.get(request.header["queueId"], ()))
        values = {
            "suggestWhichBrokerId": self.suggests, "nextBeginOffset": next_offset, "minOffset": 0, "maxOffset": end
        }  # fmt: skip
        return Answer(code, values, body)

    def _lock(self, request: Request) -> Answer:
        asked = beans.decode(LockBatchRequest, request.body)
        got = [
            each for each in asked.mq_set if self.locks.setdefault(each.queue_id, asked.client_id) == asked.client_id
        ]
        return Answer(body=beans.encode(LockBatchResponse(tuple(got))))

    def _unlock(self, request: Request) -> Answer:
        asked = beans.decode(LockBatchRequest, request.body)
        for each in asked.mq_set:
            if self.locks.get(each.queue_id) == asked.client_id:
                del self.locks[each.queue_id]
        return Answer()


class Notes:
    """A listener that writes everything down: (time in ns, what, its arguments)."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.all: list[tuple[int, str, tuple[Any, ...]]] = []

    def of(self, what: str) -> list[tuple[Any, ...]]:
        return [arguments for _, each, arguments in self.all if each == what]

    def times(self, what: str) -> list[int]:
        return [time for time, each, _ in self.all if each == what]

    def delivered_bodies(self) -> list[str]:
        return [found.message.body.decode() for _, _, found, _ in self.of("delivered")]

    def open_calls(self) -> set[tuple[str, int]]:
        """Calls that began and have not ended."""
        kinds = ("pull", "commit", "query")
        began = {(kind, args[0]) for kind in kinds for args in self.of(f"{kind}_began")}
        ended = [(kind, args[0]) for kind in kinds for args in self.of(f"{kind}_ended")]
        assert len(ended) == len(set(ended)), "a call ended twice"
        assert set(ended) <= began
        return began - set(ended)

    def __getattr__(self, what: str) -> Callable[..., None]:
        if what.startswith("__"):
            raise AttributeError(what)
        return lambda *args, **named: self.all.append((self.host.now(), what, (*args, *named.values())))
