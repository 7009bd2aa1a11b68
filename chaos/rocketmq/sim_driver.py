"""Operations and script queries of a simulated trial for a RocketMQ pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...harness.history import MS
from ...harness.rocketmq import topology
from ...harness.rocketmq.boundaries import CONVERSATIONS, NOTHING_ASKED
from ..driver import Driver
from ..labs import script
from ..labs.sim.world import World
from ..plan import CLIENT
from . import planning, sim_long_conversations, sim_questions
from . import sim_tables as tables
from .clients import Clients, send_timeout_ms
from .consumers import Consumers
from .other_sends import LARGEST, MOST, OtherSends
from .producers import Producers
from .recreating import Recreating
from .sim_readings import SimReadings
from .sim_rogue_peers import RoguePeers
from .transactions import Transactions

if TYPE_CHECKING:
    from ..targets.reference import ReferenceTarget


WIDE = 65_536


class SimDriver(Driver):
    """Derivation happens at the append, unless a fault holds it."""

    parts: tuple[Clients, OtherSends, Recreating, Producers, Consumers, Transactions, RoguePeers]
    clients: Clients

    def __init__(self, target: ReferenceTarget, world: World) -> None:
        self.world = world
        settings = world.settings
        self.pair = world.plan.replicas
        brokers = planning.brokers(settings)
        self.configs = {name: target.config(name, settings) for name in brokers}
        self.shown = {name: target.shown(name, settings) for name in brokers}
        self.readings = SimReadings(world.evidence, world.hosts, self.configs)
        world.evidence.readings = self.readings
        client = world.hosts[CLIENT]
        self.clients = Clients(client, self.readings, brokers, lambda node: f"client-{node}", settings)
        client.start(lambda: self.clients.client)
        self.has_names = topology.has_names(settings)
        self.sync_ns = target.sync_period_ms(settings) * MS
        names = planning.name_servers(settings)
        self.consumers = Consumers(
            self.clients, lambda name: world.machine(name, world.clients_ways), target.consumer_class(),
            names, topology.chosen_by_user(settings),
        )  # fmt: skip
        # Through small buffers a large message takes seconds, which no bound allows.
        most = MOST if int(settings.get("lab.bufferBytes", WIDE)) >= WIDE else LARGEST
        others = OtherSends(
            self.clients, self.configs[topology.MASTER], lambda: self.readings.log_end(topology.MASTER), most
        )
        producers = Producers(
            self.clients, lambda name: world.machine(name, world.clients_ways), target.producer_class(),
            names, send_timeout_ms(settings),
            self.configs[topology.MASTER].brokerName,
        )  # fmt: skip
        self.parts = (
            self.clients, others, Recreating(self.clients, keeps_queues=True), producers, self.consumers,
            Transactions(self.clients),
            RoguePeers(world, self.readings),
        )  # fmt: skip

    def config(self, node: str) -> str | None:
        return self.shown.get(node)

    def linked(self) -> bool:
        return len(self.readings.reporting_slaves) >= len(self.pair) - 1

    def ends(self) -> set[int | None]:
        brokers = (self.readings.broker(name) for name in self.pair)
        return {None if broker is None else broker.log.written for broker in brokers}

    def caught_up(self) -> bool:
        found = [self.readings.broker(name) for name in (topology.MASTER, topology.OTHER)]
        if found[0] is not None and tables.holds_back(found[0]):
            return False
        return self.consumers.stand_at(tables.queue_ends(broker for broker in found if broker is not None))

    def audit(self, f: str, *nodes: str) -> None:
        """Read stores from outside: records of ``nodes``, and the bytes of each such slave and of the master.

        With a name server also the tables of ``nodes``, and its own.
        """
        for name, listed in script.audited(self.pair, nodes):
            self.readings.audit(self.world.hosts[topology.MASTER], self.world.hosts[name], f, listed)
        if self.has_names:
            for name in nodes:
                tables.record(self.world.evidence, self.world.hosts[name])
            tables.routed(self.world.evidence, self.world.hosts[topology.NAMES])

    def question(self, *nodes: str) -> None:
        asked = [name for name in nodes if name in self.pair or name == topology.NAMES]
        which = self.world.settings.get(CONVERSATIONS)
        if which == NOTHING_ASKED:
            return
        seed = f"{self.world.seed}/{which}" if which else self.world.seed
        for name in asked:
            host = self.world.hosts[name]
            sim_questions.put(self.world.evidence, host, seed, self.consumers.groups, has_conversation=which != 0)
        if which != 0:
            sim_long_conversations.put(self.world, asked, seed)

    def look(self) -> None:
        if self.has_names:
            tables.record(self.world.evidence, self.world.hosts[topology.NAMES])
