"""A broker's disk calls durable what it only caches, until the fault ends. It shows when the machine loses power."""

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
