"""A broker's flushes do not end until the fault does."""

from ...harness.ports.disks import CanStallDisk
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "disk_stall", CanStallDisk, {"node": topology.NODES}, CanStallDisk.stall_disk, CanStallDisk.resume_disk
)
