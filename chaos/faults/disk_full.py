"""A broker's disk is full until the fault ends; existing log files accept writes.

``files``: those without room. With ``but_log`` the commit log has room, with ``queues`` all but queues and index has.
"""

from typing import Any

from ...harness.errors import Unable
from ...harness.ports.disks import CanFillDisk, CanFillPartly
from ...harness.rocketmq import topology
from ...harness.trials.fault import HeldFault
from ...harness.trials.schedule import Args

ALL = "all"
PARTS = ("but_log", "queues")


class DiskFull(HeldFault):
    def start(self, session: Any, args: Args) -> Any:
        if args["files"] == ALL:
            return session.fill_disk(args["node"])
        if not isinstance(session, CanFillPartly):
            raise Unable("a disk of this lab has room for all files or for none")
        return session.fill_part(str(args["node"]), str(args["files"]))


FAULT = DiskFull(
    "disk_full",
    CanFillDisk,
    {"node": topology.NODES, "files": (ALL, *PARTS)},
    CanFillDisk.fill_disk,
    CanFillDisk.free_disk,
    special=dict.fromkeys(PARTS, CanFillPartly),
)
