"""A broker's process stands still, as under SIGSTOP, until the fault ends; its sockets and its disk live on."""

from ...harness.ports.nodes import CanPause
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault("pause", CanPause, {"node": topology.PROCESSES}, CanPause.pause, CanPause.resume)
