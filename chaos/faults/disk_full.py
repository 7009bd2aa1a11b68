"""A broker's disk is full until the fault ends; existing log files accept writes."""

from ...harness.ports.disks import CanFillDisk
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault("disk_full", CanFillDisk, {"node": topology.NODES}, CanFillDisk.fill_disk, CanFillDisk.free_disk)
