"""The script of a trial, the same in every lab: warm-up; after the last fault settling, the final audit, and questions.

A lab provides the rest: how time passes, its system's answers to the script's queries (:class:`Context`), and the
length of each phase (:class:`Bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

from ...harness.history import MS, Recorder
from ..driver import Driver

WARM_NS = 30_000 * MS
"""Each half of a warm-up."""
PROBES = 3
DERIVED_NS = 2_000 * MS
CATCH_UP_NS = 180_000 * MS
"""Consumers request routes every 30 s, rebalance a group every 20 s, and notice a lost member after 120 s."""
CALLS_NS = 12_000 * MS
"""Time for the calls of a slave's metadata sync, after its period."""
COPIED_NS = 1_500 * MS
"""Delay of timers and saves before and after a slave's copying."""


class Bounds(NamedTuple):
    probe: int
    """Until a probe is answered."""
    settle: int
    """Until all logs have the same end."""
    look: int
    """Interval of observing consumers."""
    sync: int = 0
    """The period of the slaves' metadata sync, with a name server."""


class Context(Protocol):
    recorder: Recorder
    bounds: Bounds

    @property
    def driver(self) -> Driver: ...

    @property
    def all_nodes(self) -> Collection[str]:
        """All nodes, in the order of their start and audit."""

    def now(self) -> int:
        """The trial's time, ns."""

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; returns whether it was reached."""

    def idle(self, ns: int) -> None:
        """Let time pass between two observations of consumers."""

    def restart(self, node: str) -> None:
        """Start a node unless it runs."""


def warm_up(context: Context) -> None:
    """Run until every slave has reported, then until one waiting send is answered and replicated."""
    context.run_until(context.driver.linked, WARM_NS)
    context.driver.clients.probe()
    context.run_until(context.driver.agreed, WARM_NS)
    _mark(context, "warm")


def settle(context: Context) -> None:
    """Start stopped nodes, probe that the pair is alive, then wait until all logs have the same end, at most to the
    bound.

    With a name server, then wait for consumers to catch up, again at most to the bound. If the driver reports pending
    copies, wait for an undisturbed period of metadata sync, or until replicas have visibly copied.
    """
    for name in context.all_nodes:
        context.restart(name)
    for _ in range(PROBES):
        op = context.driver.clients.probe()
        _mark(context, "probe", op)
        context.run_until(context.driver.clients.answered, context.bounds.probe)
        # The first probe may only detect that its connection ended with the master's machine.
        if context.driver.clients.phase_of.get(op) == "ok":
            break
    context.run_until(context.driver.resting(), context.bounds.settle)
    _mark(context, "converged" if context.driver.agreed() else "unsettled")
    if context.driver.has_names:
        ends = context.now() + CATCH_UP_NS
        while not context.driver.caught_up() and context.now() < ends:
            context.idle(context.bounds.look)
        if context.driver.has_pending_copies():
            since = context.now() + COPIED_NS
            if context.run_until(lambda: context.driver.copied(since), context.bounds.sync + CALLS_NS):
                context.idle(COPIED_NS)
    context.run_until(context.driver.derived, DERIVED_NS)
    context.driver.audit("final", *context.all_nodes)
    context.driver.question(*context.all_nodes)
    _mark(context, "end")


def audited(pair: Sequence[str], nodes: Collection[str]) -> Iterator[tuple[str, set[str]]]:
    """Each slave whose bytes are compared with the master's, and the nodes of the two whose records are listed in full.

    ``pair``: its brokers, the master first; a master without slaves is read alone.
    """
    listed, master = set(nodes), pair[0]
    for name in pair[1:] or pair:
        if name in nodes or master in nodes:
            yield name, listed & {name, master}
            # Its records are in the history now; for the other slaves its bytes suffice.
            listed.discard(master)


def _mark(context: Context, f: str, op: int | None = None) -> None:
    context.recorder.add(context.now(), "mark", op=op, f=f)
