"""A broker's wall clock is an hour ahead or behind until the fault ends; intervals are unaffected."""

from ...harness.ports.nodes import CanSkewClock
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "clock_skew",
    CanSkewClock,
    {"node": topology.NODES, "ms": (3_600_000, -3_600_000)},
    CanSkewClock.skew_clock,
    CanSkewClock.correct_clock,
)
