"""Bytes of one direction arrive ``ms`` +/- ``jitter`` later, in order; toxiproxy's ``latency`` with ``jitter``."""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "jitter",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "ms": (100,), "jitter": (90, 2_000)},
    "latency",
    lambda args: {"latency": int(args["ms"]), "jitter": int(args["jitter"])},
)
