"""Mutants of a broker's client port: what producers are told, whatever the store and the replicas do."""

from __future__ import annotations

from pairproof.chaos.mutants.mutant import Mutant, with_parts
from pairproof.reference.core.processors.sending import Sending
from pairproof.reference.core.requests import Request
from pairproof.reference.wire import remoting


class DeafAfterRestart(Sending):
    """Hears no sends once it has been started on a store that held something."""

    def on_send(self, request: Request) -> None:
        """Only the first life hears."""
        if self.parts.store.recovery == "empty":
            super().on_send(request)


class RefusesAfterRestart(Sending):
    """Says that it is not ready, for ever, once it has been started on a store that held something."""

    def on_send(self, request: Request) -> None:
        """Only the first life is ready."""
        if self.parts.store.recovery == "empty":
            super().on_send(request)
        else:
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "the store is still recovering")


CLIENT_PORT = (
    Mutant("deaf_after_restart", "master", with_parts(sending_class=DeafAfterRestart), "live-converges",
           "answers no send after a restart"),
    Mutant("refuses_after_restart", "master", with_parts(sending_class=RefusesAfterRestart), "live-converges",
           "takes no send after a restart"),
)  # fmt: skip
