"""A broker is stopped in an orderly way, as SIGTERM does; it starts again when the fault ends."""

from pairproof.harness.ports.nodes import CanStop
from pairproof.harness.rocketmq import places
from pairproof.harness.trials.fault import DownFault

FAULT = DownFault(
    "restart",
    CanStop,
    {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER)},
    CanStop.stop,
)
