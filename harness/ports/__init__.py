"""What the harness asks of labs, targets, faults and laws: small protocols, abilities apart.

A lab opens a :class:`Session` for one trial. Faults are written once against the ``Can…`` abilities, which stand in
modules by subject; a session has the abilities that its lab offers, and a fault whose ability is missing is skipped
with that reason, never passed. So is one whose ability raises :class:`pairproof.harness.errors.Unable`, since this
machine does not let the lab do it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, runtime_checkable

from ..history import Recorder
from ..trials.schedule import Args

Effect = Mapping[str, int]
"""What a fault did, in counts and bytes: ``bytes_held``, ``bytes_lost``, ``connections_closed``, ... All zero: it never
bit."""


class Session(Protocol):
    """One trial's system under test, from its first start to its last audit.

    Its abilities are those of its ``parts``, a tuple of objects; a session without such an attribute is its only part.
    Where the class annotates it (``parts: tuple[ThisSession, Disks]``) they are known without a trial.
    """

    recorder: Recorder

    def advance(self, ms: int) -> None:
        """Let time pass."""

    def now(self) -> int:
        """The trial's time, ns."""

    def warm_up(self) -> None:
        """Bring the pair up: link established, one message stored and replicated. Records mark ``warm``."""

    def settle(self) -> None:
        """After every fault has ended: run until master and slave agree or the bound passes, then audit both.

        Records mark ``converged`` or ``unsettled``, the final audits, and mark ``end``.
        """

    def close(self) -> None:
        """Give everything back. May be called at any moment, twice too."""


class Target(Protocol):
    """What is tested."""

    @property
    def name(self) -> str:
        """As registered, with ``+mutant`` where one is set."""

    def settings(self, schedule: Args) -> Args:
        """The schedule's settings completed by the target's own defaults; UsageError for unknown keys."""


class Lab(Protocol):
    """Where it runs."""

    name: str
    deterministic: bool
    """Whether the same arguments give the same history. If not, the lab runs in real time, and schedules are paced."""

    def observes(self, target: Target) -> frozenset[str]:
        """Kinds of event that this lab can record for this target; a law that needs others is not observable."""

    def open(self, target: Target, settings: Args, seed: str) -> Session:
        """A new trial."""


@runtime_checkable
class HasLogs(Protocol):
    """The session's nodes are processes that say something."""

    def logs(self) -> Mapping[str, str]:
        """The end of what each has said, by node."""


@runtime_checkable
class HasConfigurations(Protocol):
    """The session's nodes were given files of settings."""

    def configurations(self) -> Mapping[str, str]:
        """The file that each was started with last, by node."""


@runtime_checkable
class SaysWhatItIs(Protocol):
    """A target that can say, for a write-up, what exactly is tested."""

    def programs(self, settings: Args) -> Mapping[str, str]:
        """Programs and their versions by what they are for: ``master``, ``slave``, ``Java``."""

    def defaults(self, node: str, settings: Args) -> Mapping[str, str]:
        """What its own version takes for each setting that a node is not given; LabError if it cannot be found out."""


class AnyText(str):
    """A value of a fault's argument that stands for any other text, too."""


class Fault(Protocol):
    """One kind of fault, written once for every lab. Its file's name is its name."""

    name: str
    needs: type
    """The ability it needs: one of the ``Can…`` protocols."""
    arguments: Mapping[str, tuple[Any, ...]]
    """Its arguments and the values that search draws from; the first is the default.

    It takes no other texts, unless one of them is :class:`AnyText`.
    """

    def start(self, session: Any, args: Args) -> Any:
        """Begin; a handle for :meth:`stop`."""

    def stop(self, session: Any, handle: Any) -> Effect:
        """End; what it did."""


@runtime_checkable
class IsEdgeCase(Protocol):
    """A fault of which some values need more than the fault itself."""

    @property
    def edge_case(self) -> Mapping[str, type]:
        """Values of its arguments that need a further ability, and which."""

    def without(self, values: Collection[str]) -> Fault:
        """The fault as it is drawn where these values cannot be."""


class Progress(Protocol):
    """Hears how far a long work is."""

    def __call__(self, done: int, total: int | None, doing: str, note: str = "") -> None:
        """``total`` is None where nobody knows. ``note``: the unit of both numbers, and what else is known so far."""


Faults = Mapping[str, Fault]
