"""One simulated trial: a master, a slave and their clients on simulated machines, everything recorded.

Implements :class:`pairproof.harness.ports.Session` and every ability of that module. The seed decides all randomness;
nothing here reads a clock, the environment or an unordered set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from pairproof.chaos.labs.sim.clients import Clients
from pairproof.chaos.labs.sim.evidence import Evidence
from pairproof.chaos.labs.sim.host import Crashed, Host
from pairproof.chaos.labs.sim.hostile import Hostile, Impostor
from pairproof.chaos.labs.sim.kernel import MS, Kernel
from pairproof.chaos.labs.sim.network import Link, Network, Toxic
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.errors import LabError
from pairproof.harness.history import Recorder
from pairproof.harness.ports import Effect
from pairproof.harness.schedule import Args
from pairproof.reference.core.broker import Broker

NODES = ("master", "slave")
SETTLE_NS = 90_000 * MS
WARM_NS = 30_000 * MS
PROBES = 3
# A trial that needs more simulated events than this is stuck in a loop, which is a bug of ours.
MAX_EVENTS = 2_000_000


class SimSession:
    """See the module. ``settings`` are complete: the target has filled in its defaults."""

    def __init__(self, target: ReferenceTarget, settings: Args, seed: str) -> None:
        self.target = target
        self.settings = settings
        self.seed = seed
        self.kernel = Kernel()
        self.recorder = Recorder()
        self.network = Network(self.kernel, int(settings.get("lab.bufferBytes", 65_536)))
        self.armed: dict[tuple[str, str], list[tuple[int, Callable[[], None]]]] = {}
        self.evidence = Evidence(self.kernel, self.recorder, self.armed, self.point)
        flush_ns = int(settings.get("lab.flushMicros", 800)) * 1_000
        self.hosts = {
            name: Host(name, self.kernel, self.network, self.evidence, flush_ns)
            for name in (*NODES, "client", "hostile", "impostor")
        }
        self._wire(int(settings.get("lab.latencyMicros", 500)) * 1_000)
        self.clients = Clients(self.hosts["client"], self.evidence)
        self._start_pair()

    def _wire(self, latency_ns: int) -> None:
        ways = {"ha": ("master", "ha"), "hostile": ("master", "ha")}
        ways |= {"client-master": ("master", "main"), "client-slave": ("slave", "main")}
        for name, (host, port) in ways.items():
            self.network.links[name] = Link(name, self.hosts[host], port, latency_ns)

    def _start_pair(self) -> None:
        for name in NODES:
            self.evidence.config(name, self.target.config(name, self.settings))
        for name in NODES:
            self._start(name)

    def _start(self, name: str) -> None:
        host = self.hosts[name]
        config = self.target.config(name, self.settings)
        build = self.target.broker_class(name)
        host.log_file_size = config.mappedFileSizeCommitLog
        host.start(lambda: build(config, host, self.evidence.watcher(host)))
        self.evidence.started(host)

    def broker(self, name: str) -> Broker | None:
        """The running broker, or None."""
        node = self.hosts[name].node
        return node if isinstance(node, Broker) else None

    # Session: time.

    def now(self) -> int:
        """Virtual time, ns."""
        return self.kernel.now

    def advance(self, ms: int) -> None:
        """Let ``ms`` of virtual time pass."""
        self._run_until(_never, ms * MS)

    def step(self, events: int, within_ms: int = 1_000) -> int:
        """The next simulated events; see :class:`pairproof.harness.ports.CanStep`."""
        until = self.kernel.now + within_ms * MS
        done = 0
        # Not past the last event: the clock stays where the events end, so that what follows overlaps them.
        while done < events and self.kernel.next_at() <= until and self.kernel.step(until):
            done += 1
        return done

    def close(self) -> None:
        """Nothing outlives a simulated trial."""

    # Session: clients.

    def send(self, producer: int, size: int, wait: bool, queue: int) -> None:
        """Start a send to the master."""
        self.clients.send(producer, size, wait, queue)

    def pull(self, reader: int, node: str, queue: int) -> None:
        """Start a pull from where the reader stands at this broker."""
        self.clients.pull(reader, node, queue)

    # Session: the trial's phases.

    def warm_up(self) -> None:
        """Until the slave has reported, then until one waiting send is answered and replicated."""
        self._run_until(self._linked, WARM_NS)
        self.send(0, 100, True, 0)
        self._run_until(self._agreed, WARM_NS)
        self.recorder.add(self.kernel.now, "mark", f="warm")

    def settle(self) -> None:
        """A last send proves that the pair is alive; then until both logs end alike, or the bound passes."""
        for name in NODES:
            self.restart(name)
        for _ in range(PROBES):
            probe = self.clients.send(0, 100, True, 0)
            self.recorder.add(self.kernel.now, "mark", op=probe, f="probe")
            self._run_until(self._answered, SETTLE_NS)
            # A first probe may only find out that its connection died with the master's machine.
            if self.clients.phase_of.get(probe) == "ok":
                break
        agreed = self._run_until(self._agreed, SETTLE_NS)
        self.recorder.add(self.kernel.now, "mark", f="converged" if agreed else "unsettled")
        self.evidence.audit(self.hosts["master"], self.hosts["slave"], "final", NODES)
        self.recorder.add(self.kernel.now, "mark", f="end")

    def _linked(self) -> bool:
        return self.evidence.reports_heard > 0

    def _answered(self) -> bool:
        return not self.clients.in_flight

    def _agreed(self) -> bool:
        if self.clients.in_flight:
            return False
        master, slave = self.broker("master"), self.broker("slave")
        return master is not None and slave is not None and master.log.end == slave.log.end

    def _run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        until = self.kernel.now + limit_ns
        for _ in range(MAX_EVENTS):
            if reached():
                return True
            if not self.kernel.step(until):
                return False
        raise LabError(f"the simulation did not come to rest in {MAX_EVENTS} events; please report this schedule")

    # Abilities: triggers.

    def arm(self, node: str, point: str, nth: int, fire: Callable[[], None]) -> None:
        """See :class:`pairproof.harness.ports.CanArm`."""
        if node not in NODES or point not in ("append", "flush", "send", "recv"):
            raise LabError(
                f"no trigger at {node}/{point}; nodes: {', '.join(NODES)}; points: append, flush, send, recv"
            )
        self.armed.setdefault((node, point), []).append((max(1, nth), fire))

    def disarm(self) -> None:
        """Forget every trigger."""
        self.armed.clear()

    def point(self, host: str, name: str) -> None:
        """A host passed a point; a trigger that fires may crash it right here."""
        if not self.armed:
            return
        waiting = self.armed.pop((host, name), None)
        if waiting is None:
            return
        left = [(nth - 1, fire) for nth, fire in waiting if nth > 1]
        if left:
            self.armed[host, name] = left
        ran = self.hosts[host].node
        for nth, fire in waiting:
            if nth == 1:
                fire()
        if self.hosts[host].node is not ran:
            raise Crashed

    # Abilities: links.

    def add_toxic(self, link: str, direction: str, toxic: str, attributes: Mapping[str, int]) -> tuple[Link, Toxic]:
        """See :class:`pairproof.harness.ports.CanShapeLink`."""
        where = self._link(link)
        if direction not in ("up", "down"):
            raise LabError(f"a link's directions are up and down, not {direction!r}")
        return where, self.network.add_toxic(where, direction, toxic, next(iter(attributes.values()), 0))

    def remove_toxic(self, handle: tuple[Link, Toxic]) -> Effect:
        """Take it off."""
        link, toxic = handle
        self.network.remove_toxic(link, toxic)
        return toxic.effect

    def cut_link(self, link: str) -> tuple[Link, Toxic]:
        """See :class:`pairproof.harness.ports.CanCutLink`."""
        where = self._link(link)
        return where, self.network.cut(where)

    def mend_link(self, handle: tuple[Link, Toxic]) -> Effect:
        """Mend it."""
        link, toxic = handle
        link.cuts.remove(toxic)
        return toxic.effect

    def reset_link(self, link: str) -> Effect:
        """Reset what is open."""
        closed = lost = 0
        for end in list(self._link(link).ends):
            if end.open:
                closed += 1
                lost += self.network.reset(end)
        return {"connections_closed": closed, "bytes_lost": lost}

    def _link(self, name: str) -> Link:
        link = self.network.links.get(name)
        if link is None:
            raise LabError(f"unknown link {name!r}; valid: ha, client-master, client-slave")
        return link

    # Abilities: nodes.

    def kill(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanKill`."""
        host = self._host(node)
        if host.node is None:
            return {}
        connections = len(host.ends)
        self.evidence.crashed(host, "process", 0)
        host.kill()
        return {"processes_killed": 1, "connections_closed": connections}

    def restart(self, node: str) -> None:
        """Start it again; nothing if it runs."""
        host = self._host(node)
        if host.node is None:
            self._start(node)
            self.evidence.audit(self.hosts["master"], self.hosts["slave"], "recovery", (node,))

    def stop(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanStop`."""
        host = self._host(node)
        if host.node is None:
            return {}
        connections = len(host.ends)
        # As with a crash: what it still closes on its way out is no longer its conduct as a broker.
        self.evidence.stopped(host)
        host.stop()
        return {"processes_stopped": 1, "connections_closed": connections}

    def crash_machine(self, node: str, keep: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanCrashMachine`."""
        host = self._host(node)
        if not host.powered:
            return {}
        running = host.node is not None
        lost = host.lose_power(keep)
        self.evidence.crashed(host, "machine", lost)
        return {"machines_crashed": int(running), "bytes_lost": lost}

    def _host(self, name: str) -> Host:
        if name not in NODES:
            raise LabError(f"unknown node {name!r}; valid: {', '.join(NODES)}")
        return self.hosts[name]

    def stall_disk(self, node: str) -> tuple[Host, Toxic]:
        """See :class:`pairproof.harness.ports.CanStallDisk`."""
        host = self._host(node)
        toxic = Toxic("disk_stall", 0, self.network.links["ha"].up)
        host.disk_stalls.append(toxic)
        return host, toxic

    def resume_disk(self, handle: tuple[Host, Toxic]) -> Effect:
        """Let the held flushes end."""
        host, toxic = handle
        host.resume_disk(toxic)
        return toxic.effect

    # Abilities: strangers.

    def impersonate(self, character: str) -> Hostile:
        """See :class:`pairproof.harness.ports.CanImpersonate`."""
        host = self.hosts["hostile"]
        stranger = Hostile(character, host, Random(f"{self.seed}/hostile/{host.incarnation}"), self._master_end)
        host.start(lambda: stranger)
        return stranger

    def dismiss(self, handle: Hostile) -> Effect:
        """Let it go."""
        host = self.hosts["hostile"]
        if host.node is handle:
            handle.on_stop()
            host.kill()
        return handle.effect

    def take_place(self, character: str) -> Impostor:
        """See :class:`pairproof.harness.ports.CanImpersonateMaster`."""
        host, link = self.hosts["impostor"], self.network.links["ha"]
        dice = Random(f"{self.seed}/impostor/{host.incarnation}")
        stranger = Impostor(character, host, dice)
        self.network.cut(link)
        link.cuts.pop()
        link.host = host
        host.kill()
        host.start(lambda: stranger)
        return stranger

    def give_back(self, handle: Impostor) -> Effect:
        """The link leads to the master again."""
        host, link = self.hosts["impostor"], self.network.links["ha"]
        if host.node is handle:
            link.host = self.hosts["master"]
            host.kill()
        return handle.effect

    def _master_end(self) -> int:
        master = self.broker("master")
        return master.log.end if master is not None else 0


def _never() -> bool:
    return False


def open_session(target: Any, settings: Args, seed: str) -> SimSession:
    """A new simulated trial; the target must be one that runs in this process."""
    if not isinstance(target, ReferenceTarget):
        raise LabError(f"the simulated lab runs targets that live in this process, not {target.name!r}")
    return SimSession(target, settings, seed)
