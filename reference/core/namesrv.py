"""A name server, sans-IO: brokers register, slaves learn their master, clients ask for routes.

Answers 103, 104, 105, 106, 206 and 322 on its one port. An unknown code gets no answer, as from RocketMQ 4.9; a
malformed request gets code 1 with a reason. A broker is removed when its connection ends, or after 120 s without a
message, which is checked every 10 s. A registration may fill a frame (16 MiB) and take ten seconds to parse: brokers
are trusted. Left out: the key-value and order configuration, the other admin codes, registrations of brokers before
3.0.11; the shell closes idle connections. Source: DefaultRequestProcessor, BrokerHousekeepingService,
NamesrvController.
"""

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from ..ports import Conn, Effects, Node
from ..wire import beans, remoting
from ..wire.bodies import DataVersion, TopicConfigs, TopicList
from ..wire.bodies_route import RegisterBrokerBody, decode_registration, encode_route
from ..wire.headers import RequestCode
from ..wire.remoting import Command
from .command_peers import CommandPeers
from .requests import Handler, Refused, Request, serve
from .routes import Identity, RouteTable

SCAN = ("scan",)
FIRST_SCAN_NS = 5 * 1_000_000_000
SCAN_NS = 10 * 1_000_000_000
NO_ROUTE = (
    "No topic route info in name server for the topic: {}\n"
    "See http://rocketmq.apache.org/docs/faq/ for further details."
)


class NameServer(Node):
    """It opens no connections and has no files: the events of those never happen."""

    peers_class: ClassVar[type[CommandPeers]] = CommandPeers
    routes_class: ClassVar[type[RouteTable]] = RouteTable

    def __init__(self, io: Effects) -> None:
        self.io = io
        self.routes = self.routes_class()
        self.peers = self.peers_class(io, self._on_command, self.routes.gone)
        self._handlers: Mapping[int, Handler] = {
            RequestCode.REGISTER_BROKER: self._on_register,
            RequestCode.UNREGISTER_BROKER: self._on_unregister,
            RequestCode.QUERY_DATA_VERSION: self._on_data_version,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._on_route,
            RequestCode.GET_BROKER_CLUSTER_INFO: self._on_cluster_info,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self._on_topic_list,
        }

    def on_start(self) -> None:
        self.io.timer(SCAN, self.io.now() + FIRST_SCAN_NS)

    def on_stop(self) -> None:
        self.io.cancel(SCAN)
        self.peers.drop_all()

    def on_accepted(self, conn: Conn, port: str) -> None:
        self.peers.accept(conn)

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self.peers.on_bytes(conn, data)

    def on_writable(self, conn: Conn) -> None:
        self.peers.on_writable(conn)

    def on_closed(self, conn: Conn) -> None:
        self.peers.on_closed(conn)

    def on_timer(self, key: Hashable) -> None:
        now = self.io.now()
        for conn in self.routes.expire(now):
            self.peers.drop(conn)
        self.io.timer(SCAN, now + SCAN_NS)

    def _on_command(self, conn: Conn, command: Command) -> None:
        handler = None if command.is_response else self._handlers.get(command.code)
        if handler is not None:
            serve(handler, self.peers, conn, command)

    def _on_register(self, request: Request) -> None:
        header, data = request.header, request.command.body
        body = RegisterBrokerBody(TopicConfigs({}, DataVersion()))
        if data:
            body = _decoded(data, header.get("compressed", False), header.get("bodyCrc32", 0))
        master = self.routes.register(_identity(header), request.conn, header["haServerAddr"], body, self.io.now())
        if master is None:
            raise Refused(remoting.SYSTEM_ERROR, "too many brokers")
        known = {"haServerAddr": master.ha_address, "masterAddr": master.address} if master.address else {}
        self._answer(request, known)

    def _on_unregister(self, request: Request) -> None:
        self.routes.unregister(_identity(request.header))
        self._answer(request)

    def _on_data_version(self, request: Request) -> None:
        address = request.header["brokerAddr"]
        changed = self.routes.changed(address, beans.decode(DataVersion, request.command.body))
        if not changed:
            self.routes.touch(address, self.io.now())
        known = self.routes.live.get(address)
        self._answer(request, {"changed": changed}, beans.encode(known.version) if known else b"")

    def _on_route(self, request: Request) -> None:
        topic, standard = request.header["topic"], request.header.get("acceptStandardJsonOnly", False)
        route = self.routes.route(topic)
        if route is None:
            raise Refused(remoting.TOPIC_NOT_EXIST, NO_ROUTE.format(topic))
        self._answer(request, body=encode_route(route, request.command.version, standard))

    def _on_cluster_info(self, request: Request) -> None:
        self._answer(request, body=beans.encode(self.routes.cluster_info()))

    def _on_topic_list(self, request: Request) -> None:
        self._answer(request, body=beans.encode(TopicList(tuple(self.routes.topics))))

    def _answer(self, request: Request, values: Mapping[str, Any] | None = None, body: bytes = b"") -> None:
        request.answer(values=values, body=body)


def _identity(header: Mapping[str, Any]) -> Identity:
    return Identity(header["clusterName"], header["brokerName"], header["brokerId"], header["brokerAddr"])


@lru_cache(maxsize=64)
def _decoded(body: bytes, compressed: bool, crc: int) -> RegisterBrokerBody:
    # Cached: a broker registers with the same body every 30 s.
    return decode_registration(body, {"compressed": compressed, "bodyCrc32": crc})
