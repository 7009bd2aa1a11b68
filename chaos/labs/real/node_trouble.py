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
from pairproof.chaos.labs.real.nodes import Cause, RealNode
from pairproof.chaos.labs.real.world import DRAIN_S, World
from pairproof.harness.errors import LabError
from pairproof.harness.ports import Effect

STOP_S = 60.0
TOLD, LATER_S = 500, 0.01
"""How often it is looked how a process that is gone has ended, and how long apart."""
MAX_WORDS = 300
"""Characters of a node's last line that a history keeps; ``logs`` have more of it."""

_CRASHED = {Cause.OWN: "own", Cause.REFUSED: "own", Cause.DISK: "disk", None: "stuck"}
"""A crash's status by what was behind it; other causes have none."""


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
        found = self.node(node)
        if not found.is_up:
            return {}
        connections = self.freeze(found)
        now, who = self.evidence.now(), (node, found.incarnation)
        self.end(found)
        if who in self.evidence.started:
            self.evidence.add(self.evidence.last_moment(node, now), "crash", *who, f="process", value=0)
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
        status = node.status()
        cause = node.cause(status)
        self._tell_end(node, cause, f"{status.state} {status.number}", self.evidence.now())
        self.forget(node)
        if cause is Cause.LAB:
            raise LabError(
                f"{node.name} exited by itself ({status.state} {status.number}), and said last: {node.log_tail()}"
            )
        self.loop.create_task(self.refreshed())

    def _tell_end(self, node: RealNode, cause: Cause | None, how: str, t: int) -> None:
        """Record an end that the trial had not asked for; without a cause the node went on without end."""
        who = node.name, node.incarnation
        detail = f"{how}, and said last: {node.log_tail()[:MAX_WORDS]}"
        if who in self.evidence.started:
            status = _CRASHED.get(cause)
            self.evidence.add(t, "crash", *who, f="process", status=status, value=0, detail=detail if status else None)
        elif cause is not Cause.LAB:
            f = "stuck" if cause is None else "refused" if cause is Cause.REFUSED else "ended"
            excused = "disk" if cause in (Cause.DISK, Cause.FAULT) else None
            self.evidence.add(t, "abort", *who, f=f, status=excused, detail=detail)

    def give_up(self, node: RealNode, how: str) -> None:
        """End a node that goes on without end."""
        self.aside(node.freeze)
        self.drained()
        self._tell_end(node, None, how, self.evidence.now())
        self.end(node)

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
        """One whose disk ends no flush would never stop: it is killed."""
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
            self._tell_end(found, None, f"it did not stop within {STOP_S:g} s of SIGTERM", self.evidence.now())
            self.aside(found.kill)
            self.refresh()
            return {"processes_stopped": 1, "connections_closed": connections}
        self.evidence.poll()
        status = found.status()
        cause = found.cause(status)
        if found.has_stopped(status):
            self.evidence.add(told, "stop", node, found.incarnation)
            # It has flushed everything, and says nothing of it.
            self.evidence.flushed[node] = self.evidence.log_ends.get(node, 0)
        elif status == found.orderly:
            # Its disk has failed it, and what it had written is not flushed.
            self.evidence.add(told, "crash", node, found.incarnation, f="process", value=0)
        elif cause is not Cause.LAB:
            self._tell_end(found, cause, f"told to stop it {status.state} {status.number}", told)
        else:
            raise LabError(f"{node} could not stop ({status.state} {status.number}), and said last: {found.log_tail()}")
        self.refresh()
        return {"processes_stopped": 1, "connections_closed": connections}

    # Pauses.

    def pause(self, node: str) -> Pause:
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
