"""One executed schedule and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..exploration.coverage_table import CoverageTable
from ..exploration.losses import Loss
from ..history import Event
from ..judging.verdict import Judgement
from ..texts.wording import counted
from .schedule import Args, Schedule


class FaultOutcome(NamedTuple):
    """A fault of a trial and what it really did. ``bit`` = 0: it hit nothing."""

    op: int
    name: str
    args: Args
    began_ns: int
    ended_ns: int
    bit: int
    effect: dict[str, int]


class Measured(NamedTuple):
    """What a history came to, counted where it was played, so that the history itself need not be kept."""

    events: int
    virtual_ns: int
    """When it ended."""
    coverage: CoverageTable
    objectives: Sequence[tuple[object, ...]]
    kinds: Mapping[tuple[str, str | None], int] = {}
    """Events by kind and ``f``, where somebody counts them."""
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
    """Why operations were not executed: a fault that the lab is not capable of."""
    logs: Mapping[str, str] = {}
    """What its processes said, the end of it, by node; none where there are no processes."""
    configurations: Mapping[str, str] = {}
    """The file of settings that each node was given last, where nodes are programs."""
    again: int = 0
    """How often it had been played before, and spoilt by the machine."""
    source: str = ""
    """Of a listed program: which known bug, or which class of losses."""
    measured: Measured | None = None
    """Of a trial of an exploration; ``events`` are empty then where the run does not keep them."""
    refused: str = ""
    """Why the target or an operation refused a schedule that a search drew; empty if it was played."""
    took_s: float = 0.0
    """How long it took to play, in a lab with real time."""


def not_played(origin: str, schedule: Schedule, why: Exception) -> Trial:
    """In place of a trial whose schedule was refused."""
    return Trial(0, origin, schedule, [], [], refused=str(why))


class Finding(NamedTuple):
    """A violation with its minimal program, ready to replay."""

    law: str
    text: str
    target: str
    lab: str
    trial: int
    """The trial that found it."""
    shrunk_trial: int
    """The trial that executed the minimal schedule; its history is kept too."""
    schedule: Schedule
    """The minimal schedule."""
    original_ops: int
    shrunk_in: str = ""
    """The lab in which the schedule was made small, if that is another than ``lab``; it shows the violation there."""
    cause: str = ""
    """What its trial broke first (:mod:`harness.judging.cause`): findings with one cause are told together."""
    search: str = ""
    """The search that found it; empty if nobody said."""
    source: str = ""
    """Of a program of a known bug: which one it was found with."""

    @property
    def is_shrunk(self) -> bool:
        """Whether a trial showed the schedule that was made smaller, or that nothing smaller shows the violation."""
        return self.shrunk_trial != self.trial or len(self.schedule.ops) < self.original_ops

    @property
    def size(self) -> str:
        """How many operations its program has, and how that came, in words."""
        number = len(self.schedule.ops)
        words = counted(number, "operation")
        if not self.is_shrunk:
            return f"{words}, not shrunk: no smaller program showed it again in the time for that"
        where = f" in {self.shrunk_in}" if self.shrunk_in else ""
        return f"{words}, shrunk from {self.original_ops}{where}" if number < self.original_ops else f"{words}, minimal"
