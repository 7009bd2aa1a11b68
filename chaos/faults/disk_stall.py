"""A broker's flushes do not end until the fault does."""

from pairproof.harness.fault import HeldFault
from pairproof.harness.ports.disks import CanStallDisk
from pairproof.harness.rocketmq import places

FAULT = HeldFault("disk_stall", CanStallDisk, {"node": places.NODES}, CanStallDisk.stall_disk, CanStallDisk.resume_disk)
