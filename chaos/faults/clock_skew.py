"""A broker's wall clock is an hour ahead or behind until the fault ends; intervals are measured as before."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanSkewClock
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class ClockSkew:
    """The fault ``clock_skew``."""

    name = "clock_skew"
    needs = CanSkewClock
    arguments = {"node": places.NODES, "ms": (3_600_000, -3_600_000)}

    def start(self, session: CanSkewClock, args: Args) -> Any:
        """Begin."""
        return session.skew_clock(str(args["node"]), int(args["ms"]))

    def stop(self, session: CanSkewClock, handle: Any) -> Effect:
        """End; what it did."""
        return session.correct_clock(handle)


FAULT = ClockSkew()
