"""Bytes of one direction are held until the fault ends, without loss; toxiproxy's ``bandwidth`` at rate 0.

The end of a connection is held only behind bytes: without any, it passes.
"""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "stall", {"link": topology.LINKS, "direction": ("up", "down")}, "bandwidth", lambda args: {"rate": 0}
)
