"""One simulated trial: a master, its slaves and their clients on simulated machines, everything recorded.

With ``lab.names`` the brokers register at a name server, slaves fetch their master's tables, and consumers can join.

Implements :class:`pairproof.harness.ports.Session` and the stage of :mod:`pairproof.chaos.labs.script`. Clients and the
abilities that faults need are parts of it.
"""

from __future__ import annotations

from collections.abc import Callable

from pairproof.chaos.labs import script
from pairproof.chaos.labs.script import Bounds
from pairproof.chaos.labs.sim import topology
from pairproof.chaos.labs.sim.host import WATCHDOG
from pairproof.chaos.labs.sim.link_trouble import LinkTrouble
from pairproof.chaos.labs.sim.node_trouble import NodeTrouble
from pairproof.chaos.labs.sim.strangers import Strangers
from pairproof.chaos.labs.sim.world import World
from pairproof.chaos.rocketmq import sim_tables as tables
from pairproof.chaos.rocketmq.clients import Clients
from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.chaos.targets.reference import NAME_SERVER, ReferenceTarget
from pairproof.harness.errors import LabError, UsageError
from pairproof.harness.history import MS
from pairproof.harness.ports import Target
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.awaiting import Awaiting
from pairproof.harness.schedule import Args

SETTLE_NS = 90_000 * MS
# Addresses that come from a name server take three registration periods more.
WHOLE_SETTLE_NS = 210_000 * MS
LOOK_NS = 1_000 * MS
POINTS = ("append", "flush", "send", "recv")


class SimSession:
    """See the module. ``settings`` are complete: the target has filled in its defaults."""

    parts: tuple[SimSession, Clients, Consumers, LinkTrouble, NodeTrouble, Strangers]

    def __init__(self, target: ReferenceTarget, settings: Args, seed: str) -> None:
        self.world = world = World(target, settings, seed)
        self.recorder, self.evidence, self.kernel = world.recorder, world.evidence, world.kernel
        self.all_nodes, self.has_names = world.processes, world.has_names
        client = world.hosts["client"]
        self.clients = Clients(client, self.evidence, world.brokers, topology.client_link, settings)
        client.start(lambda: self.clients.client)
        self.consumers = Consumers(
            self.clients, lambda name: world.machine(name, world.clients_ways), target.consumer_class(),
            NAME_SERVER if self.has_names else None, places.chosen_by_user(settings),
        )  # fmt: skip
        self.on_links, self.on_nodes, self.strangers = LinkTrouble(world), NodeTrouble(world), Strangers(world)
        self.parts = (self, self.clients, self.consumers, self.on_links, self.on_nodes, self.strangers)
        self.bounds = Bounds(SETTLE_NS, SETTLE_NS, LOOK_NS)
        if self.has_names:
            self.bounds = Bounds(SETTLE_NS, WHOLE_SETTLE_NS, LOOK_NS, target.sync_period_ms(settings) * MS)
        world.start()

    # Session: time.

    def now(self) -> int:
        """Virtual time, ns."""
        return self.kernel.now

    def advance(self, ms: int) -> None:
        """Let ``ms`` of virtual time pass; then read what a name server knows."""
        self.world.run_until(_never, ms * MS)
        if self.has_names:
            tables.record(self.evidence, self.world.hosts[places.NAMES])

    def step(self, events: int, within_ms: int = 1_000) -> int:
        """The next simulated events; see :class:`pairproof.harness.ports.timing.CanStep`."""
        until = self.kernel.now + within_ms * MS
        done = 0
        # Not past the last event: the clock stays where the events end, so that what follows overlaps them.
        while done < events and self.kernel.next_at() <= until and self.kernel.step(until):
            done += 1
        return done

    def wait_for(self, what: str, count: int, ms: int) -> int:
        awaiting = Awaiting(self.recorder.events, what, count)
        self.world.run_until(awaiting.reached, ms * MS)
        return awaiting.seen

    def close(self) -> None:
        """Nothing outlives a simulated trial."""
        WATCHDOG.end()

    # Session: the trial's phases, see :class:`pairproof.chaos.labs.script.Stage`.

    def warm_up(self) -> None:
        script.warm_up(self)

    def settle(self) -> None:
        script.settle(self)

    def idle(self, ns: int) -> None:
        self.world.run_until(_never, ns)

    def linked(self) -> bool:
        return len(self.evidence.heard_from) >= len(self.world.pair) - 1

    def ends(self) -> set[int | None]:
        return {broker.log.end if (broker := self.world.broker(name)) is not None else None for name in self.world.pair}

    def resting(self) -> Callable[[], bool]:
        return lambda: script.agreed(self)

    def derived(self) -> bool:
        """Without a fault nothing is derived later than its append."""
        return True

    def caught_up(self) -> bool:
        found = [self.world.broker(name) for name in (places.MASTER, places.OTHER) if name in self.world.hosts]
        brokers = [broker for broker in found if broker is not None]
        if found[0] is not None and tables.holds_back(found[0]):
            return False
        return self.consumers.stand_at(tables.queue_ends(brokers))

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        return self.world.run_until(reached, limit_ns)

    def restart(self, node: str) -> None:
        self.on_nodes.restart(node)

    def audit(self, f: str, *nodes: str) -> None:
        self.world.audit(f, *nodes)

    # Abilities: triggers.

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        if node not in self.world.pair or point not in POINTS:
            nodes, points = ", ".join(self.world.pair), ", ".join(POINTS)
            raise UsageError(f"no trigger at {node}/{point}; nodes (lab.slaves): {nodes}; points: {points}")
        self.world.arm(node, point, nth, fire)

    def disarm(self) -> None:
        self.world.armed.clear()


def _never() -> bool:
    return False


def open_session(target: Target, settings: Args, seed: str) -> SimSession:
    """A new simulated trial; the target must be one that runs in this process."""
    if not isinstance(target, ReferenceTarget):
        raise LabError(f"the simulated lab runs targets that live in this process, not {target.name!r}")
    return SimSession(target, settings, seed)
