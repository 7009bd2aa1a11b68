"""Counts of the searches' trials, compared with a profile's coverage minimums.

Each fault has three counts: drawn, begun, and took effect, as measured by the lab (in real labs by taps that count
bytes and connections). These separate a fault without effect from a fault that was never drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ..trials.trial import Measured, Trial
from .coverage_table import CoverageTable
from .minimums import Minimum, Minimums


class FaultCount(NamedTuple):
    """The counts of one fault. ``effect``: the sum of its measured effects."""

    drawn: int
    began: int
    took_effect: int
    effect: Mapping[str, int]


class Tally:
    """Counts the trials of searches. ``laws``: the number of laws that judge them."""

    def __init__(self, minimums: Minimums, laws: int) -> None:
        self.minimums = minimums
        self.operations: Counter[str] = Counter()
        self._asked = laws
        self._origins: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._drawn: Counter[str] = Counter()
        self._began: Counter[str] = Counter()
        self._took_effect: Counter[str] = Counter()
        self._effects: dict[str, Counter[str]] = {}
        self._judged: set[str] = set()
        self._coverage = CoverageTable()

    def count(self, trial: Trial, measured: Measured) -> None:
        """Add one trial. ``measured``: the measurements of its history, with counts by event type."""
        self._origins[trial.origin] += 1
        for op in trial.schedule.ops:
            self.operations[op.do] += 1
            if op.do in ("fault", "arm", "transient"):
                self._drawn[str(op.args["name"])] += 1
        for fault in trial.faults:
            self._began[fault.name] += 1
            self._took_effect[fault.name] += fault.bit > 0
            self._effects.setdefault(fault.name, Counter()).update(fault.effect)
        for (kind, f), number in measured.kinds.items():
            self._events[kind] += number
            if f is not None:
                self._events[f"{kind} {f}"] += number
        self._judged |= {each.law for each in trial.judgements if each.judged}
        self._coverage.merge(measured.coverage)

    def faults(self) -> dict[str, FaultCount]:
        return {
            name: FaultCount(
                drawn, self._began[name], self._took_effect[name], dict(self._effects.get(name, Counter()))
            )
            for name, drawn in sorted(self._drawn.items())
        }

    def rows(self) -> list[Minimum]:
        minimums = self.minimums
        rows = [Minimum(f"trials of the {name}", self._origins[name], least) for name, least in minimums.trials.items()]
        rows += [
            Minimum(f"operations: {name}", self.operations[name], least) for name, least in minimums.operations.items()
        ]
        rows += [Minimum(f"events: {name}", self._events[name], least) for name, least in minimums.events.items()]
        for name, family in minimums.faults.items():
            took_effect = sum(self._took_effect[each] for each in family.names)
            rows.append(Minimum(f"faults that took effect: {name}", took_effect, family.least))
        states: Counter[str] = Counter()
        for (state, _, _), number in self._coverage.rows().items():
            states[state] += number
        rows += [Minimum(f"events in state: {name}", states[name], least) for name, least in minimums.states.items()]
        if minimums.laws:
            rows.append(Minimum("laws with something to judge", len(self._judged), min(minimums.laws, self._asked)))
        return rows
