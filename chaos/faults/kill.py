"""kill -9 of a broker; it starts again when the fault ends. What it had written stays in the page cache."""

from ...harness.ports.nodes import CanKill
from ...harness.rocketmq import places
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "kill",
    CanKill,
    {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER)},
    CanKill.kill,
)
