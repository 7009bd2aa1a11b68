"""Mutants of a broker's client port: what producers are told, whatever the store and the replicas do."""

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.command_peers import CommandPeers
from pairproof.reference.core.processors.sending import Sending
from pairproof.reference.core.requests import Request
from pairproof.reference.ports import Conn
from pairproof.reference.wire import remoting


class DeafAfterRestart(Sending):
    def on_send(self, request: Request) -> None:
        if self.parts.store.recovery == "empty":
            super().on_send(request)


class RefusesAfterRestart(Sending):
    def on_send(self, request: Request) -> None:
        if self.parts.store.recovery == "empty":
            super().on_send(request)
        else:
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "the store is still recovering")


class DeafAfterJunk(Broker):
    _deaf = False

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        is_client = conn in self.peers
        if is_client and self._deaf:
            return
        super().on_bytes(conn, data)
        self._deaf = self._deaf or (is_client and conn not in self.peers)


class RefusesNewcomers(CommandPeers):
    def make_room(self) -> bool:
        return False


CLIENT_PORT = (
    Mutant("deaf_after_restart", "master", with_parts(sending_class=DeafAfterRestart), "live-converges",
           "answers no send after a restart"),
    Mutant("refuses_after_restart", "master", with_parts(sending_class=RefusesAfterRestart), "live-converges",
           "takes no send after a restart"),
    Mutant("deaf_after_junk", "master", DeafAfterJunk, "live-converges",
           "answers no client once one has sent bytes that are not a frame"),
    Mutant("refuses_newcomers", "master", with_parts(peers_class=RefusesNewcomers), "live-newcomers",
           "a thousand idle connections close the ports for clients: the reference once"),
)  # fmt: skip
