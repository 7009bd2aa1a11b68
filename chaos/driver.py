"""What a target brings beside its nodes: what operations are for it, and what the script of a trial asks of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from ..harness.history import MS


class Probing(Protocol):
    """A target's clients, as the script of a trial uses them."""

    @property
    def phase_of(self) -> Mapping[int, str]:
        """How each call has ended, by its number: ``ok``, ``fail`` or ``info``."""

    def probe(self) -> int:
        """Start a call that shows whether the system is alive and replicates; its number."""

    def answered(self) -> bool:
        """Whether no call is under way."""


class Driver:
    """What a target's operations are in one trial, and what the script of the trial asks of the target.

    Made once the links are there, and before a node starts. A target's own class has at least ``parts`` and
    ``clients``.
    """

    parts: tuple[object, ...] = ()
    """Those with the abilities that operations, and the target's own faults, need."""
    clients: Probing
    call_ns = 10_000 * MS
    """After which a call is given up."""
    has_names: bool = False
    """Whether clients and replicas go on by themselves when calls have ended, and are waited for."""
    sync_ns = 0
    """The period in which replicas do so."""

    def config(self, node: str) -> str | None:
        """A node's settings as JSON, for the history; None for a node without."""

    def stand(self, nodes: Collection[str]) -> bool:
        """Whether these nodes, which serve, have done what those that start later wait for."""
        return True

    def linked(self) -> bool:
        """Whether every replica has its source."""
        return True

    def ends(self) -> set[int | None]:
        """Where the logs of all replicas end, or whatever is equal once they agree; None for a node that is down."""
        return {0}

    def resting(self) -> Callable[[], bool]:
        """A question, asked from now on: whether all have :meth:`agreed`, or cannot any more."""
        return self.agreed

    def agreed(self) -> bool:
        """Whether no call is under way and all logs end alike."""
        if not self.clients.answered():
            return False
        ends = self.ends()
        return len(ends) == 1 and None not in ends

    def derived(self) -> bool:
        """Whether everything that nodes derive from their logs is there."""
        return True

    def is_owed_copies(self) -> bool:
        """Whether anything was done to what replicas copy in that period; if not, nobody waits for it."""
        return True

    def copied(self, since_ns: int) -> bool:
        """Whether every replica has asked for what it copies, after ``since_ns``, and got it; False if nobody knows."""
        return False

    def caught_up(self) -> bool:
        """Whether clients that go on by themselves have all there is."""
        return True

    def starting(self, node: str) -> None:
        """Record what a node that is down, and is about to start again, will find of its store."""

    def audit(self, f: str, *nodes: str) -> None:
        """Read these nodes from outside, and record what they hold: ``f`` is ``recovery`` or ``final``."""

    def question(self, *nodes: str) -> None:
        """Ask these nodes, which have been audited, about what they hold, and record their answers."""

    def look(self) -> None:
        """Record what shall be seen whenever time has passed."""

    def log_end(self, node: str) -> int:
        """Where the log of a node that is down ends by its files; 0 where there is no log."""
        return 0

    def close(self) -> None:
        """Give everything back."""
