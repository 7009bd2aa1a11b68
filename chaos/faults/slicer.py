"""Bytes of one direction arrive in pieces of about ``bytes``, ``micros`` apart; toxiproxy's ``slicer``, whose
``size_variation`` is half of that.
"""

from __future__ import annotations

from ...harness.errors import UsageError
from ...harness.rocketmq import topology
from ...harness.trials.fault import ToxicFault
from ...harness.trials.schedule import Args


def _attributes(args: Args) -> dict[str, int]:
    size = int(args["bytes"])
    if size < 1:
        raise UsageError("fault 'slicer': a piece has at least 1 byte; use bytes=1 or more")
    return {"average_size": size, "size_variation": size // 2, "delay": int(args["micros"])}


FAULT = ToxicFault(
    "slicer",
    {"link": (*topology.HA_LINKS, "client-master"), "direction": ("up", "down"), "bytes": (5, 1), "micros": (100,)},
    "slicer",
    _attributes,
)
