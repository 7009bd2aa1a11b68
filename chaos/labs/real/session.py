"""One trial with real processes: brokers and a name server behind a real toxiproxy, everything recorded.

Implements :class:`pairproof.harness.ports.Session` as the simulated lab does; time is the machine's own. Clients and
consumers live in this process, on the same loop as the taps; the loop turns only while a call of the session lasts, and
every one is short but those that are meant to let time pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

from pairproof.chaos.labs import script
from pairproof.chaos.labs.real.bench import Bench
from pairproof.chaos.labs.real.evidence import Evidence
from pairproof.chaos.labs.real.link_trouble import LinkTrouble
from pairproof.chaos.labs.real.links import CLIENT, Links
from pairproof.chaos.labs.real.nodes import MEMORY, RealNode, Status, is_slave
from pairproof.chaos.labs.real.stalls import Watch, Watched, harness
from pairproof.chaos.labs.real.store_trouble import StoreTrouble
from pairproof.chaos.labs.real.strangers import Strangers
from pairproof.chaos.labs.script import Bounds
from pairproof.chaos.observers import auditing
from pairproof.chaos.rocketmq.client_abilities import ClientAbilities
from pairproof.chaos.rocketmq.clients import Clients, send_timeout_ms
from pairproof.chaos.rocketmq.consumers import Consumers
from pairproof.chaos.rocketmq.inspection import Inspection
from pairproof.chaos.rocketmq.machines import Machine
from pairproof.chaos.rocketmq.node import EXIT_BUG
from pairproof.chaos.rocketmq.provision import TOPIC
from pairproof.chaos.targets.rocketmq import AnyTarget
from pairproof.harness.errors import LabError, PairproofError
from pairproof.harness.history import MS, Recorder
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.awaiting import Awaiting
from pairproof.harness.schedule import Args

T = TypeVar("T")

TICK_S = 0.005
"""How often the nodes' traces are read where something is waited for."""
LOOKS = 50
"""After so many ticks it is looked whether the bench still stands."""
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


