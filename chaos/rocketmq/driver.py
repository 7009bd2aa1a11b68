"""Operations and script queries of a trial with real processes for a RocketMQ pair."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from ...harness.history import MS, Event
from ...harness.rocketmq import topology
from ...harness.rocketmq.known.metadata import STEPS
from ...harness.texts.content import payload
from ..driver import Driver
from ..labs.real.world import World
from ..observers.auditing import Snapshot
from ..plan import CLIENT
from . import planning
from .clients import Clients, send_timeout_ms
from .consumers import Consumers
from .inspection import Inspection
from .machines import Machines
from .other_sends import OtherSends
from .producers import Producers
from .programs import placed, shown
from .provision import TOPIC
from .readings import TracedReadings
from .recreating import Recreating
from .rogue_peers import RoguePeers
from .transactions import Transactions

if TYPE_CHECKING:
    from ..targets.reference import ReferenceTarget
    from ..targets.rocketmq import RocketMQTarget

REFUSALS = 2
"""A slave with this many refusals after the last fault has diverged and will not converge."""
LOG = ("commitlog/",)
CHANGES = ("topic", "group", "delete-topic", "delete-group", "commit")
"""Calls that may change tables, whatever their result."""
TABLES_WAYS = frozenset((*topology.META_LINKS, *topology.FAST_LINKS, *topology.NAMES_LINKS))
"""Links over which slaves copy their master's tables and get its address."""


