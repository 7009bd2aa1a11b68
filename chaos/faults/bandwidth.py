"""One direction carries ``rate`` KB/s (0: nothing, as ``stall``); toxiproxy's ``bandwidth``."""

from ...harness.rocketmq import places
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "bandwidth",
    {"link": (*places.HA_LINKS, "client-master"), "direction": ("up", "down"), "rate": (1, 20)},
    "bandwidth",
    lambda args: {"rate": int(args["rate"])},
)
