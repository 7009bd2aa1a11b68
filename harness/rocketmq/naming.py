"""Names of nodes, faults and log ranges in sentences, for autopsies and reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..history import Event
from . import topology

_CALLED = {topology.NAMES: "the name server", topology.OTHER: "the other broker name's master"}


def the(node: str | None) -> str:
    """A node in a sentence: the master, the slave, slave2, the name server."""
    name = node or "an unknown node"
    return _CALLED.get(name) or (name if name[-1:].isdigit() or " " in name else f"the {name}")


def all_of(nodes: Sequence[str]) -> str:
    """Nodes in a sentence, with commas and an "and"."""
    *first, last = map(the, nodes) if nodes else ("",)
    return f"{', '.join(first)} and {last}" if first else last


def named(faults: Iterable[Event]) -> str:
    """Faults by their events, each with its node or link."""
    return ", ".join(f"{each.f} ({where})" if (where := each.node or each.link) else str(each.f) for each in faults)


def span(lo: int | None, hi: int | None) -> str:
    """A range of bytes of the log, without the second offset."""
    return "an unknown place" if lo is None or hi is None else f"[{lo:,}, {hi:,})"


def ms(t: int) -> str:
    """A time in ms, with all its digits."""
    return f"{t / 1e6:,.3f}".rstrip("0").rstrip(".") + " ms"
