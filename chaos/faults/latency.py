"""Bytes of one direction arrive ``ms`` later; toxiproxy's ``latency``."""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "latency",
    {"link": topology.LINKS, "direction": ("up", "down"), "ms": (200, 20, 3_500)},
    "latency",
    lambda args: {"latency": int(args["ms"])},
)
