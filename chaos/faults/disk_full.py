"""A broker's disk has no room for more until the fault ends; log files that are there take writes."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.disks import CanFillDisk
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class DiskFull:
    """The fault ``disk_full``."""

    name = "disk_full"
    needs = CanFillDisk
    arguments = {"node": places.NODES}

    def start(self, session: CanFillDisk, args: Args) -> Any:
        """Begin."""
        return session.fill_disk(str(args["node"]))

    def stop(self, session: CanFillDisk, handle: Any) -> Effect:
        """End; what it did."""
        return session.free_disk(handle)


FAULT = DiskFull()
