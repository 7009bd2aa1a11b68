"""After ``bytes`` more bytes in one direction a connection closes, byte-exactly, new ones likewise; toxiproxy's
``limit_data``.
"""

from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault

FAULT = ToxicFault(
    "limit_data",
    {"link": topology.LINKS, "direction": ("down", "up"), "bytes": (7, 0, 12, 200)},
    "limit_data",
    lambda args: {"bytes": int(args["bytes"])},
)
