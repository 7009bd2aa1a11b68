"""Bytes of one direction arrive ``ms`` later; toxiproxy's ``latency``."""

from pairproof.harness.fault import ToxicFault
from pairproof.harness.rocketmq import places

FAULT = ToxicFault(
    "latency",
    {"link": places.LINKS, "direction": ("up", "down"), "ms": (200, 20, 3_500)},
    "latency",
    lambda args: {"latency": int(args["ms"])},
)
