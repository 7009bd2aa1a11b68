"""A broker is stopped in an orderly way, as SIGTERM does; it starts again when the fault ends."""

from ...harness.ports.nodes import CanStop
from ...harness.rocketmq import topology
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "restart",
    CanStop,
    {"node": (*topology.SLAVES[:1], topology.MASTER, *topology.SLAVES[1:], topology.NAMES, topology.OTHER)},
    CanStop.stop,
)
