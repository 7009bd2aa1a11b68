"""What a run has been through: states of the system x kinds of event x faults, counted over every trial.

Which states there are, and in which of them an event found its trial, the system says (``System.cover``). Faults that
are on together count once each; where none is on the fault is ``none``. Bounded: states, kinds and faults are few.

Leaves out what the laws made of it: an event that was counted here may have given no law anything to judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

NO_FAULT = "none"
"""Where no fault is on."""
LEAST = 3
"""Faults that the summary names."""

Pair = tuple[str, str]
"""(state, kind of event)"""


class CoverageTable:
    """Counts by fault and :data:`Pair`."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[Pair]] = {}

    def merge(self, other: CoverageTable) -> None:
        for fault, pairs in other.counts.items():
            self.counts.setdefault(fault, Counter()).update(pairs)

    def add(self, pairs: Sequence[Pair], faults: Collection[str]) -> None:
        """Count these while these faults are on."""
        for fault in set(faults) or (NO_FAULT,):
            # Counter.update over a list counts in C.
            self.counts.setdefault(fault, Counter()).update(pairs)

    def rows(self) -> dict[tuple[str, str, str], int]:
        """Counts by (state, kind of event, fault), sorted."""
        found = {(*pair, fault): count for fault, pairs in self.counts.items() for pair, count in pairs.items()}
        return dict(sorted(found.items()))

    def pairs(self) -> set[Pair]:
        """Pairs that occurred at all, whatever the fault."""
        return {pair for pairs in self.counts.values() for pair in pairs}

    def gaps(self, faults: Iterable[str]) -> dict[str, list[Pair]]:
        """By fault, the pairs that occurred in this run but never while that fault was on."""
        seen = self.pairs()
        return {fault: sorted(seen - self.counts.get(fault, Counter()).keys()) for fault in sorted(faults)}

    def summary(self, faults: Iterable[str]) -> str:
        """In a line: how much occurred, and under which faults the least of it did."""
        pairs, gaps = len(self.pairs()), self.gaps(faults)
        least = sorted(gaps, key=lambda fault: (-len(gaps[fault]), fault))[:LEAST]
        said = ", ".join(f"{fault} {pairs - len(gaps[fault])}" for fault in least)
        met = sum(pairs - len(each) for each in gaps.values())
        return (
            f"{pairs} pairs of state and event occurred; with each of {len(gaps)} faults {met} of {pairs * len(gaps)} "
            f"(least: {said or 'none'})"
        )
