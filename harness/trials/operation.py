"""Operations: the steps of a trial, each in its own file, like laws and faults.

An operation has all its properties: for reading and shrinking schedules, for searches, for the Hypothesis machine's
rules, for scenarios and for pages. A third party registers its own under the entry points ``pairproof.operations``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any, ClassVar, NamedTuple, Protocol

from ..errors import UsageError
from .schedule import Args, Scalar

INT_MAX = 2**31 - 1
"""The largest number of a producer, a reader or a queue: RocketMQ's queue ids have 32 bits."""


class Argument(NamedTuple):
    """One argument, made by :func:`number`, :func:`truth` or :func:`text`."""

    kind: type
    most: int = 0
    """The largest value of a number; the smallest is 0."""
    drawn: tuple[Scalar, ...] = ()
    """Values that searches draw, each as often as it is listed."""
    likely: float = 0.5
    """The probability of True."""
    simpler: tuple[Scalar, ...] = ()
    """Values that shrinking tries, simplest first."""
    usual: Scalar | None = None
    """The default in scenarios."""
    check: Callable[[object], None] | None = None
    """Raises UsageError, with the valid values, for an invalid value."""
    optional: bool = False
    """Whether a program may leave it out, and so have its ``usual`` value."""

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
    """A name. In a scenario the name of a node or link must exist in the trial."""
    return Argument(str, drawn=drawn, usual=usual, check=check)


def one_of(names: Collection[str], sentence: str) -> Callable[[object], None]:
    """The check of a text that is one of these names; ``sentence``: the beginning of the error, with the names."""

    def check(value: object) -> None:
        if value not in names:
            raise UsageError(f"{sentence}, not {value!r}")

    return check


class Drawn(NamedTuple):
    whole: bool = False
    """Only in cluster trials, which have a name server."""
    always: int = 0
    """Its weight in every schedule; 0: weight one in some schedules."""
    after: str = ""
    """The operation that it depends on; empty: none."""
    burst: int = 1
    """The largest number of repetitions that the machine draws."""


class Running(Protocol):
    """The object that an operation acts on: the :class:`harness.trials.interpreter.Interpreter`."""

    session: Any
    able: Any
    """The part of the session with the needed ability; the session if none is needed."""

    def begin(self, args: Args) -> object:
        """Begin a fault."""

    def end_oldest(self, name: str) -> None:
        """End the oldest fault of this name."""

    def arm(self, args: Args) -> None:
        """Begin a fault later, when a node passes a point."""

    def arm_call(self, args: Args) -> None:
        """Begin a fault when a node passes a point, and end it with that call."""


class Operation:
    """One operation. Its file has its name, and its docstring describes it for users."""

    name: ClassVar[str]
    needs: ClassVar[type | None] = None
    """The ability of a session that it needs (a ``Can...`` protocol); None: every session can do it."""
    act: ClassVar[Callable[..., object]]
    """The method of this ability that starts it and gets its arguments in order, unless :meth:`do` is overridden."""
    arguments: ClassVar[Mapping[str, Argument]] = {}
    """Its required arguments, in drawing and writing order."""
    carries_fault: ClassVar[bool] = False
    """Whether it also has the arguments of a fault, which the fault checks."""
    drawn: ClassVar[Drawn | None] = None
    """How searches draw it; None for operations that searches add themselves."""
    is_load: ClassVar[bool] = False
    """Whether a scenario's workload may repeat it."""
    is_step: ClassVar[bool] = True
    """Whether a scenario's timeline may name it."""
    is_send: ClassVar[bool] = False
    """Whether it counts as a send of a scenario's workload."""

    def words(self, args: Args) -> str:
        """The operation as a sentence for users."""
        sentence = " ".join((type(self).__doc__ or self.name).replace("``", "").split())
        return sentence + listed(args)

    def completed(self, args: Args) -> dict[str, Any]:
        """The arguments, also those that the program leaves out."""
        return {name: args.get(name, each.usual) for name, each in self.arguments.items()}

    def do(self, running: Running, args: Args) -> None:
        """Start it, and return at once. Raises Unable if the lab cannot do it on this machine."""
        getattr(running.able, type(self).act.__name__)(*self.completed(args).values())


def optional(arguments: Mapping[str, Argument]) -> Mapping[str, Argument]:
    """Arguments that programs may leave out: those from before the argument existed do."""
    return {name: each._replace(optional=True) for name, each in arguments.items()}


def listed(args: Args) -> str:
    """Arguments, to be appended to a sentence."""
    found = ", ".join(
        f"{key}: {str(value).lower() if isinstance(value, bool) else value}" for key, value in args.items()
    )
    return f" ({found})" if found else ""
