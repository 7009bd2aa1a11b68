"""The script of a trial, the same in every lab: warm-up; after the last fault settling, the final audit, and questions.

A lab hands in what differs: how to let time pass, what its system answers to the script's questions (:class:`Context`),
and how long each phase may last there (:class:`Bounds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, Protocol

from ...harness.history import MS, Recorder
from ..driver import Driver

WARM_NS = 30_000 * MS
"""For each half of a warm-up."""
PROBES = 3
DERIVED_NS = 2_000 * MS
CATCH_UP_NS = 180_000 * MS
"""Consumers ask for routes every 30 s, share out a group every 20 s, and miss a lost member after 120 s."""
CALLS_NS = 12_000 * MS
"""For the calls of a slave's metadata sync, after its period."""
COPIED_NS = 1_500 * MS
"""Before and after a slave's copying: what timers and saves may be late."""


class Bounds(NamedTuple):
    """How long phases may last, ns of the lab's time."""

    probe: int
    """Until a probe is answered."""
    settle: int
    """Until all logs end alike."""
    look: int
    """From one look at consumers to the next."""
    sync: int = 0
    """The period of the slaves' metadata sync, where there is a name server."""


class Context(Protocol):
    """What the script is played on: one trial's system."""

    recorder: Recorder
    bounds: Bounds

    @property
    def driver(self) -> Driver: ...

    @property
    def all_nodes(self) -> Collection[str]:
        """All nodes, in the order in which they are started and audited."""

    def now(self) -> int:
        """The trial's time, ns."""

    def run_until(self, reached: Callable[[], bool], limit_ns: int) -> bool:
        """Let time pass until ``reached`` or for ``limit_ns``; whether it was reached."""

    def idle(self, ns: int) -> None:
        """Let time pass between two looks at consumers."""

    def restart(self, node: str) -> None:
        """Start a node; nothing if it runs."""


def warm_up(context: Context) -> None:
    """Until every slave has reported, then until one waiting send is answered and replicated."""
    context.run_until(context.driver.linked, WARM_NS)
    context.driver.clients.probe()
    context.run_until(context.driver.agreed, WARM_NS)
    _mark(context, "warm")


def settle(context: Context) -> None:
    """Start what is down; a probe proves that the pair is alive; then until all logs end alike, or the bound passes.

    With a name server also until consumers have caught up, or the bound passes; then a period of metadata sync is
    quiet, if the driver says that anything is copied in it, or as much of it as replicas are seen to need.
    """
    for name in context.all_nodes:
        context.restart(name)
    for _ in range(PROBES):
        op = context.driver.clients.probe()
        _mark(context, "probe", op)
        context.run_until(context.driver.clients.answered, context.bounds.probe)
        # The first probe may only find out that its connection died with the master's machine.
        if context.driver.clients.phase_of.get(op) == "ok":
            break
    context.run_until(context.driver.resting(), context.bounds.settle)
    _mark(context, "converged" if context.driver.agreed() else "unsettled")
    if context.driver.has_names:
        ends = context.now() + CATCH_UP_NS
        while not context.driver.caught_up() and context.now() < ends:
            context.idle(context.bounds.look)
        if context.driver.is_owed_copies():
            since = context.now() + COPIED_NS
            if context.run_until(lambda: context.driver.copied(since), context.bounds.sync + CALLS_NS):
                context.idle(COPIED_NS)
    context.run_until(context.driver.derived, DERIVED_NS)
    context.driver.audit("final", *context.all_nodes)
    context.driver.question(*context.all_nodes)
    _mark(context, "end")


def audited(pair: Sequence[str], nodes: Collection[str]) -> Iterator[tuple[str, set[str]]]:
    """Each slave whose bytes are read beside the master's, and of which of the two all records are listed.

    ``pair``: its brokers, the master first; a master without slaves is read alone.
    """
    listed, master = set(nodes), pair[0]
    for name in pair[1:] or pair:
        if name in nodes or master in nodes:
            yield name, listed & {name, master}
            # Its records are in the history now: beside the other slaves its bytes are enough.
            listed.discard(master)


def _mark(context: Context, f: str, op: int | None = None) -> None:
    context.recorder.add(context.now(), "mark", op=op, f=f)
