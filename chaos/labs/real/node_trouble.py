"""What can happen to the processes of a trial: kill -9, SIGTERM, a pause, a wrong clock.

A node that is killed is made to stand still first, and what it has sent is let out of the machine's buffers: so the
history says exactly what it had done when it died, and the kill itself is as real as any.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pairproof.chaos.labs.real import proc
from pairproof.chaos.labs.real.nodes import RealNode, Status
from pairproof.chaos.labs.real.world import DRAIN_S, World
from pairproof.harness.errors import LabError
from pairproof.harness.ports import Effect
from pairproof.reference.errors import EXIT_FAILED, EXIT_REFUSED, EXIT_USAGE

STOP_S = 15.0
TOLD, LATER_S = 500, 0.01
"""How often it is looked how a process that is gone has ended, and how long apart."""
ENDS = (
    *(Status("exited", code) for code in (EXIT_USAGE, EXIT_FAILED, EXIT_REFUSED)),
    Status("killed", signal.SIGBUS),
)
"""How a node may end by itself: it refuses its store, its disk fails, or does so under a mapped file. All else is no
conduct that laws could judge: a bug, a port that is taken, or somebody killed it."""


class Pause(NamedTuple):
    """A node that stands still."""

    node: RealNode
    token: object


class Skew(NamedTuple):
    """A clock that is wrong."""

    node: RealNode
    ms: int
    looks: int


class NodeTrouble(World):
    """Abilities CanKill, CanStop, CanPause and CanSkewClock of :mod:`pairproof.harness.ports`."""

    def kill(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanKill`."""
        found = self.node(node)
        if not found.is_up:
            return {}
        connections = self.freeze(found)
        if (node, found.incarnation) in self.evidence.started:
            self.evidence.add(self.evidence.now(), "crash", node, found.incarnation, f="process", value=0)
        self.end(found)
        return {"processes_killed": 1, "connections_closed": connections}

    def freeze(self, node: RealNode) -> int:
        """Stop a process in its tracks and hear the last of it; how many connections of links it has."""
        self.aside(node.halt)
        self.drained()
        return self._connections(node)

    def _connections(self, node: RealNode) -> int:
        links = self.links.by_name.values()
        return sum(each.tap.standing() for each in links if node.name in (each.client, each.server))

    @contextmanager
    def standing_still(self, *nodes: RealNode) -> Iterator[Callable[[], bool]]:
        """Processes that run do nothing meanwhile: what is read of them is of one moment.

        Yields a function that says whether they still stand still: anybody may send them SIGCONT.
        """
        # One that a fault has paused already is stopped again, in case it was.
        stopped = [node for node in nodes if node.pid is not None]
        awake = [node for node in stopped if not node.pauses]
        for node in stopped:
            self.aside(node.halt)
        try:
            ran = [_ran_ns(node) for node in stopped]
            self.evidence.poll()
            yield lambda: [_ran_ns(node) for node in stopped] == ran
        finally:
            for node in awake:
                self.aside(node.go_on)

    def end(self, node: RealNode) -> None:
        """kill -9, and links to it are shut."""
        self.forget(node)
        self.aside(node.kill)
        self.drained()
        self.refresh()

    def ended(self, node: RealNode) -> None:
        """A node has ended and nobody had asked it to. What it had sent is heard first."""
        if node.pidfd is not None:
            self.loop.remove_reader(node.pidfd)
        self.loop.call_later(DRAIN_S, self._bury, node, node.incarnation, TOLD)

    def _bury(self, node: RealNode, incarnation: int, looks: int) -> None:
        if node.pid is None or node.incarnation != incarnation:
            return
        if not node.status().over and looks:
            # An engine learns of it a little later than the kernel.
            self.loop.call_later(LATER_S, self._bury, node, incarnation, looks - 1)
            return
        self.evidence.poll()
        status, who = node.status(), (node.name, incarnation)
        if who in self.evidence.started:
            self.evidence.add(self.evidence.now(), "crash", *who, f="process", value=0)
        self.forget(node)
        if status not in ENDS and not node.may_end(status):
            raise LabError(
                f"{node.name} has ended by itself ({status.state} {status.number}), and said last: {node.log_tail()}"
            )
        self.loop.create_task(self.refreshed())

    def forget(self, node: RealNode) -> None:
        """A node's process is gone, or about to be: its end is no surprise."""
        if node.pidfd is not None:
            self.loop.remove_reader(node.pidfd)
        node.ended()

    def restart(self, node: str) -> None:
        """Start it again; nothing if it runs."""
        found = self.node(node)
        if not found.is_up:
            self.boot(node)
            if not found.is_up or self.serves(found):
                self.audit("recovery", node)

    def stop(self, node: str) -> Effect:
        """See :class:`pairproof.harness.ports.CanStop`. One whose disk ends no flush would never stop: it is killed."""
        found = self.node(node)
        if found.pid is None or found.pauses:
            return {}
        if found.is_stalled:
            return self.kill(node)
        connections = self._connections(found)
        # As with a crash: what it still closes on its way out is no longer its conduct as a broker.
        told = self.evidence.now()
        self.evidence.poll()
        self.forget(found)
        self.aside(lambda: found.signal(signal.SIGTERM))
        if not self.run_until(lambda: found.status().over, int(STOP_S * 1e9)):
            self.aside(found.kill)
            raise LabError(f"{node} did not stop within {STOP_S:g} s of SIGTERM: {found.log_tail()}")
        self.evidence.poll()
        status = found.status()
        if found.has_stopped(status):
            self.evidence.add(told, "stop", node, found.incarnation)
            # It has flushed everything, and says nothing of it.
            self.evidence.flushed[node] = self.evidence.log_ends.get(node, 0)
        elif status in (*ENDS, found.orderly) or found.may_end(status):
            # Its disk has failed it, say, and what it had written is not flushed.
            self.evidence.add(told, "crash", node, found.incarnation, f="process", value=0)
        else:
            raise LabError(f"{node} could not stop ({status.state} {status.number}), and said last: {found.log_tail()}")
        self.refresh()
        return {"processes_stopped": 1, "connections_closed": connections}

    # Pauses.

    def pause(self, node: str) -> Pause:
        """See :class:`pairproof.harness.ports.CanPause`."""
        found = self.node(node)
        token = object()
        if found.pid is not None:
            if not found.pauses:
                self.aside(found.halt)
                self.evidence.poll()
                self.evidence.add(self.evidence.now(), "pause", node, found.incarnation)
            found.pauses.append(token)
        return Pause(found, token)

    def resume(self, handle: Pause) -> Effect:
        """It goes on, unless its process has ended meanwhile or another fault still holds it."""
        node, token = handle
        if token not in node.pauses:
            return {}
        node.pauses.remove(token)
        if not node.pauses:
            self.evidence.add(self.evidence.now(), "resume", node.name, node.incarnation)
            self.aside(node.go_on)
            self.await_serving(node)
        return {"processes_paused": 1}

    # Clocks.

    def skew_clock(self, node: str, ms: int) -> Skew:
        """See :class:`pairproof.harness.ports.CanSkewClock`."""
        found = self.obedient(node)
        control = self.bench.control(node)
        self._set_clock(found, control.get("skew_ms") + ms)
        return Skew(found, ms, control.get("skewed"))

    def correct_clock(self, handle: Skew) -> Effect:
        """It tells the true time again, as far as no other trouble has it wrong."""
        control = self.bench.control(handle.node.name)
        self._set_clock(handle.node, control.get("skew_ms") - handle.ms)
        return {"readings_skewed": control.get("skewed") - handle.looks}

    def _set_clock(self, node: RealNode, ms: int) -> None:
        self.bench.control(node.name).set("skew_ms", ms)
        self.evidence.add(self.evidence.now(), "clock", node.name, value=ms)


def _ran_ns(node: RealNode) -> int | None:
    return None if node.pid is None else proc.ran_ns(node.pid)
