"""The page of coverage: the states that met each event under each fault, and the combinations never seen.

Left out: which empty cells are possible at all.
"""

from collections.abc import Iterable
from math import ceil, log10
from typing import NamedTuple

from ..harness.exploration.coverage_table import NO_FAULT
from ..harness.rocketmq.coverage import AT, STATES
from ..harness.rocketmq.coverage_cluster import READERS, TABLES
from ..harness.runs.schema import Row

LEVELS = 5
FAMILIES = (
    ("HA connections", STATES),
    ("Consumers, in trials with a name server", READERS),
    ("Slaves' topics and groups, in trials with a name server", TABLES),
)
PLACES = tuple(dict.fromkeys(AT.values()))


class Grid(NamedTuple):
    """Rows are (state, event), columns faults; ``cells`` holds the combinations seen, by (state, event, fault)."""

    faults: list[str]
    pairs: list[tuple[str, str]]
    cells: dict[tuple[str, str, str], int]
    levels: dict[tuple[str, str, str], int]
    """A cell's shade, 1 to LEVELS, by the logarithm of its count."""

    @property
    def sections(self) -> list[tuple[str, list[tuple[str, str]]]]:
        known = [(title, [pair for pair in self.pairs if pair[0] in states]) for title, states in FAMILIES]
        rest = [pair for pair in self.pairs if not any(pair in pairs for _, pairs in known)]
        return [(title, pairs) for title, pairs in (*known, ("Others", rest)) if pairs]

    @property
    def empty(self) -> int:
        return len(self.pairs) * len(self.faults) - len(self.cells)

    @property
    def sentence(self) -> str:
        pairs, size = len(self.pairs), len(self.pairs) * len(self.faults)
        return (
            f"{pairs:,} pairs of state and event occurred; of {size:,} combinations of such a pair with a fault, or "
            f"with none, {self.empty:,} {'was' if self.empty == 1 else 'were'} never seen. "
            "Whether other pairs could occur is unknown."
        )


def grid(rows: Iterable[Row]) -> Grid:
    """The grid of table ``coverage``, whose rows are combinations that occurred."""
    found = [row for row in rows if row["count"]]
    cells = {(row["state"], row["event"], row["fault"]): row["count"] for row in found}
    faults = sorted({row["fault"] for row in found}, key=lambda fault: (fault != NO_FAULT, fault in PLACES, fault))
    pairs = sorted({(row["state"], row["event"]) for row in found}, key=_order)
    most = log10(1 + max(cells.values(), default=1))
    levels = {key: max(1, ceil(LEVELS * log10(1 + count) / most)) for key, count in cells.items()}
    return Grid(faults, pairs, cells, levels)


def _order(pair: tuple[str, str]) -> tuple[int, str, str]:
    states = [state for _, states in FAMILIES for state in states]
    return (states.index(pair[0]) if pair[0] in states else len(states), *pair)
