"""What ails one machine while a fault lasts: a number that says how much, and counts of what it has done so far."""

from __future__ import annotations

from collections.abc import Iterable


class ActiveFault:
    """One fault's hold on one machine. ``amount``: ms, where the trouble has a size."""

    __slots__ = ("amount", "effect")

    def __init__(self, amount: int = 0) -> None:
        self.amount = amount
        self.effect: dict[str, int] = {}


def count(fault_abilities: Iterable[ActiveFault], what: str, amount: int = 1) -> None:
    """Add to what each of them has done."""
    for each in fault_abilities:
        each.effect[what] = each.effect.get(what, 0) + amount
