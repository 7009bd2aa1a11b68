"""A broker's process stands still, as under SIGSTOP, until the fault ends; its sockets and its disk live on."""

from pairproof.harness.ports.nodes import CanPause
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import HeldFault

FAULT = HeldFault("pause", CanPause, {"node": places.PROCESSES}, CanPause.pause, CanPause.resume)
