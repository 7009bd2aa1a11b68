"""One direction carries ``rate`` KB/s (0: nothing, as ``stall``); toxiproxy's ``bandwidth``."""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "bandwidth",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "rate": (1, 20)},
    "bandwidth",
    lambda args: {"rate": int(args["rate"])},
)
