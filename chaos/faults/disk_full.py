"""A broker's disk has no room for more until the fault ends; log files that are there take writes."""

from ...harness.ports.disks import CanFillDisk
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault("disk_full", CanFillDisk, {"node": topology.NODES}, CanFillDisk.fill_disk, CanFillDisk.free_disk)
