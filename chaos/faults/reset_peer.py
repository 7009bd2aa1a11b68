"""The first bytes of one direction of a connection are lost, and ``ms`` later it ends: with RST if it began during the
fault, else with FIN; toxiproxy's ``reset_peer``."""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "reset_peer",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "ms": (0, 300)},
    "reset_peer",
    lambda args: {"timeout": int(args["ms"])},
)
