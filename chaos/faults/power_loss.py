"""A broker's machine loses power: unflushed bytes are lost or torn, peers are not notified; it restarts at the end."""

from ...harness.ports.nodes import CanCrashMachine, CanScatter, CanTear
from ...harness.rocketmq import topology
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "power_loss",
    CanCrashMachine,
    {"node": topology.NODES, "keep": ("none", "half", "hole", "some", "derived", "all")},
    CanCrashMachine.crash_machine,
    special={"half": CanTear, "hole": CanTear, "some": CanScatter, "derived": CanScatter},
)
