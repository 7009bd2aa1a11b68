"""A broker's flushes do not end until the fault does."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.disks import CanStallDisk
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class DiskStall:
    """The fault ``disk_stall``."""

    name = "disk_stall"
    needs = CanStallDisk
    arguments = {"node": places.NODES}

    def start(self, session: CanStallDisk, args: Args) -> Any:
        """Begin."""
        return session.stall_disk(str(args["node"]))

    def stop(self, session: CanStallDisk, handle: Any) -> Effect:
        """End; what it did."""
        return session.resume_disk(handle)


FAULT = DiskStall()
