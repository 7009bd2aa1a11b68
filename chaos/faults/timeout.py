"""Bytes of one direction are lost, and the connection closes when none arrived for ``ms`` (0: never) or when the fault
ends; toxiproxy's ``timeout``.
"""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "timeout",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "ms": (0, 500)},
    "timeout",
    lambda args: {"timeout": int(args["ms"])},
)
