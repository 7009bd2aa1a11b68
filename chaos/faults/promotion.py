"""The master is lost, and an operator makes a slave the master; the lost one returns as that slave at the end.

Its store is emptied first, as recommended, or unchanged (``stale``), as happens.
"""

from ...harness.ports.nodes import CanPromote
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "promotion",
    CanPromote,
    {"node": topology.SLAVES, "rejoin": ("wiped", "stale")},
    CanPromote.promote,
    CanPromote.take_back,
)
