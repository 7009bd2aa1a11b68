"""A broker's disk takes no more writes, and the broker ends when it finds out; its machine is rebooted at the end."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.disks import CanTurnReadOnly
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class ReadOnly:
    """The fault ``read_only``."""

    name = "read_only"
    needs = CanTurnReadOnly
    arguments = {"node": places.NODES}

    def start(self, session: CanTurnReadOnly, args: Args) -> Any:
        """Begin."""
        return session.turn_read_only(str(args["node"]))

    def stop(self, session: CanTurnReadOnly, handle: Any) -> Effect:
        """End; what it did."""
        return session.turn_writable(handle)


FAULT = ReadOnly()
