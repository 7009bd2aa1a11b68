"""A target's part besides its nodes: its operations, and the queries of a trial's script."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from ..harness.history import MS


class Probing(Protocol):
    @property
    def phase_of(self) -> Mapping[int, str]:
        """Each finished call's result by its number: ``ok``, ``fail`` or ``info``."""

    def probe(self) -> int:
        """Start a call that shows whether the system is alive and replicates; returns its number."""

    def answered(self) -> bool:
        """Whether no call is in flight."""


class Driver:
    """A target's operations in one trial, and the queries of its script.

    Made after the links and before a node starts. A target's own class has at least ``parts`` and ``clients``.
    """

    parts: tuple[object, ...] = ()
    """Objects with the abilities that operations, and the target's own faults, need."""
    clients: Probing
    call_ns = 10_000 * MS
    has_names: bool = False
    """Whether clients and replicas continue on their own after the last call, so that the script waits for them."""
    sync_ns = 0
    """The period of replica synchronization."""

    def config(self, node: str) -> str | None:
        """A node's settings as JSON, for the history; None for a node without."""

    def stand(self, nodes: Collection[str]) -> bool:
        """Whether these serving nodes meet the conditions of nodes that start later."""
        return True

    def linked(self) -> bool:
        """Whether every replica has its source."""
        return True

    def ends(self) -> set[int | None]:
        """Log ends of all replicas, or another value that is equal once they agree; None for a node that is down."""
        return {0}

    def resting(self) -> Callable[[], bool]:
        """A predicate that starts observing now: whether all have :meth:`agreed`, or cannot until the trial's end."""
        return self.agreed

    def agreed(self) -> bool:
        if not self.clients.answered():
            return False
        ends = self.ends()
        return len(ends) == 1 and None not in ends

    def derived(self) -> bool:
        """Whether nodes have derived everything from their logs."""
        return True

    def has_pending_copies(self) -> bool:
        """Whether a replica's copies changed in that period; if not, the script does not wait."""
        return True

    def copied(self, since_ns: int) -> bool:
        """Whether every replica has requested and received its copies since ``since_ns``; False if unknown."""
        return False

    def caught_up(self) -> bool:
        """Whether clients that continue on their own have read all messages."""
        return True

    def starting(self, node: str) -> None:
        """Record the store of a node that is down and about to start."""

    def audit(self, f: str, *nodes: str) -> None:
        """Read these nodes from outside and record their contents: ``f`` is ``recovery`` or ``final``."""

    def question(self, *nodes: str) -> None:
        """Query these audited nodes about their contents, and record their answers."""

    def look(self) -> None:
        """Record observations that depend on the passage of time."""

    def log_end(self, node: str) -> int:
        """Log end of a stopped node by its files; 0 without a log."""
        return 0

    def close(self) -> None:
        """Release all resources."""
