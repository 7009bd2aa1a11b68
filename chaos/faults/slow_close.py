"""The end of a connection arrives ``ms`` late in one direction; toxiproxy's ``slow_close``."""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "slow_close",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "ms": (3_500,)},
    "slow_close",
    lambda args: {"delay": int(args["ms"])},
)
