"""Mutants of a broker's client port: what producers are told, whatever the store and the replicas do."""

from __future__ import annotations

from pairproof.chaos.mutants.mutant import Mutant
from pairproof.reference.core.broker import Broker
from pairproof.reference.ports import Conn
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command


class DeafAfterRestart(Broker):
    """Hears no sends once it has been started on a store that held something."""

    def _on_send(self, conn: Conn, command: Command) -> None:
        if self.recovery == "empty":
            super()._on_send(conn, command)


class RefusesAfterRestart(Broker):
    """Says that it is not ready, for ever, once it has been started on a store that held something."""

    def _on_send(self, conn: Conn, command: Command) -> None:
        if self.recovery == "empty":
            super()._on_send(conn, command)
        else:
            self._refuse(conn, command, remoting.SERVICE_NOT_AVAILABLE, "the store is still recovering")


CLIENT_PORT = (
    Mutant("deaf_after_restart", "master", DeafAfterRestart, "live-converges", "answers no send after a restart"),
    Mutant("refuses_after_restart", "master", RefusesAfterRestart, "live-converges", "takes no send after a restart"),
)  # fmt: skip
