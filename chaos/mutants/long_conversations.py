"""Mutants of behaviour over time and over several connections, visible only in a conformance conversation."""

from __future__ import annotations

from collections.abc import Hashable

from ...reference.core.processors.members import Members
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.transactions import COMMIT, PENDING, Transactions
from ...reference.core.queue_locks import QueueLocks
from ...reference.core.requests import Request
from ...reference.core.routes import RouteTable
from .mutant import seeded


@seeded("slave", "conversation-answered", "expires a lock 60 s after it was granted, ignoring renewals")
class RenewsNoLocks(QueueLocks):
    def _take(self, key: tuple[str, Hashable], client: str, now: int) -> bool:
        held = self._locks.get(key)
        taken = super()._take(key, client, now)
        if taken and held is not None and held.client == client and now <= held.until:
            self._locks[key] = held
        return taken


@seeded("slave", "conversation-answered", "keeps a client without heartbeats while it sends other requests")
class CountsQuestionsAsHeartbeats(Members):
    def on_consumer_ids(self, request: Request) -> None:
        clients = self.parts.clients
        for members in (*clients.producers.values(), *(group.clients for group in clients.consumers.values())):
            if request.conn in members:
                members[request.conn] = members[request.conn]._replace(seen=self.parts.io.now())
        super().on_consumer_ids(request)


@seeded("master", "conversation-answered", "notifies groups of their changes although they disabled that")
class TellsQuietGroups(Members):
    def notifies(self, group: str) -> bool:
        return True


@seeded("master", "conversation-answered", "answers every waiting pull at its next poll, every 5 s")
class EndsPullsAtEachLook(Pulling):
    def on_timer(self, key: Hashable) -> None:
        now = self.parts.io.now()
        self.held = {place: [each._replace(until=now) for each in held] for place, held in self.held.items()}
        super().on_timer(key)


@seeded("master", "conversation-answered", "commits a transaction whose producer answers unknown")
class CommitsWhatIsPending(Transactions):
    def on_end(self, request: Request) -> None:
        if request.header["commitOrRollback"] == PENDING:
            request.header["commitOrRollback"] = COMMIT
        super().on_end(request)


@seeded(
    "names", "conversation-answered", "removes a broker that only queries its topics' version instead of registering"
)
class HearsRegistrationsOnly(RouteTable):
    def touch(self, address: str, now: int) -> None:
        """Not a sign of life."""
