"""The coverage of a run: states of the system x event types x faults, counted over every trial.

The system (``System.cover``) defines the states and assigns events to them. An event counts once for each active fault;
without one, for fault ``none``. Bounded: there are few states, event types and faults.

Left out: whether a law judged a counted event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

NO_FAULT = "none"
LEAST = 3

Pair = tuple[str, str]
"""(state, event type)"""


class CoverageTable:
    def __init__(self) -> None:
        self.counts: dict[str, Counter[Pair]] = {}

    def merge(self, other: CoverageTable) -> None:
        for fault, pairs in other.counts.items():
            self.counts.setdefault(fault, Counter()).update(pairs)

    def add(self, pairs: Sequence[Pair], faults: Collection[str]) -> None:
        for fault in set(faults) or (NO_FAULT,):
            # Counter.update over a list counts in C.
            self.counts.setdefault(fault, Counter()).update(pairs)

    def rows(self) -> dict[tuple[str, str, str], int]:
        found = {(*pair, fault): count for fault, pairs in self.counts.items() for pair, count in pairs.items()}
        return dict(sorted(found.items()))

    def pairs(self) -> set[Pair]:
        return {pair for pairs in self.counts.values() for pair in pairs}

    def gaps(self, faults: Iterable[str]) -> dict[str, list[Pair]]:
        """By fault: the pairs that occurred in this run but never during that fault."""
        seen = self.pairs()
        return {fault: sorted(seen - self.counts.get(fault, Counter()).keys()) for fault in sorted(faults)}

    def summary(self, faults: Iterable[str]) -> str:
        """One line: the number of pairs, and the faults with the fewest."""
        pairs, gaps = len(self.pairs()), self.gaps(faults)
        least = sorted(gaps, key=lambda fault: (-len(gaps[fault]), fault))[:LEAST]
        shown = ", ".join(f"{fault} {pairs - len(gaps[fault])}" for fault in least)
        met = sum(pairs - len(each) for each in gaps.values())
        return (
            f"{pairs} pairs of state and event occurred; with each of {len(gaps)} faults {met} of {pairs * len(gaps)} "
            f"(least: {shown or 'none'})"
        )
