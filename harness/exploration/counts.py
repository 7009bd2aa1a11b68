"""Counts of an exploration's trials, updated as they are played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from ..judging.verdict import Verdict
from ..trials.trial import Trial
from .coverage_table import CoverageTable
from .tally import Tally

MAX_REASONS, OTHER_REASONS = 20, "other reasons"
"""The number of refusal reasons that are counted separately."""


def refuse(refused: Counter[str], why: str) -> None:
    """Count a schedule that was not played. ``refused``: counts by reason."""
    refused[why if why in refused or len(refused) < MAX_REASONS else OTHER_REASONS] += 1


class Counts:
    """Bounded by laws, searches, states and fault names. ``tally`` counts only the trials of ``searches``."""

    def __init__(self, laws: Iterable[str], searches: Collection[str], tally: Tally | None) -> None:
        self.seen: dict[str, set[tuple[str, Verdict]]] = {law: set() for law in laws}
        """By law: the origins of the trials that it judged, each with its verdicts."""
        self.exercised: Counter[str] = Counter()
        """By law: trials in which it had something to judge."""
        self.judged: Counter[str] = Counter()
        self.notes: Counter[tuple[str, str]] = Counter()
        self.by_origin: Counter[str] = Counter()
        self.events = 0
        self.again = 0
        """Trials that were played again after a stall of the machine."""
        self.replicated: Counter[bool] = Counter()
        """Trials with a slave, by whether a slave held a record of the workload."""
        self.refused: Counter[str] = Counter()
        self.coverage = CoverageTable()
        self.faults: Counter[str] = Counter()
        """By name of each fault that began: how often it took effect."""
        self.tally = tally
        self._searches = searches

    @property
    def searched(self) -> int:
        """Trials of the searches, without the corpus and shrinking."""
        return sum(self.by_origin[each] for each in self._searches)

    def violated_laws(self) -> int:
        return sum(any(verdict is Verdict.VIOLATED for _, verdict in seen) for seen in self.seen.values())

    def count(self, trial: Trial) -> None:
        assert trial.measured is not None
        self.by_origin[trial.origin] += 1
        self.events += trial.measured.events
        self.again += trial.again
        if trial.measured.replicated is not None:
            self.replicated[trial.measured.replicated] += 1
        self.coverage.merge(trial.measured.coverage)
        for fault in trial.faults:
            self.faults[fault.name] += fault.bit > 0
        if self.tally is not None and trial.origin in self._searches:
            self.tally.count(trial, trial.measured)
        for each in trial.judgements:
            self.seen[each.law].add((trial.origin, each.verdict))
            self.exercised[each.law] += each.judged > 0
            self.judged[each.law] += each.judged
            for note, amount in each.notes.items():
                self.notes[each.law, note] += amount
