"""A broker is stopped in an orderly way, as SIGTERM does; it starts again when the fault ends."""

from ...harness.ports.nodes import CanStop
from ...harness.rocketmq import places
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "restart",
    CanStop,
    {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER)},
    CanStop.stop,
)
