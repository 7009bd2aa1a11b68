"""Something that is not a client connects to the port for clients of a broker or name server, and talks nonsense; or a
thousand such connections say nothing, and keep others out if they can."""

from ...harness.rocketmq import topology
from ...harness.rocketmq.ports import CanIntrude
from ...harness.trials.fault import HeldFault

FAULT = HeldFault(
    "rogue_client",
    CanIntrude,
    {
        "node": (*topology.NODES, topology.NAMES),
        "port": ("main", "fast"),
        "character": ("junk", "silent", "endless", "crowd"),
    },
    CanIntrude.intrude,
    CanIntrude.expel,
)
