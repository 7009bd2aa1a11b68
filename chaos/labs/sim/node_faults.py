"""Faults of a simulated trial's nodes, machines, clocks and stores.

Each fault counts its effects; an effect without counts means that there was none. Faults of one type may overlap on one
node; each ends on its own. A pause belongs to the process, and ends with it; the others belong to the machine.

Left out: SIGTERM to a paused process, which would be pending, and so has no effect here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ....harness.ports import Effect
from ...driver import Driver
from .active_fault import ActiveFault
from .disk import SPARED, SimDisk
from .host import Host
from .kernel import Entry
from .world import World


class Ongoing(NamedTuple):
    host: Host
    where: list[ActiveFault]
    fault: ActiveFault
    due: Entry | None = None
    """Its scheduled start, if it must wait for the end of the node's present step."""


class NodeFaults:
    """Abilities CanKill, CanStop, CanCrashMachine, CanTear, CanScatter, CanPause, CanSkewClock, CanReplaceStore,
    CanExpire, and those on a disk (CanStallDisk, CanSlowDisk, CanLieAboutFlushes, CanFillDisk, CanFillPartly,
    CanTurnReadOnly);
    CanStallDispatch, CanPromote, CanStartSecond: see :mod:`pairproof.harness.ports`.
    """

    def __init__(self, world: World, driver: Driver) -> None:
        self.world = world
        self.driver = driver
        self._second = ""
        """The slave whose store the second master has; empty while there is none."""

    def kill(self, node: str) -> Effect:
        host = self.world.node_host(node)
        if host.node is None:
            return {}
        connections = len(host.ends)
        self.world.evidence.crashed(host, "process", 0)
        host.kill()
        return {"processes_killed": 1, "connections_closed": connections}

    def restart(self, node: str) -> None:
        host = self.world.node_host(node)
        serves = bool(self._second) if node in self.world.waiting else node != self._second
        if serves and host.node is None and not self.world.recorder.is_stopped:
            self.world.boot(node)
            if not host.disk.read_only:
                self.driver.audit("recovery", node)

    def stop(self, node: str) -> Effect:
        host = self.world.node_host(node)
        if host.node is None or host.pauses:
            return {}
        if host.disk.read_only:
            # It cannot save the state that an orderly end saves, so it has none.
            return self.kill(node)
        connections = len(host.ends)
        # As with a crash: connections that it closes at its end are not judged as broker behaviour.
        self.world.evidence.stopped(host)
        host.stop()
        return {"processes_stopped": 1, "connections_closed": connections}

    def crash_machine(self, node: str, keep: str) -> Effect:
        host = self.world.node_host(node)
        if not host.powered:
            return {}
        running = host.node is not None
        lost, lied = host.lose_power(keep)
        self.world.evidence.crashed(host, "machine", lost, "lied" if lied else None)
        return {"machines_crashed": int(running), "bytes_lost": lost}

    def reports_flushes(self, node: str) -> bool:
        return True

    tracks_dirty_sectors = reports_flushes

    # Processes.

    def pause(self, node: str) -> Ongoing:
        host, fault = self.world.node_host(node), ActiveFault()
        due = self._between_steps(host, self._stop_running, host, fault)
        return Ongoing(host, host.pauses, fault, due)

    def resume(self, handle: Ongoing) -> Effect:
        """It continues with its pending work; no effect if its process has ended."""
        host, pauses, fault, due = handle
        if due is not None:
            due[2] = None
        if fault in pauses:
            pauses.remove(fault)
            if not pauses:
                self.world.evidence.paused(host, "resume")
                host.resume()
        return fault.effect

    def _stop_running(self, host: Host, fault: ActiveFault) -> None:
        if not host.pauses:
            self.world.evidence.paused(host, "pause")
        host.pauses.append(fault)

    def expire(self, node: str, keep_files: int) -> Effect:
        effect: dict[str, int] = {}
        host = self.world.node_host(node)
        if not host.pauses:
            self._between_steps(host, self._expire, host, keep_files, effect)
        return effect

    def _expire(self, host: Host, keep_files: int, effect: dict[str, int]) -> None:
        expire = getattr(host.node, "expire", None)
        if expire is None:
            return
        files, used = len(host.disk.files), host.disk.used()
        host.call(expire, keep_files)
        effect["files_deleted"] = files - len(host.disk.files)
        effect["bytes_deleted"] = used - host.disk.used()

    def _between_steps(self, host: Host, function: Callable[..., None], *arguments: object) -> Entry | None:
        """Now, or right after the node's present step, in which a trigger fires. No effect if it is down."""
        if self.world.acting == host.name:
            return self.world.kernel.at(self.world.kernel.now, _if_alive, host, host.incarnation, function, arguments)
        if host.node is not None:
            function(*arguments)
        return None

    def _begin(
        self, node: str, those: Callable[[Host], list[ActiveFault]], amount: int = 0, spared: tuple[str, ...] = ()
    ) -> Ongoing:
        host, fault = self.world.node_host(node), ActiveFault(amount, spared)
        those(host).append(fault)
        return Ongoing(host, those(host), fault)

    @staticmethod
    def _end(handle: Ongoing) -> Effect:
        handle.where.remove(handle.fault)
        return handle.fault.effect

    # Clocks.

    def skew_clock(self, node: str, ms: int) -> Ongoing:
        fault = self._begin(node, lambda host: host.clock_skews, ms)
        self.world.evidence.clock_set(fault.host)
        return fault

    def correct_clock(self, handle: Ongoing) -> Effect:
        """Restores the true time, except for the skew of other faults."""
        effect = self._end(handle)
        self.world.evidence.clock_set(handle.host)
        return effect

    # Disks.

    def stall_disk(self, node: str) -> Ongoing:
        return self._begin(node, lambda host: host.disk_stalls)

    def resume_disk(self, handle: Ongoing) -> Effect:
        effect = self._end(handle)
        handle.host.resume_disk()
        return effect

    def slow_disk(self, node: str, ms: int) -> Ongoing:
        return self._begin(node, lambda host: host.disk_slow, ms)

    def lie_about_flushes(self, node: str) -> Ongoing:
        return self._begin(node, lambda host: host.disk.lies)

    def fill_disk(self, node: str) -> Ongoing:
        return self._begin(node, lambda host: host.disk.full)

    def fill_part(self, node: str, files: str) -> Ongoing:
        return self._begin(node, lambda host: host.disk.full, spared=SPARED[files])

    restore_disk = flush_honestly = free_disk = _end

    def turn_read_only(self, node: str) -> Ongoing:
        return self._begin(node, lambda host: host.disk.read_only)

    def turn_writable(self, handle: Ongoing) -> Effect:
        """Reboot, unless the disk has another reason to refuse writes."""
        effect, host = dict(self._end(handle)), handle.host
        if not host.disk.read_only:
            effect |= self.crash_machine(host.name, "none")
            self.restart(host.name)
        return effect

    def stall_dispatch(self, node: str) -> Ongoing:
        return self._begin(node, lambda host: host.dispatch_stalls)

    def resume_dispatch(self, handle: Ongoing) -> Effect:
        effect = self._end(handle)
        handle.host.resume_dispatch()
        return effect

    # Stores.

    def promote(self, node: str, rejoin: str) -> tuple[str, dict[str, int]]:
        """A slave that cannot stop in an orderly way is killed."""
        first = self.world.plan.master
        slave, master = self.world.node_host(node), self.world.node_host(first)
        effect = dict(self.kill(first))
        if self.world.acting != node:
            self.stop(node)
        old, own = master.disk.image(), slave.disk.image()
        effect |= self._replace(master, own, "image", node)
        if rejoin == "wiped":
            self.wipe_store(node)
        else:
            self._replace(slave, old, "image", first)
        self.restart(first)
        return node, {**effect, "slaves_promoted": 1}

    def take_back(self, handle: tuple[str, dict[str, int]]) -> Effect:
        node, effect = handle
        self.restart(node)
        return effect

    def start_second(self, node: str, ends: str) -> tuple[str, dict[str, int]]:
        if self._second or not self.world.waiting:
            return "", {}
        host = self.world.node_host(self.world.waiting[0])
        if self.world.acting != node:
            self.stop(node)
        effect = dict(self.kill(node))
        effect |= self._replace(host, self.world.node_host(node).disk.image(), "image", node)
        self._second = node
        self.restart(host.name)
        return ends, {**effect, "masters_added": 1}

    def end_second(self, handle: tuple[str, dict[str, int]]) -> Effect:
        ends, effect = handle
        if ends:
            (name,) = self.world.waiting
            if ends == "stop":
                self.stop(name)
            self.kill(name)
            node, self._second = self._second, ""
            self.restart(node)
        return effect

    def wipe_store(self, node: str) -> Effect:
        fresh = SimDisk()
        self.world.provide(node, fresh)
        return self._replace(self.world.node_host(node), fresh, "empty")

    def take_image(self, node: str) -> tuple[Host, SimDisk]:
        """Copy the store as any process sees it now: with the page cache, and the trace of a running broker."""
        host = self.world.node_host(node)
        return host, host.disk.image()

    def restore_image(self, handle: tuple[Host, SimDisk]) -> Effect:
        host, image = handle
        effect = self._replace(host, image, "image")
        self.restart(host.name)
        return effect

    def _replace(self, host: Host, store: SimDisk, f: str, whose: str | None = None) -> Effect:
        effect = dict(self.kill(host.name))
        host.disk.replace(store)
        effect["log_bytes_gone"] = self.world.evidence.wiped(host, f, whose)
        return effect


def _if_alive(host: Host, incarnation: int, function: Callable[..., None], arguments: tuple[object, ...]) -> None:
    if host.node is not None and host.incarnation == incarnation:
        function(*arguments)
