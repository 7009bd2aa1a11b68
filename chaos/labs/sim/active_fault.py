"""An active fault of one machine: its amount, and counts of its effects so far."""

from __future__ import annotations

from collections.abc import Iterable


class ActiveFault:
    """``amount``: ms, for faults with an amount. ``spared``: folders that are not affected, for faults of a disk."""

    __slots__ = ("amount", "effect", "spared")

    def __init__(self, amount: int = 0, spared: tuple[str, ...] = ()) -> None:
        self.amount = amount
        self.spared = spared
        self.effect: dict[str, int] = {}


def count(fault_abilities: Iterable[ActiveFault], what: str, amount: int = 1) -> None:
    """Add to each fault's count of this effect."""
    for each in fault_abilities:
        each.effect[what] = each.effect.get(what, 0) + amount
