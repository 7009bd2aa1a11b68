"""Faults of a trial's processes: kill -9, SIGTERM, a pause.

A node is stopped before it is killed, and its sent bytes leave the machine's buffers first. So the history has exactly
its actions before the kill, which is itself a real one.
"""

from __future__ import annotations

import signal
from typing import NamedTuple

from ....harness.errors import LabError
from ....harness.history import MS
from ....harness.ports import Effect
from ...driver import Driver
from ...plan import Cause
from .nodes import RealNode
from .processes import Processes
from .world import World

STOP_S = 60.0


class Pause(NamedTuple):
    node: RealNode
    token: object


class NodeFaults:
    """Abilities CanKill, CanStop and CanPause of :mod:`pairproof.harness.ports`."""

    def __init__(self, world: World, processes: Processes, driver: Driver) -> None:
        self.world = world
        self.processes = processes
        self.driver = driver

    def kill(self, node: str) -> Effect:
        found = self.world.node(node)
        if not found.is_up:
            return {}
        connections = self.processes.freeze(found)
        now, who = self.world.evidence.now(), (node, found.incarnation)
        self.processes.end(found)
        if who in self.world.evidence.started:
            self.world.evidence.add(self.world.evidence.last_moment(node, now), "crash", *who, f="process", value=0)
        return {"processes_killed": 1, "connections_closed": connections}

    def restart(self, node: str) -> None:
        found = self.world.node(node)
        if not found.is_up:
            self.driver.starting(node)
            self.processes.boot(node)
            if not found.is_up or self.world.serves(found):
                self.driver.audit("recovery", node)

    def stop(self, node: str) -> Effect:
        """A node with a stalled disk would never stop: it is killed."""
        found = self.world.node(node)
        if found.pid is None or found.pauses:
            return {}
        if found.is_stalled:
            return self.kill(node)
        connections = self.processes.connections(found)
        # As with a crash: connections that it closes at its end are not judged as broker behaviour.
        told = self.world.evidence.now()
        self.world.evidence.poll()
        self.processes.forget(found)
        found.is_stopping = True
        self.world.aside(lambda: found.signal(signal.SIGTERM))
        is_over = self.world.run_until(lambda: found.status().over, int(STOP_S * 1e9))
        self.world.evidence.poll()
        found.is_stopping = False
        if not is_over:
            self.processes.record_end(
                found, None, f"it did not stop within {STOP_S:g} s of SIGTERM", self.world.evidence.now()
            )
            self.world.aside(found.kill)
            self.world.refresh()
            return {"processes_stopped": 1, "connections_closed": connections}
        status = found.status()
        cause = found.cause(status)
        if found.program.has_stopped(found, status):
            took = (self.world.evidence.now() - told) // MS
            self.world.evidence.add(told, "stop", node, found.incarnation, value=took)
            # It has flushed everything without reporting that.
            self.world.evidence.flushed[node] = self.world.evidence.log_ends.get(node, 0)
        elif status == found.program.orderly:
            # Its disk failed, and its writes are not flushed.
            self.world.evidence.add(told, "crash", node, found.incarnation, f="process", value=0)
        elif cause is not Cause.LAB:
            self.processes.record_end(found, cause, f"told to stop it {status.state} {status.number}", told)
        else:
            raise LabError(f"{node} could not stop ({status.state} {status.number}); last output: {found.log_tail()}")
        self.world.refresh()
        return {"processes_stopped": 1, "connections_closed": connections}

    # Pauses.

    def pause(self, node: str) -> Pause:
        found = self.world.node(node)
        token = object()
        if found.pid is not None:
            if not found.pauses:
                self.world.aside(found.halt)
                self.world.evidence.poll()
                self.world.evidence.add(self.world.evidence.now(), "pause", node, found.incarnation)
            found.pauses.append(token)
        return Pause(found, token)

    def resume(self, handle: Pause) -> Effect:
        """It continues, unless its process has ended or another fault still holds it."""
        node, token = handle
        if token not in node.pauses:
            return {}
        node.pauses.remove(token)
        if not node.pauses:
            self.world.evidence.add(self.world.evidence.now(), "resume", node.name, node.incarnation)
            self.world.aside(node.go_on)
            self.processes.await_serving(node)
        return {"processes_paused": 1}