class RocketMQDriver(Driver):
    """Clients and consumers run in this process, on the same loop as the taps."""

    parts: tuple[Clients, OtherSends, Recreating, Producers, Consumers, Transactions, RoguePeers]
    clients: Clients

    def __init__(self, target: ReferenceTarget | RocketMQTarget, world: World) -> None:
        self.world, self.target = world, target
        settings, links = world.settings, world.links
        self.pair = world.plan.replicas
        brokers = planning.brokers(settings)
        self.configs = {name: placed(name, target.config(name, settings), links) for name in brokers}
        world.evidence.readings = self.readings = TracedReadings(world.evidence)
        self.machines = Machines(world)
        self.has_names = topology.has_names(settings)
        self.observed = target.observes()
        self.call_ns, self.sync_ns = send_timeout_ms(settings) * MS, target.sync_period_ms(settings) * MS
        self.inspection = Inspection(world, self.machines.machine("inspector"), self.configs, self.has_names)
        client = self.machines.machine(CLIENT)
        self.clients = Clients(
            client.io, self.readings, brokers, lambda node: str(links.dials(f"client-{node}")), settings
        )
        client.start(lambda: self.clients.client)
        names = (str(links.dials(topology.NAMES_CLIENT)),) if self.has_names else ()
        build, fixed = target.consumer_class(), topology.chosen_by_user(settings)
        self.consumers = Consumers(self.clients, self.machines.machine, build, names, fixed)
        ends = world.evidence.log_ends
        others = OtherSends(self.clients, self.configs[topology.MASTER], lambda: ends.get(topology.MASTER, 0))
        producers = Producers(
            self.clients, self.machines.machine, target.producer_class(), names, send_timeout_ms(settings),
            self.configs[topology.MASTER].brokerName,
        )  # fmt: skip
        self.parts = (
            self.clients, others, Recreating(self.clients, keeps_queues=False), producers, self.consumers,
            Transactions(self.clients), RoguePeers(world, self.machines.machine),
        )  # fmt: skip

    def config(self, node: str) -> str | None:
        if node not in self.configs:
            return None
        program: Any = self.world.nodes[node].program
        # Its present program's: another one may have replaced the first.
        config = placed(node, program.config, self.world.links)
        return json.dumps({**program.more, **shown(config, program.memory_given)}, sort_keys=True)

    def stand(self, nodes: Collection[str]) -> bool:
        """A slave that asks a name server before its master has registered learns of it much later.

        A serving Java broker has registered already, or retries 10 s later, as a concurrently started slave does:
        waiting would not help.
        """
        master = self.world.nodes[topology.MASTER]
        known = (master.name, master.incarnation) in self.readings.registered
        return known or not (self.has_names and topology.MASTER in nodes and "register" in master.program.tells)

    def _reports(self, node: str, kind: str) -> bool:
        """Whether a node reports this event type, so that the driver can wait for it."""
        return kind in self.observed or kind in self.world.nodes[node].program.tells

    def linked(self) -> bool:
        return len(self.readings.reporting_slaves) >= len(self.pair) - 1

    def ends(self) -> set[int | None]:
        """A node has no end while its files lack a message that it acked: with a pool in its process
        (``transientStorePoolEnable``) the message follows, and an earlier audit would miss it.
        """
        ends, nodes, stored = self.world.evidence.log_ends, self.world.nodes, self.clients.stored
        shown = {name: end for name, end in ends.items() if stored.get(name, -1) < end}
        return {shown.get(name) if nodes[name].is_up else None for name in self.pair}

    def resting(self) -> Callable[[], bool]:
        """Whether every node agrees, is refused for good, or does not start."""
        self.readings.refusals.clear()
        return self._came_to_rest

    def _came_to_rest(self) -> bool:
        if any(not self.world.nodes[name].is_up for name in self.pair):
            return self.clients.answered()
        ends = self.world.evidence.log_ends
        others = [name for name in self.pair[1:] if ends.get(name) != ends.get(topology.MASTER)]
        refused = all(self.readings.refusals[name] >= REFUSALS for name in others)
        return self.agreed() or (bool(others) and refused and self.clients.answered())

    def derived(self) -> bool:
        return all(
            self.readings.dispatched.get(name) == self.world.evidence.log_ends.get(name)
            for name in self.pair
            if self.world.nodes[name].is_up and self._reports(name, "dispatch")
        )

    def has_pending_copies(self) -> bool:
        """A slave's tables equal its master's since they were provided, or first copied, unless the trial changed them.

        A trial that does not wait cannot violate the laws of metadata, which judge only changes that had time to be
        copied.
        """
        return any(map(_affects_tables, self.world.recorder.events))

    def copied(self, since_ns: int) -> bool:
        copies = self.readings.copies
        up = [name for name in self.pair[1:] if self.world.nodes[name].is_up]
        return all(copies.get(name, {}).get(table, -1) >= since_ns for name in up for table in STEPS)

    def caught_up(self) -> bool:
        if self.world.run(self.inspection.delayed()):
            return False
        return self.consumers.stand_at(self.world.run(self.inspection.queue_ends(TOPIC)))

    def starting(self, node: str) -> None:
        self.clients.stored.pop(node, None)
        if node in self.configs:
            self.inspection.starting(node)

    def audit(self, f: str, *nodes: str) -> None:
        self.inspection.audit(f, *nodes)

    def question(self, *nodes: str) -> None:
        for name in nodes:
            if name in self.pair:
                self.inspection.question(name, self.consumers.groups, self.target.questions(name))

    def look(self) -> None:
        if self.has_names:
            self.inspection.tables(topology.NAMES)

    def log_end(self, node: str) -> int:
        found = self.world.nodes[node]
        slots = self.configs[node].maxHashSlotNum
        return Snapshot(node, found.incarnation, found.files(LOG), None, slots).read().where

    def close(self) -> None:
        self.machines.close()


def _affects_tables(event: Event) -> bool:
    """Whether it may change topics, groups or offsets, or prevent slaves from copying them."""
    match event.kind:
        case "consumer":
            return True
        case "invoke":
            if event.f == "send":
                # A delayed message moves the table of delays; one to a new topic creates the topic.
                return "level" in payload(event.detail) or not (event.queue or "").startswith(f"{TOPIC}/")
            return event.f in CHANGES
        case "fault":
            return event.node == topology.NAMES or event.link in TABLES_WAYS
    return False
