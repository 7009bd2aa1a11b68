"""The harness's interfaces to labs, targets and faults: small protocols, one for each ability.

A lab opens a :class:`Session` for one trial. Faults are written once for the ``Can…`` abilities, which are in modules
by subject. A session has the abilities of its lab. A fault whose ability is missing, or raises
:class:`pairproof.harness.errors.Unable` on this machine, is skipped with the reason, and never counts as passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from ..history import Recorder
from ..trials.schedule import Args, Op, Schedule

Effect = Mapping[str, int]
"""The effect of a fault, in counts and bytes: ``bytes_held``, ``bytes_lost``, ``connections_closed``, ... All zero: no
effect.
"""


class Session(Protocol):
    """One trial's system under test, from its first start to its last audit.

    Its abilities are those of its ``parts``, a tuple of objects; a session without this attribute is its only part.
    With an annotation in the class (``parts: tuple[ThisSession, Disks]``) they are known without a trial.
    """

    recorder: Recorder

    def advance(self, ms: int) -> None: ...

    def now(self) -> int:
        """The trial's time, ns."""

    def warm_up(self) -> None:
        """Start the pair: link established, one message stored and replicated. Records mark ``warm``."""

    def settle(self) -> None:
        """After every fault has ended: run until master and slave agree or the time limit passes, then audit both.

        Records mark ``converged`` or ``unsettled``, the final audits, and mark ``end``.
        """

    def close(self) -> None:
        """Release all resources. May be called at any moment, and twice."""


class Target(Protocol):
    """The system under test."""

    @property
    def name(self) -> str:
        """The registered name, with ``+mutant`` if one is set."""

    def settings(self, schedule: Args) -> Args:
        """The schedule's settings completed by the target's own defaults; UsageError for unknown keys."""


class Lab(Protocol):
    name: str
    deterministic: bool
    """Whether the same arguments give the same history. If not, the lab runs in real time, and schedules are paced."""

    def observes(self, target: Target) -> frozenset[str]:
        """Event types that this lab can record for this target; a law that needs others is not observable."""

    def open(self, target: Target, settings: Args, seed: str) -> Session:
        """A session for a new trial."""


@runtime_checkable
class HasLogs(Protocol):
    """The session's nodes are processes with output."""

    def logs(self) -> Mapping[str, str]:
        """The end of each node's output."""


@runtime_checkable
class HasConfigurations(Protocol):
    """The session's nodes have settings files."""

    def configurations(self) -> Mapping[str, str]:
        """By node: the settings file of its last start."""


@runtime_checkable
class DescribesItself(Protocol):
    """A target that can describe itself for a write-up."""

    def programs(self, settings: Args) -> Mapping[str, str]:
        """Programs and their versions by role: ``master``, ``slave``, ``Java``."""

    def defaults(self, node: str, settings: Args) -> Mapping[str, str]:
        """Its version's default for each setting that a node does not have; LabError if these cannot be found."""


@runtime_checkable
class GoesByHand(Protocol):
    """A target whose programs others can run without pairproof."""

    def by_hand(
        self, title: str, schedule: Schedule, configurations: Mapping[str, str], words: Callable[[Op], str]
    ) -> Mapping[str, str]:
        """Files, by name, that play a schedule as far as that is possible; none if it is not. ``configurations``: the
        nodes' files; ``words``: an operation in words.
        """


class AnyText(str):
    """A value of a fault's argument that stands for any other text, too."""


class Fault(Protocol):
    """A fault, written once for every lab. Its file's name is its name."""

    name: str
    needs: type
    """The ability that it needs: one of the ``Can…`` protocols."""
    arguments: Mapping[str, tuple[Any, ...]]
    """Its arguments and the values that searches draw; the first is the default.

    It accepts no other texts, unless one of them is :class:`AnyText`.
    """

    def start(self, session: Any, args: Args) -> Any:
        """Begin; returns a handle for :meth:`stop`."""

    def stop(self, session: Any, handle: Any) -> Effect:
        """End; returns the effect."""


@runtime_checkable
class HasSpecialValues(Protocol):
    """A fault of which some values need a further ability."""

    @property
    def special(self) -> Mapping[str, type]:
        """Values of its arguments that need a further ability, with that ability."""

    def without(self, values: Collection[str]) -> Fault:
        """The fault without these values, for searches."""


class Progress(Protocol):
    """Receives the progress of long work."""

    def __call__(self, done: int, total: int | None, doing: str, note: str = "") -> None:
        """``total`` is None if unknown. ``note``: the unit of both numbers, and other figures so far."""


Faults = Mapping[str, Fault]
