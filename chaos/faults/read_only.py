"""A broker's disk refuses writes, as a file system does after an error; its machine is rebooted at the end."""

from ...harness.ports.disks import CanTurnReadOnly
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "read_only",
    CanTurnReadOnly,
    {"node": topology.NODES},
    CanTurnReadOnly.turn_read_only,
    CanTurnReadOnly.turn_writable,
)
