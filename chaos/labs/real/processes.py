"""Processes of a trial's nodes: start, readiness, stops, and requested or unexpected ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ....harness.errors import LabError
from ....harness.history import MS
from ...plan import Cause
from . import proc
from .nodes import RealNode
from .world import DRAIN_S, World

STATUS_LOOKS, STATUS_LOOK_GAP_S = 500, 0.01
"""Polls, and the gap between them, for a dead process's exit status: an engine learns of it late."""
MAX_WORDS = 300
"""Longest last line of a node in a history, in characters; ``logs`` have more of it."""

_CRASHED = {Cause.OWN: "own", Cause.REFUSED: "own", Cause.DISK: "disk", None: "stuck"}


class Processes:
    def __init__(self, world: World) -> None:
        self.world = world

    def boot(self, *names: str) -> None:
        """Start nodes; a node that refuses its store stays down."""
        started = [self.world.nodes[name] for name in names if not self.world.nodes[name].is_up]
        for node in started:
            trace = self.world.aside(node.start)
            self.world.evidence.process_started(node.name, node.incarnation, trace)
            if node.pidfd is not None:
                self.world.loop.add_reader(node.pidfd, self.ended, node)
            else:
                self.ended(node)
        self.await_serving(*started)

    def await_serving(self, *nodes: RealNode) -> None:
        def is_late(node: RealNode) -> bool:
            return node.is_up and not (self.world.serves(node) or node.pauses or node.is_held)

        limit_s = max((node.program.ready_s for node in nodes), default=0)
        if not self.world.run_until(lambda: not any(map(is_late, nodes)), limit_s * 1000 * MS):
            for late in filter(is_late, nodes):
                self.give_up(late, f"it did not serve after {limit_s} s")
        self.world.refresh()

    def freeze(self, node: RealNode) -> int:
        """Stop a process and read its last rows; returns the number of its link connections."""
        self.world.aside(node.halt)
        self.world.drained()
        return self.connections(node)

    def connections(self, node: RealNode) -> int:
        links = self.world.links.by_name.values()
        return sum(each.tap.standing() for each in links if node.name in (each.client, each.server))

    @contextmanager
    def standing_still(self, *nodes: RealNode) -> Iterator[Callable[[], bool]]:
        """Processes are stopped within the block, so their reads belong to one moment.

        Yields a predicate that checks whether they are still stopped: any process may send SIGCONT.
        """
        # A node that a fault has paused is stopped again, in case an outsider resumed it.
        stopped = [node for node in nodes if node.pid is not None]
        awake = [node for node in stopped if not node.pauses]
        for node in stopped:
            self.world.aside(node.halt)
        try:
            ran = [_ran_ns(node) for node in stopped]
            self.world.evidence.poll()
            yield lambda: [_ran_ns(node) for node in stopped] == ran
        finally:
            for node in awake:
                self.world.aside(node.go_on)

    def end(self, node: RealNode) -> None:
        self.forget(node)
        self.world.aside(node.kill)
        self.world.drained()
        self.world.refresh()

    def ended(self, node: RealNode) -> None:
        """Handle an unexpected end. Bytes that the node sent are recorded first."""
        if node.pidfd is not None:
            self.world.loop.remove_reader(node.pidfd)
        self.world.loop.call_later(DRAIN_S, self._bury, node, node.incarnation, STATUS_LOOKS)

    def _bury(self, node: RealNode, incarnation: int, looks: int) -> None:
        if node.pid is None or node.incarnation != incarnation:
            return
        if not node.status().over and looks:
            self.world.loop.call_later(STATUS_LOOK_GAP_S, self._bury, node, incarnation, looks - 1)
            return
        self.world.evidence.poll()
        status = node.status()
        cause = node.cause(status)
        self.record_end(node, cause, f"{status.state} {status.number}", self.world.evidence.now())
        self.forget(node)
        if cause is Cause.LAB:
            raise LabError(
                f"{node.name} exited by itself ({status.state} {status.number}); last output: {node.log_tail()}"
            )
        self.world.loop.create_task(self.world.refreshed())

    def record_end(self, node: RealNode, cause: Cause | None, how: str, t: int) -> None:
        """Record an end that the trial did not request; without a cause the node would not stop."""
        who = node.name, node.incarnation
        detail = f"{how}; last output: {node.log_tail()[:MAX_WORDS]}"
        if who in self.world.evidence.started:
            status = _CRASHED.get(cause)
            self.world.evidence.add(
                t, "crash", *who, f="process", status=status, value=0, detail=detail if status else None
            )
        elif cause is not Cause.LAB:
            f = "stuck" if cause is None else "refused" if cause is Cause.REFUSED else "ended"
            excused = "disk" if cause in (Cause.DISK, Cause.FAULT) else None
            self.world.evidence.add(t, "abort", *who, f=f, status=excused, detail=detail)

    def give_up(self, node: RealNode, how: str) -> None:
        self.world.aside(node.freeze)
        self.world.drained()
        self.record_end(node, None, how, self.world.evidence.now())
        self.end(node)

    def forget(self, node: RealNode) -> None:
        if node.pidfd is not None:
            self.world.loop.remove_reader(node.pidfd)
        node.ended()


def _ran_ns(node: RealNode) -> int | None:
    return None if node.pid is None else proc.ran_ns(node.pid)
