"""A broker's queues and index lag behind its log until the fault ends; see CanStallDispatch."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.ports import CanStallDispatch
from pairproof.harness.schedule import Args


class DispatchStall:
    """The fault ``dispatch_stall``."""

    name = "dispatch_stall"
    needs = CanStallDispatch
    arguments = {"node": places.NODES}

    def start(self, session: CanStallDispatch, args: Args) -> Any:
        """Begin."""
        return session.stall_dispatch(str(args["node"]))

    def stop(self, session: CanStallDispatch, handle: Any) -> Effect:
        """End; what it did."""
        return session.resume_dispatch(handle)


FAULT = DispatchStall()
