"""One direction carries ``rate`` KB/s (0: nothing, as ``stall``); toxiproxy's ``bandwidth``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Bandwidth:
    """The fault ``bandwidth``."""

    name = "bandwidth"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "rate": (1, 20),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        attributes = {"rate": int(args["rate"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "bandwidth", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Bandwidth()
