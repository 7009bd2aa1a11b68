"""A broker's queues and index lag behind its log until the fault ends."""

from ...harness.rocketmq import topology
from ...harness.rocketmq.ports import CanStallDispatch
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "dispatch_stall",
    CanStallDispatch,
    {"node": topology.NODES},
    CanStallDispatch.stall_dispatch,
    CanStallDispatch.resume_dispatch,
)
