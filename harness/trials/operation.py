"""What an operation is: one thing that a trial can do, written in a file of its own, as laws and faults are.

Everything that must know of an operation asks it: reading and shrinking schedules, the searches that draw it, the
Hypothesis machine's rules, scenarios, the pages about them. A third party registers its own under the entry points
``pairproof.operations``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, ClassVar, NamedTuple, Protocol

from .schedule import Args, Scalar

INT_MAX = 2**31 - 1
"""The largest number of a producer, a reader or a queue: RocketMQ's queue ids have 32 bits."""


class Argument(NamedTuple):
    """One argument. :func:`number`, :func:`truth` and :func:`text` make it."""

    kind: type
    most: int = 0
    """Of a number, the largest; none is negative."""
    drawn: tuple[Scalar, ...] = ()
    """What searches draw from, each value as often as it stands here."""
    likely: float = 0.5
    """How often a truth is drawn."""
    simpler: tuple[Scalar, ...] = ()
    """What shrinking tries instead, simplest first."""
    usual: Scalar | None = None
    """What it is in a scenario that does not say."""
    check: Callable[[object], None] | None = None
    """Raises UsageError, with what is valid, for a value that it cannot be."""

    def draw(self, dice: Random) -> Scalar:
        return dice.random() < self.likely if self.kind is bool else dice.choice(self.drawn)


def number(
    most: int, drawn: tuple[int, ...] | range = (), simpler: tuple[int, ...] = (), usual: int | None = None
) -> Argument:
    """A whole number from 0 to ``most``."""
    return Argument(int, most, tuple(drawn), simpler=simpler, usual=usual)


def truth(likely: float, simpler: bool, usual: bool) -> Argument:
    """True or false."""
    return Argument(bool, drawn=(False, True), likely=likely, simpler=(simpler,), usual=usual)


def text(
    drawn: tuple[str, ...] = (), usual: str | None = None, check: Callable[[object], None] | None = None
) -> Argument:
    """A name: of a place, which must be one of the trial's own in a scenario, or of something else."""
    return Argument(str, drawn=drawn, usual=usual, check=check)


class Drawn(NamedTuple):
    """How searches draw an operation."""

    whole: bool = False
    """Only in cluster trials, which have a name server."""
    always: int = 0
    """How many lots it has in every schedule; without, it has one in some."""
    after: str = ""
    """The operation without which it would do nothing; empty: none."""
    burst: int = 1
    """How often the machine lets it happen at once, at most."""


class Running(Protocol):
    """What an operation acts on: the :class:`harness.trials.interpreter.Interpreter`."""

    session: Any
    able: Any
    """The part of the session that has the ability that this operation needs; the session where it needs none."""

    def begin(self, args: Args) -> None:
        """A fault begins."""

    def end_oldest(self, name: str) -> None:
        """The oldest fault of this name ends."""

    def arm(self, args: Args) -> None:
        """A fault begins later, when a node passes a point."""


class Operation:
    """One operation. Its file is named after it, and its docstring says what it does, for readers of a page."""

    name: ClassVar[str]
    needs: ClassVar[type | None] = None
    """The ability of a session that it needs (a ``Can...`` protocol); without, every session can do it."""
    arguments: ClassVar[Mapping[str, Argument]] = {}
    """All that it must have, in the order in which they are drawn and written."""
    carries_fault: ClassVar[bool] = False
    """Whether it has a fault's arguments besides; what these may be, the fault says."""
    drawn: ClassVar[Drawn | None] = None
    """How searches draw it; those without are part of what searches do by themselves."""
    is_load: ClassVar[bool] = False
    """Whether a scenario's workload may repeat it."""
    is_step: ClassVar[bool] = True
    """Whether a scenario's timeline may name it."""
    is_send: ClassVar[bool] = False
    """Whether it counts as a send of a scenario's workload."""

    def words(self, args: Args) -> str:
        """What happens, for somebody who does not know operations."""
        told = " ".join((type(self).__doc__ or self.name).replace("``", "").split())
        return told + listed(args)

    def do(self, running: Running, args: Args) -> None:
        """Start it, and return at once. Raises Unable if this machine does not let the lab do it."""
        raise NotImplementedError


def listed(args: Args) -> str:
    """Arguments behind a sentence."""
    found = ", ".join(
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}" for key, value in args.items()
    )
    return f" ({found})" if found else ""
