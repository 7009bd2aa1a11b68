"""Mutants of clients' and brokers' registrations, visible only in a conformance conversation."""

from ...reference.core.processors.members import Members
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.send_back import SendBack
from ...reference.core.processors.sending import Sending
from ...reference.core.requests import Request
from ...reference.core.routes import Identity, Master, RouteTable
from ...reference.ports import Conn
from ...reference.wire.bodies_route import RegisterBrokerBody
from ...reference.wire.record import Message
from .mutant import seeded


@seeded("slave", "conversation-answered", "keeps an unregistered client until its connection ends")
class KeepsWhoLeaves(Members):
    def on_unregister(self, request: Request) -> None:
        request.answer()


@seeded("names", "conversation-answered", "keeps the filter servers of a broker that has removed them")
class KeepsFilterServers(RouteTable):
    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        kept = self._filters.get(who.address, ())
        return super().register(
            who, conn, ha_address, body._replace(filter_server_list=body.filter_server_list or kept), now
        )


@seeded("master", "conversation-answered", "serves pulls although brokerPermission forbids them")
class ServesRefusedPulls(Pulling):
    def _forbids(self) -> bool:
        return False


@seeded("master", "conversation-answered", "takes messages back although brokerPermission forbids sends")
class TakesRefusedRetries(SendBack):
    def _forbids(self) -> bool:
        return False


@seeded("master", "conversation-answered", "delays no message that has failed before")
class DelaysNoRetries(Sending):
    def _delayed(self, message: Message) -> Message:
        return message if message.reconsume_times else super()._delayed(message)
