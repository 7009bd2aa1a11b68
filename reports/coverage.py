"""What the page of coverage shows: which protocol states met which events under which faults, and which never did.

Left out: which of the empty cells are possible at all; the table of the protocol knows, this page does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, log10
from typing import Any, NamedTuple

Row = dict[str, Any]

LEVELS = 5
NONE = "none"


class Grid(NamedTuple):
    """Rows are (state, event), columns faults; ``cells`` holds those that were seen, by (state, event, fault)."""

    faults: list[str]
    pairs: list[tuple[str, str]]
    cells: dict[tuple[str, str, str], int]
    levels: dict[tuple[str, str, str], int]
    """How dark a cell is, 1 to LEVELS, by the logarithm of its count."""

    @property
    def unseen_pairs(self) -> int:
        """Pairs of state and event that no trial saw, under any fault."""
        return sum(1 for pair in self.pairs if not any((*pair, fault) in self.cells for fault in self.faults))

    @property
    def empty(self) -> int:
        """Cells that no trial filled."""
        return len(self.pairs) * len(self.faults) - len(self.cells)

    @property
    def sentence(self) -> str:
        """What is missing, in words."""
        pairs, size = len(self.pairs), len(self.pairs) * len(self.faults)
        unseen = self.unseen_pairs
        seen = f"Of {pairs:,} pairs of state and event {unseen:,} {_were(unseen)} never seen"
        if not unseen:
            seen = f"All {pairs:,} pairs of state and event were seen"
        return (
            f"{seen}; of {size:,} combinations of such a pair with a fault, or with none, {self.empty:,} "
            f"{_were(self.empty)} never seen."
        )


def grid(rows: Iterable[Row]) -> Grid:
    """The grid of table ``coverage``; rows with a count of 0 name pairs that could have been seen."""
    found = list(rows)
    cells = {(row["state"], row["event"], row["fault"]): row["count"] for row in found if row["count"]}
    faults = sorted({row["fault"] for row in found}, key=lambda fault: (fault != NONE, fault))
    pairs = sorted({(row["state"], row["event"]) for row in found})
    most = log10(1 + max(cells.values(), default=1))
    levels = {key: max(1, ceil(LEVELS * log10(1 + count) / most)) for key, count in cells.items()}
    return Grid(faults, pairs, cells, levels)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
