"""That a connection ended is heard ``ms`` late in one direction; toxiproxy's ``slow_close``."""

from ...harness.rocketmq import places
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "slow_close",
    {"link": (*places.HA_LINKS, "client-master"), "direction": ("up", "down"), "ms": (3_500,)},
    "slow_close",
    lambda args: {"delay": int(args["ms"])},
)
