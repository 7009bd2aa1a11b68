"""A broker's disk reports cached bytes as durable until the fault ends. This shows when the machine loses power."""

from ...harness.ports.disks import CanLieAboutFlushes
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "lying_flush",
    CanLieAboutFlushes,
    {"node": topology.NODES},
    CanLieAboutFlushes.lie_about_flushes,
    CanLieAboutFlushes.flush_honestly,
)
