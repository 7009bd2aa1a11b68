"""The losses of a run's trials, by class of fault, and the classes of the corpus of losses that were played.

A system measures each trial (:meth:`~pairproof.harness.system.System.loss`) and lists one program for each class
(:meth:`~pairproof.harness.system.System.loss_programs`). Trials of every search count under their class. A class
without a trial has the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..texts.folding import folded
from .minimums import Minimum

if TYPE_CHECKING:
    from ..trials.schedule import Schedule
    from ..trials.trial import Trial

NAME = "losses"
"""The origin of the corpus's trials."""
IMPOSSIBLE = "not possible here"
"""Begins the state of a class that the lab cannot play on the target."""
PLAYED = "classes of losses played"
NOT_PLAYED = "not played"
"""The state of a class that the time limit, an interrupt or the first violation cut off."""


class Loss(NamedTuple):
    """The loss of one trial: the columns of table ``losses`` after run and trial. Messages unless a unit is named; None
    is unknown.
    """

    fault: str
    of: str
    mode: str
    acknowledged: int
    """Sends with the best answer: RocketMQ's PUT_OK."""
    before: int
    """Acknowledged sends that were answered before the fault began."""
    lost: int | None
    """Acknowledged messages that no node has at the end and that retention did not remove."""
    slave_only: int | None
    master_only: int | None
    other: int
    """Sends that were answered as stored but not as safe."""
    other_lost: int | None
    removed: int
    """Messages of both kinds that retention removed."""
    tried: int
    """Sends that began during the fault."""
    accepted: int
    """Sends during the fault that were acknowledged."""
    accepted_other: int
    """Sends during the fault that were answered as stored but not as safe."""
    readable: int | None
    """Messages of ``before`` that a reader got during the fault; None without a reader."""
    unavailable_ns: int
    """The longest time without a send that was answered as stored, as a lower bound."""
    not_back: int
    """1 if the last outage did not end."""


class LossProgram(NamedTuple):
    fault: str
    of: str
    schedule: Schedule

    @property
    def name(self) -> str:
        return f"{self.fault}, {self.of}"


SUMS = (
    "acknowledged", "before", "lost", "slave_only", "master_only", "other", "other_lost", "removed", "tried",
    "accepted", "accepted_other", "not_back",
)  # fmt: skip


class Losses:
    """The table. ``programs``: all classes of the corpus, in order; ``impossible``: why the lab cannot play a class."""

    def __init__(self, programs: Sequence[LossProgram] = (), impossible: Mapping[str, str] | None = None) -> None:
        self.classes = [(each.fault, each.of) for each in programs]
        self.reasons = {(each.fault, each.of): (impossible or {}).get(each.name, "") for each in programs}
        """By class; empty for a class to be played."""
        self._names = {each.name: (each.fault, each.of) for each in programs}
        self._ended: set[tuple[str, str]] = set()
        """Classes whose program was played or refused."""
        self._trials: Counter[tuple[str, str]] = Counter()
        self._sums: dict[tuple[str, str], Counter[str]] = {}
        self._unavailable: Counter[tuple[str, str]] = Counter()
        """The maximum."""
        self.shown: dict[tuple[str, str], Schedule] = {}
        """By class with a loss: the shortest losing program."""

    def take(self, trial: Trial) -> None:
        meant = self._names.get(trial.source) if trial.origin == NAME else None
        if meant is not None:
            self._ended.add(meant)
            why = trial.refused or "; ".join(trial.skipped)
            self.reasons[meant] = f"{IMPOSSIBLE}: {why}" if why else self.reasons[meant]
        found = trial.measured.loss if trial.measured is not None else None
        if found is None:
            if meant is not None and not self.reasons[meant]:
                self.reasons[meant] = "the fault had no effect"
            return
        key = (found.fault, found.of)
        if meant is not None and key != meant and not self.reasons[meant]:
            self.reasons[meant] = f"counts as {found.fault}, {found.of}"
        self._trials[key] += 1
        own = self._sums.setdefault(key, Counter())
        own.update({name: getattr(found, name) or 0 for name in SUMS})
        own["unaudited"] += found.lost is None
        self._unavailable[key] = max(self._unavailable[key], found.unavailable_ns)
        known = self.shown.get(key)
        if found.lost and (known is None or len(trial.schedule.ops) < len(known.ops)):
            self.shown[key] = trial.schedule

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Classes whose program was cut off."""
        return [key for key in self.classes if key not in self._ended and not self.reasons[key]]

    def minimums(self) -> list[Minimum]:
        """The demand that no class was cut off, if there is a corpus."""
        asked = [key for key in self.classes if key in self._ended or not self.reasons[key]]
        return [Minimum(PLAYED, len(asked) - len(self.missing), len(asked))] if asked else []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Losses) and self.rows() == other.rows()

    __hash__ = object.__hash__

    def rows(self) -> list[dict[str, object]]:
        """A row for each class of the corpus, in its order, then for the other classes of trials."""
        others = sorted(self._trials.keys() - set(self.classes), key=lambda key: (-self._sums[key]["lost"], key))
        return [self._row(key) for key in (*self.classes, *others)]

    def _row(self, key: tuple[str, str]) -> dict[str, object]:
        sums = self._sums.get(key, Counter())
        state = NOT_PLAYED if key in self.missing else self.reasons.get(key, "")
        return {
            "fault": key[0], "of": key[1], "corpus": key in self.classes, "state": state, "trials": self._trials[key],
            **{name: sums[name] for name in (*SUMS, "unaudited")},
            "unavailable_ns": self._unavailable[key],
            "program": folded(self.shown[key].program()) if key in self.shown else [],
        }  # fmt: skip
