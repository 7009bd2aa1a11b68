"""A broker's disk refuses writes, as a file system does after an error; its machine is rebooted at the end."""

from pairproof.harness.ports.disks import CanTurnReadOnly
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import HeldFault

FAULT = HeldFault(
    "read_only", CanTurnReadOnly, {"node": places.NODES}, CanTurnReadOnly.turn_read_only, CanTurnReadOnly.turn_writable
)
