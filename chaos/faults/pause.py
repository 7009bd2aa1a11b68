"""A broker's process is paused, as by SIGSTOP, until the fault ends; its sockets and its disk continue."""

from ...harness.ports.nodes import CanPause
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault

FAULT = HeldFault("pause", CanPause, {"node": topology.PROCESSES}, CanPause.pause, CanPause.resume)
