"""Mutants of a slave's role: never a master, even without one, but available to readers."""

from typing import Any

from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.client.routes import Choice
from ...reference.core import ha_slave
from ...reference.core.broker import Broker
from ...reference.core.config import BrokerConfig
from ...reference.core.ha_slave import HaSlave
from ...reference.core.processors.administration import Administration
from ...reference.core.processors.pulling import Pulling
from ...reference.core.processors.sending import Sending
from ...reference.core.reading import Found, Reader, Takes
from ...reference.core.registration import Registration
from ...reference.core.requests import Request
from ...reference.core.routes import MASTER_ID, RouteTable
from ...reference.ports import Conn
from ...reference.wire import remoting
from ...reference.wire.bodies_client import MessageQueue
from ...reference.wire.bodies_route import TopicRouteData
from ...reference.wire.remoting import Command
from .mutant import CONSUMER, seeded


@seeded(
    "slave",
    "role-slave-read-only",
    "lets administrators change a slave's topics and groups",
    seen_in="4.9 to 4.9.3, 5.3.1, 5.5.0",
)
class TakesChanges(Administration):
    def check_role(self) -> None:
        """Any role."""


@seeded("slave", "role-slave-read-only", "a slave stores messages that it is sent")
class TakesSends(Sending):
    def refuses_role(self) -> bool:
        return False


class Lonely:
    alone = False


class KnowsWhetherAlone(Broker):
    def _on_command(self, conn: Conn, command: Command) -> None:
        for part in (self.sending, self.pulling, self.pulling.reader):
            if isinstance(part, Lonely):
                part.alone = self.config.is_slave and self.replica.phase is not ha_slave.Phase.CONNECTED
        super()._on_command(conn, command)


@seeded("slave", "role-no-takeover", "a slave accepts messages while it has no master", KnowsWhetherAlone)
class TakesOver(Lonely, Sending):
    def refuses_role(self) -> bool:
        return super().refuses_role() and not self.alone


@seeded("slave", "role-no-takeover", "a slave registers under the master's id")
class RegistersAsMaster(Registration):
    def _identity(self) -> dict[str, Any]:
        return {**super()._identity(), "brokerId": MASTER_ID}


@seeded("slave", "role-slave-serves", "a slave refuses pulls while it has no master", KnowsWhetherAlone)
class RefusesAlone(Lonely, Pulling):
    def on_pull(self, request: Request) -> None:
        if self.alone:
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "no master")
        else:
            super().on_pull(request)


@seeded(
    "slave",
    "role-slave-serves",
    "a slave with slaveReadEnable=false redirects every pull to the absent master: the source of 4.9 read "
    "without its last switch",
)
class TakesFirstCode(Pulling):
    def on_pull(self, request: Request) -> None:
        if not self.parts.config.is_slave or self.parts.config.slaveReadEnable:
            super().on_pull(request)
            return
        topic, queue_id = request.header["topic"], request.header["queueId"]
        queues = self.parts.store.queues
        values = {
            "suggestWhichBrokerId": MASTER_ID, "nextBeginOffset": request.header["queueOffset"],
            "minOffset": queues.min_offset(topic, queue_id), "maxOffset": queues.next_offset(topic, queue_id),
        }  # fmt: skip
        request.answer(remoting.PULL_RETRY_IMMEDIATELY, values)


class ConfirmsNothing(Lonely, Reader):
    """Returns what its master has confirmed, which is nothing while it has none."""

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        if not self.alone or not found.messages:
            return found
        return Found("OFFSET_OVERFLOW_ONE", offset, found.low, found.high)


@seeded("slave", "role-slave-serves", "a slave finds nothing while it has no master", KnowsWhetherAlone)
class ReadsConfirmed(Lonely, Pulling):
    reader_class = ConfirmsNothing


@seeded("slave", "ha-address-source", "a slave ignores its master's address from a name server")
class NeverFollows(HaSlave):
    def follow(self, address: str) -> None:
        """Ignored."""


@seeded("slave", "ha-address-source", "a slave connects to the default master address before it gets its master's")
class GuessesAddress(HaSlave):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.address = self.address or BrokerConfig().ha_address


@seeded("names", "role-read-failover", "a name server has no route to slaves without their master")
class ForgetsWithMaster(RouteTable):
    def route(self, topic: str) -> TopicRouteData | None:
        found = super().route(topic)
        if found is None or not any(MASTER_ID in broker.broker_addrs for broker in found.broker_datas):
            return None
        return found


@seeded(CONSUMER, "role-read-failover", "a consumer reads from no slave")
class MasterOnly(ConsumersPulling):
    def choice(self, queue: MessageQueue) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, MASTER_ID, only_this=True)
