"""Each flush of a broker takes longer, as on a busy disk (20 ms) or a failing one (1.5 s); see CanSlowDisk."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.disks import CanSlowDisk
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class SlowDisk:
    """The fault ``slow_disk``."""

    name = "slow_disk"
    needs = CanSlowDisk
    arguments = {"node": places.NODES, "ms": (20, 1_500)}

    def start(self, session: CanSlowDisk, args: Args) -> Any:
        """Begin."""
        return session.slow_disk(str(args["node"]), int(args["ms"]))

    def stop(self, session: CanSlowDisk, handle: Any) -> Effect:
        """End; what it did."""
        return session.restore_disk(handle)


FAULT = SlowDisk()
