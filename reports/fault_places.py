"""What the page of faults shows of places: how often each fault was tried at each node and link, and took effect.

Left out: which faults a place can have at all; the catalogue of faults knows.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..harness.rocketmq import topology

Row = dict[str, Any]

KINDS = (
    ("Brokers of the pair", topology.NODES),
    ("Replication", topology.HA_LINKS),
    ("Clients' links", topology.CLIENT_LINKS),
    ("Name server, and links to it", (topology.NAMES, topology.NAMES_CLIENT, *topology.NAMES_LINKS)),
    ("Slaves' metadata sync", (*topology.META_LINKS, *topology.FAST_LINKS)),
    ("Another broker name", (topology.OTHER, *topology.OTHERS_LINKS)),
)
"""What places are of, and those places in order."""

OF_MORE_SLAVES = frozenset((
    *topology.SLAVES[1:], *topology.HA_LINKS[1:], *topology.CLIENT_LINKS[2:], *topology.NAMES_LINKS[2:],
    *topology.META_LINKS[1:], *topology.FAST_LINKS[1:],
))  # fmt: skip
"""Places that only trials with several slaves have: nobody need miss them."""


class Cell(NamedTuple):
    """How often a fault was at a place, and how often it did something there."""

    uses: int
    bit: int


class Grid(NamedTuple):
    """Rows are places, columns faults."""

    faults: list[str]
    sections: list[tuple[str, list[str]]]
    """What places are of, and the places where a fault was."""
    cells: dict[tuple[str, str], Cell]
    untried: list[str]
    """Places where no fault was, of those that trials with one slave may have."""
    unhurt: list[str]
    """Places where no fault took effect."""


def grid(rows: Iterable[Row]) -> Grid:
    """The grid of table ``places``, over all labs."""
    cells: dict[tuple[str, str], Cell] = {}
    for row in rows:
        if row["place"]:
            before = cells.get((row["place"], row["name"]), Cell(0, 0))
            cells[row["place"], row["name"]] = Cell(before.uses + row["uses"], before.bit + row["bit"])
    seen = {place for place, _ in cells}
    bitten = {place for (place, _), cell in cells.items() if cell.bit}
    sections = [(title, [place for place in known if place in seen]) for title, known in KINDS]
    ordered = [place for _, known in KINDS for place in known]
    strange = sorted(seen - {*ordered})
    return Grid(
        sorted({fault for _, fault in cells}),
        [(title, found) for title, found in (*sections, ("Others", strange)) if found],
        cells,
        [place for place in ordered if place not in seen and place not in OF_MORE_SLAVES],
        [place for place in (*ordered, *strange) if place in seen and place not in bitten],
    )
