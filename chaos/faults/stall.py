"""Bytes of one direction are held, none is lost, and go on when it ends; toxiproxy's ``bandwidth`` at rate 0.

The end of a connection is held only behind bytes: where nothing waits, it passes.
"""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Stall:
    """The fault ``stall``."""

    name = "stall"
    needs = CanShapeLink
    arguments = {"link": places.LINKS, "direction": ("up", "down")}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        return session.add_toxic(str(args["link"]), str(args["direction"]), "bandwidth", {"rate": 0})

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Stall()
