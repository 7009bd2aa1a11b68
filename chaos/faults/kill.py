"""kill -9 of a broker; it starts again when the fault ends. Its writes stay in the page cache."""

from ...harness.ports.nodes import CanKill
from ...harness.rocketmq import topology
from ...harness.trials.fault import DownFault

FAULT = DownFault(
    "kill",
    CanKill,
    {"node": (*topology.SLAVES[:1], topology.MASTER, *topology.SLAVES[1:], topology.NAMES, topology.OTHER)},
    CanKill.kill,
)
