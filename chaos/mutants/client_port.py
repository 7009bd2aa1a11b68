"""Mutants of a broker's client port, independent of its store and replicas."""

from ...reference.core.broker import Broker
from ...reference.core.command_peers import CommandPeers
from ...reference.core.processors.sending import Sending
from ...reference.core.requests import Request
from ...reference.ports import Conn
from ...reference.wire import remoting
from .mutant import seeded


@seeded("master", "live-converges", "answers no send after a restart")
class DeafAfterRestart(Sending):
    def on_send(self, request: Request) -> None:
        if self.parts.store.recovery == "empty":
            super().on_send(request)


@seeded("master", "live-converges", "accepts no send after a restart")
class RefusesAfterRestart(Sending):
    def on_send(self, request: Request) -> None:
        if self.parts.store.recovery == "empty":
            super().on_send(request)
        else:
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "the store is still recovering")


@seeded("master", "live-converges", "answers no client after one has sent bytes that are not a frame")
class DeafAfterJunk(Broker):
    _deaf = False

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        is_client = conn in self.peers
        if is_client and self._deaf:
            return
        super().on_bytes(conn, data)
        self._deaf = self._deaf or (is_client and conn not in self.peers)


@seeded("master", "live-newcomers", "a thousand idle connections close the client ports: once a bug of the reference")
class RefusesNewcomers(CommandPeers):
    def make_room(self) -> bool:
        return False
