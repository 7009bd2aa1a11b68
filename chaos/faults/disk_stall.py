"""A broker's flushes do not end until the fault does."""

from pairproof.harness.ports.disks import CanStallDisk
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import HeldFault

FAULT = HeldFault("disk_stall", CanStallDisk, {"node": places.NODES}, CanStallDisk.stall_disk, CanStallDisk.resume_disk)
