"""The HA link leads to a rogue master: frames at the wrong offset (``misplaced``), or ``junk``."""

from ...harness.rocketmq.ports import CanImpersonateMaster
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "rogue_master",
    CanImpersonateMaster,
    {"character": ("misplaced", "junk")},
    CanImpersonateMaster.take_place,
    CanImpersonateMaster.give_back,
)
