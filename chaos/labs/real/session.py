"""One trial with real processes: brokers and a name server behind a real toxiproxy, everything recorded.

Implements :class:`pairproof.harness.ports.Session` as the simulated lab does; time is the machine's own. What clients
and faults can do are parts of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pairproof.chaos.labs import script
from pairproof.chaos.labs.real.bench import Bench
from pairproof.chaos.labs.real.link_trouble import LinkTrouble
from pairproof.chaos.labs.real.links import CLIENT
from pairproof.chaos.labs.real.nodes import MEMORY, Status, is_slave
from pairproof.chaos.labs.real.processes import Processes
from pairproof.chaos.labs.real.store_trouble import StoreTrouble
from pairproof.chaos.labs.real.strangers import Strangers
from pairproof.chaos.labs.real.world import World
from pairproof.chaos.labs.script import Bounds
from pairproof.chaos.rocketmq.clients import Clients, send_timeout_ms
from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.chaos.rocketmq.inspection import Inspection
from pairproof.chaos.rocketmq.node import EXIT_BUG
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.chaos.targets.rocketmq import AnyTarget
from pairproof.harness.errors import LabError
from pairproof.harness.history import MS
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.awaiting import Awaiting
from pairproof.harness.schedule import Args

REGISTERED_NS = 5_000 * MS
SETTLE_NS = 60_000 * MS
WHOLE_SETTLE_NS = 150_000 * MS
LOOK_NS = 500 * MS
MAX_LOG = 32_768
"""Characters kept of what a node has said."""
REFUSALS = 2
"""After so many, once all faults are over, a slave has diverged and will not converge."""
PROBE_SLACK_NS = 10_000 * MS
"""A probe may stand behind sends of the trial; those and itself are given up after lab.sendTimeoutMs."""
HEALTHY_NS = 1_500 * MS
"""What machines that are shared may add to anything: such a machine stood still for a second when this was measured."""
INSTANT_NS = 300 * MS
"""The same of two things that a process does one right after the other."""


class RealSession:
    """See the module. ``settings`` are complete: the target has filled in its defaults."""

    parts: tuple[RealSession, Clients, Consumers, LinkTrouble, StoreTrouble, Strangers]
    trouble: type[StoreTrouble] = StoreTrouble
    """What can happen to the nodes."""

    def __init__(self, bench: Bench, target: AnyTarget, settings: Args, seed: str) -> None:
        self.bench, self.target, self.settings = bench, target, settings
        self.world = world = World(bench, target, settings, seed)
        self.recorder, self.evidence, self.folder = world.recorder, world.evidence, world.folder
        self.nodes, self.pair, self.has_names = world.nodes, world.pair, world.has_names
        self._woven = False
        self._last_words: dict[str, str] = {}
        probe_ns = send_timeout_ms(settings) * MS + PROBE_SLACK_NS
        self.bounds = Bounds(probe_ns, SETTLE_NS, LOOK_NS)
        if self.has_names:
            self.bounds = Bounds(probe_ns, WHOLE_SETTLE_NS, LOOK_NS, target.sync_period_ms(settings) * MS)
        self.processes = Processes(world)
        self.inspection = Inspection(world, self.processes)
        self._make_clients()
        self.on_links, self.strangers = LinkTrouble(world), Strangers(world)
        self.on_nodes = self.trouble(world, self.processes, self.inspection)
        self.parts = (self, self.clients, self.consumers, self.on_links, self.on_nodes, self.strangers)
        try:
            self._set_up(world.brokers, self.has_names)
        except BaseException:
            self.close()
            raise

    def _make_clients(self) -> None:
        links, client = self.world.links.by_name, self.world.machine(CLIENT)
        self.clients = Clients(
            client.io, self.evidence, self.world.brokers, lambda node: links[f"client-{node}"].address, self.settings
        )
        client.start(lambda: self.clients.client)
        names = links[places.NAMES_CLIENT].address if self.has_names else None
        build, fixed = self.target.consumer_class(), places.chosen_by_user(self.settings)
        self.consumers = Consumers(self.clients, self.world.machine, build, names, fixed)

    def _set_up(self, brokers: tuple[str, ...], names: bool) -> None:
        if names:
            self._add_name_server(brokers)
        for name in brokers:
            node = self.bench.node(self.folder, name, self.target, self._config(name))
            node.memory_given = self._gives_memory(name)
            self.nodes[name] = node
            assert node.store is not None and node.config is not None
            self.evidence.stores[name] = node.store.path, node.config.mappedFileSizeCommitLog
        self.evidence.lab(HEALTHY_NS, INSTANT_NS, self.settings)
        for name in brokers:
            self.evidence.config(name, self.nodes[name].settings())
            if self.world.is_provided(name):
                self.nodes[name].provide()
        self.bench.begin(self.evidence)
        self.world.watch.start()
        self.world.run(self.world.links.start())
        if names:
            self.processes.boot(places.NAMES)
        self.processes.boot(*(name for name in brokers if not is_slave(name)))
        if names:
            # A slave that asks before would hear of its master only with its next registration.
            master = self.nodes[places.MASTER]
            self.world.run_until(lambda: (master.name, master.incarnation) in self.evidence.registered, REGISTERED_NS)
        self.processes.boot(*(name for name in brokers if is_slave(name)))
        for node in self.nodes.values():
            # On an empty store only what its own code raises is sure to be the node's failure.
            if not node.is_up and node.status() != Status("exited", EXIT_BUG):
                raise LabError(f"{node.name} does not come up; its last output: {node.log_tail()}")

    def _config(self, name: str) -> Any:
        by_name = self.world.links.by_name
        host, port = self.bench.broker(name)
        config = replace(self.target.config(name, self.settings), listenPort=port, brokerIP1=host)
        if config.haMasterAddress:
            config = replace(config, haMasterAddress=by_name[places.HA_LINKS[places.SLAVES.index(name)]].address)
        if config.namesrvAddr:
            config = replace(config, namesrvAddr=by_name[f"names-{name}"].address)
        self.evidence.addresses |= {config.address: name, config.ha_address: name}
        return config

    def _gives_memory(self, name: str) -> bool:
        own = is_slave(name) and bool(self.settings.get("lab.slaveMemory"))
        return own or MEMORY in self.settings

    def _add_name_server(self, brokers: tuple[str, ...]) -> None:
        node = self.bench.node(self.folder, places.NAMES, self.target, None)
        node.asks = {asker: self.bench.asker(asker).port for asker in (CLIENT, *brokers, places.NAMES)}
        by_name = self.world.links.by_name
        real = {name: str(self.bench.broker(name)) for name in brokers}
        node.views = {CLIENT: {real[name]: by_name[f"client-{name}"].address for name in brokers}}
        for number, slave in enumerate(self.pair[1:]):
            node.views[slave] = {
                real[places.MASTER]: by_name[places.META_LINKS[number]].address,
                str(self.bench.broker(places.MASTER).ha): by_name[places.HA_LINKS[number]].address,
            }
        self.nodes[places.NAMES] = node

    def now(self) -> int:
        """Since the trial began, ns."""
        return self.evidence.now()

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; whether it was reached."""
        return self.world.run_until(reached, limit_ns)

    def advance(self, ms: int) -> None:
        """Let ``ms`` of real time pass; then read what a name server knows."""
        self.world.run(asyncio.sleep(ms / 1_000))
        self.evidence.poll()
        self.bench.check()
        if self.has_names:
            self.inspection.tables(places.NAMES)

    def wait_for(self, what: str, count: int, ms: int) -> int:
        self.evidence.poll()
        seen = [Awaiting(events, what, count) for events in (self.recorder.events, self.evidence.traced)]

        def reached() -> bool:
            return any(each.reached() for each in seen)

        self.world.run_until(reached, ms * MS)
        return sum(each.seen for each in seen)

    # The trial's phases, see :class:`pairproof.chaos.labs.script.Stage`.

    def warm_up(self) -> None:
        script.warm_up(self)

    def settle(self) -> None:
        script.settle(self)
        self._weave()

    def _weave(self) -> None:
        if not self._woven:
            self._woven = True
            self.evidence.stalled(self.world.watch.stop())
            self.evidence.weave()

    @property
    def all_nodes(self) -> Collection[str]:
        return self.nodes

    def idle(self, ns: int) -> None:
        self.advance(ns // MS)

    def linked(self) -> bool:
        return len(self.evidence.heard_from) >= len(self.pair) - 1

    def ends(self) -> set[int | None]:
        return {self.evidence.log_ends.get(name) if self.nodes[name].is_up else None for name in self.pair}

    def resting(self) -> Callable[[], bool]:
        """Whether every node agrees, is refused for good, or does not come up."""
        self.evidence.refusals.clear()
        return self._came_to_rest

    def _came_to_rest(self) -> bool:
        if any(not self.nodes[name].is_up for name in self.pair):
            return self.clients.answered()
        ends = self.evidence.log_ends
        others = [name for name in self.pair[1:] if ends.get(name) != ends.get(places.MASTER)]
        refused = all(self.evidence.refusals[name] >= REFUSALS for name in others)
        return script.agreed(self) or (bool(others) and refused and self.clients.answered())

    def derived(self) -> bool:
        return all(
            self.evidence.dispatched.get(name) == self.evidence.log_ends.get(name)
            for name in self.pair
            if self.nodes[name].is_up
        )

    def caught_up(self) -> bool:
        if self.world.run(self.inspection.delayed()):
            return False
        return self.consumers.stand_at(self.world.run(self.inspection.queue_ends(TOPIC)))

    def audit(self, f: str, *nodes: str) -> None:
        self.inspection.audit(f, *nodes)

    def restart(self, node: str) -> None:
        self.on_nodes.restart(node)

    def logs(self) -> dict[str, str]:
        """See :class:`pairproof.harness.ports.HasLogs`; also of a trial that was broken off."""
        if self.world.is_closed:
            return self._last_words
        return {name: said for name, node in self.nodes.items() if (said := node.said()[-MAX_LOG:])}

    def close(self) -> None:
        """End the trial's processes and empty its stores; the bench stays for the next one.

        Of a trial that did not come to its end the history is what there is of it, and its bench is given up.
        """
        if self.world.is_closed:
            return
        with suppress(LabError):
            self._last_words = self.logs()
        # Ctrl-C may come before it is clean, and what a broken-off trial still had to do would go on in the next one.
        self.world.is_closed = self.bench.is_broken = True
        ended_well = self._woven
        with suppress(LabError):
            self.bench.end_nodes()
        for node in self.nodes.values():
            self.processes.forget(node)
        with suppress(LabError):
            self._weave()
        for machine in self.world.machines:
            machine.kill()
        with suppress(LabError):
            self.world.links.stop()
        self.world.loop.run_until_complete(asyncio.sleep(0))
        if ended_well:
            with suppress(LabError, OSError):
                self.bench.clean()
                self.bench.is_broken = False
