"""The common base of producers and consumers: connections, routes, heartbeats. One per client and process.

Routes are requested every 30 s, every 3 s while a topic has none. Heartbeats are sent every 30 s, and at once to a
broker that is new in a route; their answers carry the brokers' versions. Unexpected requests of a broker get no answer.
Timer keys are ``(kind, ...)``, and ``("call", ...)`` for calls. Source: MQClientInstance, ClientRemotingProcessor.
"""

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, ClassVar

from ..core.calls import Calls, Outcome
from ..ports import Conn, Effects
from ..wire import beans
from ..wire.bodies_client import HeartbeatData
from ..wire.bodies_route import TopicRouteData
from ..wire.headers import RequestCode
from ..wire.remoting import SUCCESS, Command
from .alarms import Alarms
from .asking import ask
from .node import CallingNode
from .routes import Routes
from .settings import SECOND

POLL_NAME_SERVER_NS = 30 * SECOND
NO_ROUTE_RETRY_NS = 3 * SECOND
HEARTBEAT_NS = 30 * SECOND


class ClientInstance(CallingNode):
    """A node; see :class:`pairproof.reference.ports.Node`. Base of producers and consumers."""

    kind: ClassVar[str]
    only_masters: ClassVar[bool]
    routes_class: ClassVar[type[Routes]] = Routes

    def __init__(self, io: Effects, name_servers: tuple[str, ...]) -> None:
        self.io = io
        self.calls = Calls(io, self.on_request)
        self.routes = self.routes_class(io, self.calls, name_servers, self._learned)
        self.alarms = Alarms(io, self.kind)
        self.over = False
        self.rings: dict[str, Callable[..., None]] = {"routes": self.poll, "heartbeat": self.beat}
        self._heartbeat: bytes | None = None
        self._beaten: set[str] = set()
        self._polling = 0
        self._beating = 0

    # Hooks for subclasses.

    def topics(self) -> Iterable[str]:
        raise NotImplementedError

    def heartbeat(self) -> HeartbeatData:
        raise NotImplementedError

    def learned(self, topic: str, route: TopicRouteData | None) -> None:
        """A name server answered."""

    def heartbeats_ended(self) -> None:
        """All heartbeats in flight have ended."""

    def on_request(self, conn: Conn, command: Command) -> None:
        """A broker sent a request."""

    def poll(self) -> None:
        self.alarms.after(POLL_NAME_SERVER_NS, "routes")
        topics = list(self.topics())
        self._polling += len(topics)
        for topic in topics:
            self.routes.refresh(topic, self._polled)

    def _polled(self) -> None:
        self._polling -= 1
        if not self._polling and any(topic not in self.routes.topics for topic in self.topics()):
            self.alarms.after(NO_ROUTE_RETRY_NS, "routes")

    def _learned(self, topic: str, route: TopicRouteData | None) -> None:
        self.learned(topic, route)
        if not self._beaten.issuperset(self.routes.addresses(self.only_masters)):
            self.beat()

    def beat(self) -> None:
        self.alarms.after(HEARTBEAT_NS, "heartbeat")
        if self._heartbeat is None:
            self._heartbeat = beans.encode(self.heartbeat())
        addresses = self.routes.addresses(self.only_masters)
        self._beaten = set(addresses)
        self._beating += len(addresses)
        for address in addresses:
            ask(self.calls, address, RequestCode.HEART_BEAT, {}, partial(self._beat_ended, address), self._heartbeat)

    def _beat_ended(self, address: str, outcome: Outcome) -> None:
        self._beating -= 1
        if outcome.answer is not None and outcome.answer.code == SUCCESS:
            self.routes.record_version(address, outcome.answer.version)
        if not self._beating and not self.over:
            self.heartbeats_ended()

    def close(self) -> None:
        self.over = self.routes.closed = True
        self.alarms.cancel_all()
        for address in list(self.calls.lines):
            self.calls.close(address)

    def on_start(self) -> None:
        """Request the routes; heartbeats follow."""
        self.poll()

    def on_stop(self) -> None:
        self.close()

    def on_timer(self, key: Hashable) -> None:
        assert isinstance(key, tuple)
        kind, *rest = key
        if kind == "call":
            self.calls.on_timer(key)
            return
        name: Any = rest[0]
        self.alarms.fired(*rest)
        self.rings[name](*rest[1:])
