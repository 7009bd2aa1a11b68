"""The page of faults by node and link: how often each fault was tried there, and took effect.

Left out: which nodes and links a fault supports; see the catalogue of faults.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..harness.rocketmq import topology
from ..harness.runs.schema import Row

KINDS = (
    ("Brokers of the pair", topology.NODES),
    ("Replication", topology.HA_LINKS),
    ("Clients' links", topology.CLIENT_LINKS),
    ("Name server, and links to it", (topology.NAMES, topology.NAMES_CLIENT, *topology.NAMES_LINKS)),
    ("Slaves' metadata sync", (*topology.META_LINKS, *topology.FAST_LINKS)),
    ("Another broker name", (topology.OTHER, *topology.OTHERS_LINKS)),
)

OF_MORE_SLAVES = frozenset((
    *topology.SLAVES[1:], *topology.HA_LINKS[1:], *topology.CLIENT_LINKS[2:], *topology.NAMES_LINKS[2:],
    *topology.META_LINKS[1:], *topology.FAST_LINKS[1:],
))  # fmt: skip
"""Targets in trials with several slaves only: not listed as untried."""


class Cell(NamedTuple):
    uses: int
    bit: int


class Grid(NamedTuple):
    faults: list[str]
    sections: list[tuple[str, list[str]]]
    """Titles, and the targets with a fault."""
    cells: dict[tuple[str, str], Cell]
    untried: list[str]
    """Targets without a fault, of those that trials with one slave may have."""
    unhurt: list[str]
    """Targets where no fault took effect."""


def grid(rows: Iterable[Row]) -> Grid:
    """The grid of table ``places``, over all labs."""
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        if row["place"]:
            before = cells.get((row["place"], row["name"]), Cell(0, 0))
            cells[row["place"], row["name"]] = Cell(before.uses + row["uses"], before.bit + row["bit"])
    seen = {target for target, _ in cells}
    bitten = {target for (target, _), cell in cells.items() if cell.bit}
    sections = [(title, [target for target in known if target in seen]) for title, known in KINDS]
    ordered = [target for _, known in KINDS for target in known]
    strange = sorted(seen - {*ordered})
    return Grid(
        sorted({fault for _, fault in cells}),
        [(title, found) for title, found in (*sections, ("Others", strange)) if found],
        cells,
        [target for target in ordered if target not in seen and target not in OF_MORE_SLAVES],
        [target for target in (*ordered, *strange) if target in seen and target not in bitten],
    )
