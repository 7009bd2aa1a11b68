"""One executed schedule and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..exploration.coverage_table import CoverageTable
from ..exploration.losses import Loss
from ..history import Event
from ..judging.verdict import Judgement, Verdict
from ..texts.wording import counted
from .schedule import Args, Schedule


class FaultOutcome(NamedTuple):
    """A fault of a trial and its effect. ``bit`` = 0: no effect."""

    op: int
    name: str
    args: Args
    began_ns: int
    ended_ns: int
    bit: int
    effect: dict[str, int]


class Measured(NamedTuple):
    """The measurements of a history, made where it was played, so that the history need not be kept."""

    events: int
    virtual_ns: int
    coverage: CoverageTable
    objectives: Sequence[tuple[object, ...]]
    kinds: Mapping[tuple[str, str | None], int] = {}
    """Events by type and ``f``, if they are counted."""
    loss: Loss | None = None
    """See ``System.loss``."""
    replicated: bool | None = None
    """See ``System.replicated``."""


class Trial(NamedTuple):
    """A schedule, its history and its judgements. ``origin``: sweep, known-bugs, swarm, machine, shrink, replay."""

    number: int
    origin: str
    schedule: Schedule
    events: list[Event]
    judgements: list[Judgement]
    faults: tuple[FaultOutcome, ...] = ()
    skipped: tuple[str, ...] = ()
    """Why operations were not executed: faults that the lab cannot inject."""
    logs: Mapping[str, str] = {}
    """The last output of its processes, by node; empty without processes."""
    configurations: Mapping[str, str] = {}
    """The last settings file of each node, if nodes are programs."""
    again: int = 0
    """Earlier plays, which stalls of the machine spoilt."""
    source: str = ""
    """The known bug or the class of losses of a listed program."""
    measured: Measured | None = None
    """For a trial of an exploration; ``events`` are then empty unless the run keeps them."""
    refused: str = ""
    """Why the target or an operation refused a drawn schedule; empty if it was played."""
    took_s: float = 0.0
    """The duration in a real-time lab."""

    @property
    def violated(self) -> list[Judgement]:
        """The judgements of violated laws, in the order of the laws."""
        return [each for each in self.judgements if each.verdict is Verdict.VIOLATED]

    def violates(self, law: str) -> bool:
        return any(each.law == law for each in self.violated)


def not_played(origin: str, schedule: Schedule, why: Exception) -> Trial:
    """The replacement of a trial whose schedule was refused."""
    return Trial(0, origin, schedule, [], [], refused=str(why))


class Finding(NamedTuple):
    """A violation with its minimal program, ready to replay."""

    law: str
    text: str
    target: str
    lab: str
    trial: int
    shrunk_trial: int
    """The trial that executed the minimal schedule; its history is kept, too."""
    schedule: Schedule
    original_ops: int
    shrunk_in: str = ""
    """The lab that shrunk the schedule, if it is not ``lab``; it shows the violation."""
    cause: str = ""
    """The first violation of its trial (:mod:`harness.judging.cause`): findings of one cause are reported together."""
    search: str = ""
    """The search that found it; empty if unknown."""
    source: str = ""
    """The known bug whose program found it."""

    @property
    def is_shrunk(self) -> bool:
        """Whether a trial showed the shrunk schedule, or no smaller one shows the violation."""
        return self.shrunk_trial != self.trial or len(self.schedule.ops) < self.original_ops

    @property
    def size(self) -> str:
        """The number of operations of its program, and how it was shrunk, in words."""
        number = len(self.schedule.ops)
        words = counted(number, "operation")
        if not self.is_shrunk:
            return f"{words}, not shrunk: no smaller program showed it again in the time for that"
        where = f" in {self.shrunk_in}" if self.shrunk_in else ""
        return f"{words}, shrunk from {self.original_ops}{where}" if number < self.original_ops else f"{words}, minimal"
