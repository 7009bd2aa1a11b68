"""What a fault cost a deployment: the row behind the table "What each deployment loses".

:mod:`pairproof.harness.deployments` counts it and says what the words mean; a row is what engines can sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pairproof.harness import deployments
from pairproof.harness.history import Event


class Price(NamedTuple):
    """The cost of one trial."""

    deployment: str
    mode: str
    """The master's flushDiskType."""
    fault: str
    acknowledged: int
    lost: int
    """0 where that is not known, as the next one."""
    stranded: int
    unaudited: int
    """1 where no final audit lists what the master has."""
    unavailable: int
    """0 where that is not known, as the next one."""
    readable: int
    unread: int
    """1 where nobody read while the fault lasted."""
    tried: int
    accepted: int
    stored: int


def measure(events: Iterable[Event]) -> list[Price]:
    """The row of one trial's events; none where no fault took a broker of the pair away."""
    cost = deployments.measure(events)
    if cost is None:
        return []
    return [
        Price(
            cost.deployment, cost.flush, cost.fault, cost.acknowledged,
            cost.lost or 0, cost.stranded or 0, int(cost.lost is None),
            cost.unavailable or 0, cost.readable or 0, int(cost.readable is None),
            cost.tried, cost.accepted, cost.stored,
        )
    ]  # fmt: skip
