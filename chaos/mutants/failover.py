"""Mutants of two masters of one broker name: name servers' entries, registrations, and producers' addresses."""

from functools import partial

from ...reference.client.routes import Routes
from ...reference.core.calls import Outcome
from ...reference.core.registration import Registration
from ...reference.core.routes import MASTER_ID, Identity, Master, RouteTable
from ...reference.ports import Conn
from ...reference.wire import beans, headers
from ...reference.wire.bodies_route import RegisterBrokerBody
from ...reference.wire.headers import RequestCode
from .mutant import PRODUCER, seeded


@seeded("names", "route-last-master", "a name server keeps a master's address while that broker is connected")
class KeepsFirstMaster(RouteTable):
    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        broker = self.brokers.get(who.name)
        first = broker.broker_addrs.get(MASTER_ID) if broker is not None else None
        found = super().register(who, conn, ha_address, body, now)
        if who.broker_id == MASTER_ID and first in self.live:
            self.brokers[who.name].broker_addrs[MASTER_ID] = str(first)
        return found


@seeded("names", "route-last-master", "a master that ends takes the entry of its name's other master with it")
class ForgetsTheName(RouteTable):
    def __init__(self) -> None:
        super().__init__()
        self._names: dict[str, str] = {}
        """By master's address: its broker name."""

    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        if who.broker_id == MASTER_ID:
            self._names[who.address] = who.name
        return super().register(who, conn, ha_address, body, now)

    def gone(self, conn: Conn) -> None:
        names = {self._names.get(address) for address, live in self.live.items() if live.conn is conn}
        super().gone(conn)
        for name in names & self.brokers.keys():
            self.brokers[str(name)].broker_addrs.pop(MASTER_ID, None)
            self._tidy(str(name))


@seeded("names", "route-last-master", "a name server keeps both masters: it lists the second one under a free id")
class ListsTwoMasters(RouteTable):
    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        broker = self.brokers.get(who.name)
        first = broker.broker_addrs.get(MASTER_ID, who.address) if broker is not None else who.address
        found = super().register(who, conn, ha_address, body, now)
        if who.broker_id == MASTER_ID and first != who.address and first in self.live:
            addresses = self.brokers[who.name].broker_addrs
            addresses[MASTER_ID], addresses[max(addresses) + 1] = first, who.address
        return found


@seeded(
    "master", "route-last-master", "registers only what a name server lacks of its address (forceRegister=false)",
    seen_in="4.9",
)  # fmt: skip
class AsksBeforeRegistering(Registration):
    def _register(self, address: str) -> None:
        if self._encoded is None or self._encoded[0] is not self.parts.topics.version:
            super()._register(address)
            return
        fields = headers.encode_request(RequestCode.QUERY_DATA_VERSION, self._identity())
        body = beans.encode(self.parts.topics.version)
        self.parts.calls.call(address, RequestCode.QUERY_DATA_VERSION, fields, body, partial(self._compared, address))

    def _compared(self, address: str, outcome: Outcome) -> None:
        answer = outcome.answer
        if answer is None or answer.fields.get("changed") != "false":
            super()._register(address)
            return
        self.parts.watcher.registered({}, {})


@seeded("names", "ha-address-source", "a name server tells slaves the HA address of the name's newest broker")
class TellsNewestHaAddress(RouteTable):
    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[str, str] = {}

    def register(self, who: Identity, conn: Conn, ha_address: str, body: RegisterBrokerBody, now: int) -> Master | None:
        if who.broker_id == MASTER_ID and who.address not in self.live:
            self._newest[who.name] = ha_address
        found = super().register(who, conn, ha_address, body, now)
        newest = self._newest.get(who.name)
        return found._replace(ha_address=newest) if found is not None and found.address and newest else found


@seeded(PRODUCER, "producer-tries", "a producer keeps the first address of a master, whatever later routes say")
class KeepsFirstAddress(Routes):
    def _take(self, topic: str, outcome: Outcome) -> bool:
        before = {name: its[MASTER_ID] for name, its in self.brokers.items() if MASTER_ID in its}
        found = super()._take(topic, outcome)
        self.brokers = {
            name: {**its, MASTER_ID: before[name]} if name in before and MASTER_ID in its else its
            for name, its in self.brokers.items()
        }
        return found