class RealSession(ClientAbilities, LinkTrouble, StoreTrouble, Strangers):
    """See the module. ``settings`` are complete: the target has filled in its defaults."""

    def __init__(self, bench: Bench, target: AnyTarget, settings: Args, seed: str) -> None:
        self.bench = bench
        self.target = target
        self.settings = settings
        self.seed = seed
        self.loop = bench.loop
        self.recorder = Recorder()
        self.evidence = Evidence(self.recorder, bench.label)
        self.folder = bench.folder / f"trial-{bench.trials}"
        self.folder.mkdir(exist_ok=True)
        bench.trials += 1
        self.pair = places.nodes(places.slaves(settings))
        names, other = places.has_names(settings), places.has_other(settings)
        self.has_names = names
        probe_ns = send_timeout_ms(settings) * MS + PROBE_SLACK_NS
        self.bounds = Bounds(probe_ns, SETTLE_NS, LOOK_NS)
        if names:
            self.bounds = Bounds(probe_ns, WHOLE_SETTLE_NS, LOOK_NS, target.sync_period_ms(settings) * MS)
        self.links = Links(bench, self.evidence, self.pair, other, names, int(settings["lab.bufferBytes"]))
        brokers = (*self.pair, places.OTHER) if other else self.pair
        self.nodes: dict[str, RealNode] = {}
        self.machines: list[Machine] = []
        self._closed = self._woven = False
        self._last_words: dict[str, str] = {}
        self.watch = Watch(self.loop, self._processes)
        self._wrong: BaseException | None = None
        """What went wrong on the loop first, where nobody was called who could have raised it."""
        self.loop.set_exception_handler(self._went_wrong)
        try:
            self._set_up(brokers, names)
        except BaseException:
            self.close()
            raise

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
            if self.is_provided(name):
                self.nodes[name].provide()
        client = self.machine(CLIENT)
        by_name = self.links.by_name
        self.clients = Clients(
            client.io, self.evidence, brokers, lambda node: by_name[f"client-{node}"].address, self.settings
        )
        client.start(lambda: self.clients.client)
        self.bench.begin(self.evidence)
        self.watch.start()
        self.inspection = Inspection(self)
        self.consumers: Consumers | None = None
        if names:
            build, fixed = self.target.consumer_class(), places.chosen_by_user(self.settings)
            self.consumers = Consumers(self.clients, self.machine, build, by_name[places.NAMES_CLIENT].address, fixed)
        self.run(self.links.start())
        if names:
            self.boot(places.NAMES)
        self.boot(*(name for name in brokers if not is_slave(name)))
        if names:
            # A slave that asks before would hear of its master only with its next registration.
            master = self.nodes[places.MASTER]
            self.run_until(lambda: (master.name, master.incarnation) in self.evidence.registered, REGISTERED_NS)
        self.boot(*(name for name in brokers if is_slave(name)))
        for node in self.nodes.values():
            # On an empty store only what its own code raises is sure to be the node's failure.
            if not node.is_up and node.status() != Status("exited", EXIT_BUG):
                raise LabError(f"{node.name} does not come up; its last output: {node.log_tail()}")

    def _config(self, name: str) -> Any:
        by_name = self.links.by_name
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
        by_name = self.links.by_name
        real = {name: str(self.bench.broker(name)) for name in brokers}
        node.views = {CLIENT: {real[name]: by_name[f"client-{name}"].address for name in brokers}}
        for number, slave in enumerate(self.pair[1:]):
            node.views[slave] = {
                real[places.MASTER]: by_name[places.META_LINKS[number]].address,
                str(self.bench.broker(places.MASTER).ha): by_name[places.HA_LINKS[number]].address,
            }
        self.nodes[places.NAMES] = node

    def _processes(self) -> Iterator[Watched]:
        """All that must be punctual; a thread asks."""
        yield harness()
        yield from self.bench.helpers()
        for node in list(self.nodes.values()):
            if node.pid is not None:
                yield Watched("node", node.name, node.pid, partial(getattr, node, "halted"))

    def machine(self, name: str) -> Machine:
        """A machine for one of our own nodes."""
        machine = Machine(self.loop, name, self.bench.anywhere, self.evidence.unreached_at)
        self.machines.append(machine)
        return machine

    # Processes.

    def boot(self, *names: str) -> None:
        """Start nodes; one that refuses its store stays down."""
        started = [self.nodes[name] for name in names if not self.nodes[name].is_up]
        for node in started:
            trace = self.aside(node.start)
            self.evidence.born(node.name, node.incarnation, trace)
            if node.pidfd is not None:
                self.loop.add_reader(node.pidfd, self.ended, node)
            else:
                self.ended(node)
        self.await_serving(*started)

    def await_serving(self, *nodes: RealNode) -> None:
        def is_late(node: RealNode) -> bool:
            return node.is_up and not (self.serves(node) or node.pauses or node.is_held)

        limit_s = max((node.ready_s for node in nodes), default=0)
        if not self.run_until(lambda: not any(map(is_late, nodes)), limit_s * 1000 * MS):
            for late in filter(is_late, nodes):
                self.give_up(late, f"it did not serve after {limit_s} s")
        self.refresh()

    def serves(self, node: RealNode) -> bool:
        return node.is_up and (node.name, node.incarnation) in self.evidence.ready

    def refresh(self) -> None:
        self.run(self.refreshed())

    async def refreshed(self) -> None:
        """As :meth:`refresh`."""
        if not self._closed:
            await self.links.refresh(frozenset(name for name, node in self.nodes.items() if self.serves(node)))

    # Time.

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the loop; LabError if anything of the lab has failed meanwhile."""
        result = self.loop.run_until_complete(work)
        if isinstance(self._wrong, PairproofError):
            raise self._wrong
        if self._wrong is not None:
            raise LabError(f"the lab itself has failed: {type(self._wrong).__name__}: {self._wrong}") from self._wrong
        return result

    def _went_wrong(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if self._wrong is None:
            self._wrong = context.get("exception") or LabError(str(context["message"]))

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; whether it was reached."""
        return self.run(self._until(reached, limit_ns))

    async def _until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        began = time.monotonic_ns()
        ends, is_extended = began + limit_ns, False
        for tick in count():
            self.evidence.poll()
            if reached():
                return True
            left_s = (ends - time.monotonic_ns()) / 1e9
            if left_s <= 0 and not is_extended:
                # For as long as the machine was late, but once, and by no more than as much again.
                ends, is_extended = ends + min(limit_ns, self.watch.stalls.total_ns(began)), True
                left_s = (ends - time.monotonic_ns()) / 1e9
            if left_s <= 0 or tick % LOOKS == 0:
                self.bench.check()
            if left_s <= 0 or self._wrong is not None:
                break
            await asyncio.sleep(min(TICK_S, left_s))
        return False

    def now(self) -> int:
        """Since the trial began, ns."""
        return self.evidence.now()

    def advance(self, ms: int) -> None:
        """Let ``ms`` of real time pass; then read what a name server knows."""
        self.run(asyncio.sleep(ms / 1_000))
        self.evidence.poll()
        self.bench.check()
        if self.has_names:
            self.inspection.tables(places.NAMES)

    def wait_for(self, what: str, count: int, ms: int) -> int:
        self.evidence.poll()
        seen = [Awaiting(events, what, count) for events in (self.recorder.events, self.evidence.traced)]

        def reached() -> bool:
            return any(each.reached() for each in seen)

        self.run_until(reached, ms * MS)
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
            self.evidence.stalled(self.watch.stop())
            self.evidence.weave()

    @property
    def processes(self) -> Collection[str]:
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
        if self.consumers is None:
            return True
        if self.run(self.inspection.delayed()):
            return False
        return self.consumers.stand_at(self.run(self.inspection.queue_ends(TOPIC)))

    def audit(self, f: str, *nodes: str) -> None:
        """Read stores from outside: records of ``nodes``, and each such slave's bytes beside the master's."""
        for name, listed in script.audited(self.pair, nodes):
            self.evidence.audits += 1
            now, found = self.inspection.snapshots(*dict.fromkeys((places.MASTER, name)))
            auditing.audit(self.recorder, now, self.evidence.audits, f, found[0], found[-1], listed)
        if self.has_names:
            for name in nodes:
                self.inspection.tables(name)

    def logs(self) -> dict[str, str]:
        """See :class:`pairproof.harness.ports.HasLogs`; also of a trial that was broken off."""
        if self._closed:
            return self._last_words
        return {name: said for name, node in self.nodes.items() if (said := node.said()[-MAX_LOG:])}

    def close(self) -> None:
        """End the trial's processes and empty its stores; the bench stays for the next one.

        Of a trial that did not come to its end the history is what there is of it, and its bench is given up.
        """
        if self._closed:
            return
        with suppress(LabError):
            self._last_words = self.logs()
        # Ctrl-C may come before it is clean, and what a broken-off trial still had to do would go on in the next one.
        self._closed = self.bench.is_broken = True
        ended_well = self._woven
        with suppress(LabError):
            self.bench.end_nodes()
        for node in self.nodes.values():
            self.forget(node)
        with suppress(LabError):
            self._weave()
        for machine in self.machines:
            machine.kill()
        with suppress(LabError):
            self.links.stop()
        self.loop.run_until_complete(asyncio.sleep(0))
        if ended_well:
            with suppress(LabError, OSError):
                self.bench.clean()
                self.bench.is_broken = False
