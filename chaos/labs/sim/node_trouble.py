"""What can happen to the nodes of a simulated trial, their machines, clocks and stores."""

from __future__ import annotations

from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.labs.sim.network import Toxic
from pairproof.chaos.labs.sim.world import World
from pairproof.harness.ports import Effect


class NodeTrouble(World):
    """Abilities CanKill, CanStop, CanCrashMachine and CanStallDisk of :mod:`pairproof.harness.ports`."""

    def kill(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanKill`."""
        host = self.node_host(node)
        if host.node is None:
            return {}
        connections = len(host.ends)
        self.evidence.crashed(host, "process", 0)
        host.kill()
        return {"processes_killed": 1, "connections_closed": connections}

    def restart(self, node: str) -> None:
        """Start it again; nothing if it runs."""
        host = self.node_host(node)
        if host.node is None:
            self.boot(node)
            self.audit("recovery", node)

    def stop(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanStop`."""
        host = self.node_host(node)
        if host.node is None:
            return {}
        connections = len(host.ends)
        # As with a crash: what it still closes on its way out is no longer its conduct as a broker.
        self.evidence.stopped(host)
        host.stop()
        return {"processes_stopped": 1, "connections_closed": connections}

    def crash_machine(self, node: str, keep: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanCrashMachine`."""
        host = self.node_host(node)
        if not host.powered:
            return {}
        running = host.node is not None
        lost = host.lose_power(keep)
        self.evidence.crashed(host, "machine", lost)
        return {"machines_crashed": int(running), "bytes_lost": lost}

    def stall_disk(self, node: str) -> tuple[Host, Toxic]:
        """See :class:`pairproof.harness.ports.CanStallDisk`."""
        host = self.node_host(node)
        toxic = Toxic("disk_stall", 0, self.network.links["ha"].up)
        host.disk_stalls.append(toxic)
        return host, toxic

    def resume_disk(self, handle: tuple[Host, Toxic]) -> Effect:
        """Let the held flushes end."""
        host, toxic = handle
        host.resume_disk(toxic)
        return toxic.effect
