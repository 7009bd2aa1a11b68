"""A rogue client connects to a client port of a broker or name server and sends garbage; or a thousand such connections
send nothing, and exclude others if they can.
"""

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
