"""The world of a simulated trial: machines, links, virtual time, and evidence.

Clients, faults and the script of the trial act on it. The seed decides all randomness; nothing here reads a clock, the
environment or an unordered set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

from ....harness.errors import LabError
from ....harness.history import MS, Recorder
from ....harness.trials.schedule import Args
from ...driver import Driver
from ...plan import InProcess, Plan, check_target
from ..blame import ENDS, is_the_labs
from . import topology
from .disk import STORE_BYTES, SimDisk
from .evidence import Evidence
from .host import WATCHDOG, Crashed, Host, uneven
from .kernel import MOST_IN_A_MS, Kernel
from .network import Link, Network

# Largest assumed request or answer of a call: through a small buffer it needs one trip per buffer.
CALL_BYTES = 4_096
# Simulated events of a phase between two checks for an endless loop.
MAX_EVENTS = 2_000_000
# A phase with fewer events than this in a virtual millisecond is long, not stuck. A proxy that forwards a byte every
# 100 µs makes some twenty for each connection whose buffer is full.
FEW_IN_A_MS = 500
# Events of a trial with correct nodes: ten times the longest of thousands of trials, twenty times an operation's, six
# times those of a second of an idle cluster.
MOST_RECORDED, RECORDED_AN_OP, RECORDED_A_S = 150_000, 1_000, 100
# A store may have this many bytes for each one sent by clients, if that is more than a disk's size.
STORED_A_BYTE = 4
LATELY = 10_000
CALL = "call"
"""The point of every host at which a call that it made before has ended."""


class World:
    """``settings`` are complete: the target has added its defaults."""

    acting: str | None = None
    """The node in whose step a trigger fires right now."""

    def __init__(self, plan: Plan, settings: Args, seed: str) -> None:
        self.plan = plan
        self.settings = settings
        self.seed = seed
        self.kernel = Kernel(self._crowded)
        self.recorder = Recorder()
        gather = settings.get("lab.gatherMicros")
        self.gather_ns = None if gather is None else int(gather) * 1_000
        self.network = Network(self.kernel, int(settings.get("lab.bufferBytes", 65_536)), self.gather_ns)
        self.armed: dict[tuple[str, str], list[tuple[int, Callable[[], None]]]] = {}
        self.evidence = Evidence(self.kernel, self.recorder, self.armed, self._passed)
        self.flush_ns = int(settings.get("lab.flushMicros", 800)) * 1_000
        self.latency_ns = int(settings.get("lab.latencyMicros", 500)) * 1_000
        self._rogue_peers = 0
        WATCHDOG.begin()
        self.spread = int(settings.get("lab.spread", 1))
        found = topology.build(plan, self.latency_ns, self.network.links, self.machine)
        self.hosts, self.clients_ways = found.hosts, found.clients
        if self.spread > 1:
            self._make_uneven()
        self.processes = tuple(each.name for each in plan.nodes)
        self.waiting = tuple(each.name for each in plan.nodes if each.waits)
        self.initial = tuple(name for name in self.processes if name not in self.waiting)
        """Those that run from the beginning, and at the end."""
        for name in self.processes:
            self.hosts[name].disk.capacity = lambda: max(STORE_BYTES, STORED_A_BYTE * self.network.sent_by_clients)
        self._next_check = MOST_RECORDED
        """The number of events at the next check for too many."""
        self.evidence.addresses = found.addresses

    def start(self, driver: Driver) -> None:
        trip_ns = self.latency_ns * self.spread + (self.gather_ns or 0)
        self.evidence.lab(2 * trip_ns * (1 + CALL_BYTES // self.network.buffer), self.settings)
        for name in self.processes:
            shown = driver.config(name)
            if shown is not None:
                self.evidence.config(name, shown)
        for name in self.initial:
            self.provide(name, self.hosts[name].disk)
        for name in self.initial:
            self.boot(name)

    def _make_uneven(self) -> None:
        """Draw a latency for every direction of a link, and a time for every flush."""
        dice = Random(f"{self.seed}/spread")
        for link in self.network.links.values():
            for direction in (link.up, link.down):
                direction.latency = uneven(dice, self.latency_ns, self.spread)
        for host in self.hosts.values():
            host.flush_spread = self.spread, Random(f"{self.seed}/flushes/{host.name}")

    def machine(self, name: str, ways: Mapping[str, Link]) -> Host:
        return Host(name, self.kernel, self.network, self.evidence, self.flush_ns, ways)

    def boot(self, name: str) -> None:
        """Start a node's process on its disk's contents; a node that refuses these stays down."""
        host = self.hosts[name]
        host.tested = True
        form = self.plan.node(name).form(InProcess)
        assert form is not None
        self.evidence.readings.starting(host)
        try:
            host.start(lambda: form.build(host, self.evidence.readings.watcher(host)))
        except (Exception, *ENDS) as why:
            if is_the_labs(why):
                raise
            self.evidence.aborted(host, why)
            host.kill()
        else:
            if host.node is not None:
                self.evidence.readings.started(host)

    def provide(self, name: str, disk: SimDisk) -> None:
        """Write an operator's initial files into a fresh store."""
        for file, data in self.plan.node(name).fresh.items():
            disk.place(file, data)

    # Time.

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        until = self.kernel.now + limit_ns
        recorder = self.recorder
        while True:
            self._count_anew()
            began = self.kernel.now
            for _ in range(MAX_EVENTS):
                if recorder.is_stopped or len(recorder.events) >= self._next_check:
                    self._check_size()
                    if recorder.is_stopped:
                        # No more events, and time passes.
                        self.kernel.now = max(self.kernel.now, until)
                        return False
                if reached():
                    return True
                if not self.kernel.step(until):
                    return False
            took_ms = (self.kernel.now - began) // MS
            # A node that acts less than once a virtual millisecond is not in a loop.
            least = max(MAX_EVENTS // 10, took_ms)
            ended = self._end_busiest(f"{MAX_EVENTS:,} events without an end of the trial's present phase", least)
            if not ended and took_ms * FEW_IN_A_MS < MAX_EVENTS:
                raise LabError(
                    f"the simulation did not come to rest in {MAX_EVENTS} events; please report this schedule"
                )

    def _check_size(self) -> None:
        """Stop the trial if its requests cannot explain its number of events."""
        events, apart = self.recorder.events, self.evidence.readings.by_time
        found = sum(each.kind not in apart for each in events)
        sent_by_clients = RECORDED_AN_OP * self.recorder.operations + RECORDED_A_S * self.kernel.now // (1_000 * MS)
        self._next_check = len(events) + max(1, MOST_RECORDED + sent_by_clients - found)
        if found > MOST_RECORDED + sent_by_clients and not self.recorder.is_stopped:
            lately = Counter(each.node for each in events[-LATELY:])
            host = max((self.hosts[name] for name in self.processes), key=lambda host: lately[host.name])
            self.evidence.crashed(host, "process", 0, "stuck", f"it grows without bound: {found:,} events")
            host.kill()
            self.recorder.stop(self.kernel.now)

    def _crowded(self) -> None:
        self._end_busiest(f"{MOST_IN_A_MS:,} events within a virtual millisecond", MOST_IN_A_MS // 10)

    def _end_busiest(self, what: str, least: int) -> bool:
        """End the process of the busiest node, if a node causes the loop."""
        busiest = max((self.hosts[name] for name in self.processes), key=lambda host: host.acts)
        found = busiest.acts >= least and busiest.node is not None
        if found:
            self.evidence.crashed(busiest, "process", 0, "stuck", f"it acts on and on: {what}")
            busiest.kill()
            self._count_anew()
        return found

    def _count_anew(self) -> None:
        for name in self.processes:
            self.hosts[name].acts = 0

    # Triggers.

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        self.armed.setdefault((node, point), []).append((max(1, nth), fire))

    def arm_call(self, node: str, point: str, nth: int, fire: Callable[[], None], over: Callable[[], None]) -> None:
        def begin() -> None:
            fire()
            self.arm(node, CALL, 1, over)
            self.kernel.at(self.kernel.now, over)

        self.arm(node, point, nth, begin)

    def _passed(self, host: str, name: str) -> None:
        """A host passed a point; a trigger that fires may crash it here."""
        if not self.armed:
            return
        due = [fire for _, fire in self.armed.pop((host, CALL), ())]
        waiting = self.armed.pop((host, name), ())
        left = [(nth - 1, fire) for nth, fire in waiting if nth > 1]
        if left:
            self.armed[host, name] = left
        due += [fire for nth, fire in waiting if nth == 1]
        if not due:
            return
        ran = self.hosts[host].node
        self.acting = host
        for fire in due:
            fire()
        self.acting = None
        if self.hosts[host].node is not ran:
            raise Crashed

    # Nodes and links.

    def node_host(self, name: str) -> Host:
        check_target(name, self.processes, "node")
        return self.hosts[name]

    def rogue_host(self) -> Host:
        self._rogue_peers += 1
        return self.machine(f"hostile-{self._rogue_peers}", self.hosts["rogue_slave"].ways)

    def link(self, name: str) -> Link:
        check_target(name, self.network.links, "link")
        return self.network.links[name]
