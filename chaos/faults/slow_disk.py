"""Each flush of a broker takes longer, as on a busy disk (20 ms) or a failing one (1.5 s)."""

from ...harness.ports.disks import CanSlowDisk
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "slow_disk",
    CanSlowDisk,
    {"node": topology.NODES, "ms": (20, 1_500)},
    CanSlowDisk.slow_disk,
    CanSlowDisk.restore_disk,
)
