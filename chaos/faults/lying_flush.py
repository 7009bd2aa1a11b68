"""A broker's disk calls durable what it only caches, until the fault ends. It shows when the machine loses power."""

from pairproof.harness.ports.disks import CanLieAboutFlushes
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import HeldFault

FAULT = HeldFault(
    "lying_flush",
    CanLieAboutFlushes,
    {"node": places.NODES},
    CanLieAboutFlushes.lie_about_flushes,
    CanLieAboutFlushes.flush_honestly,
)
