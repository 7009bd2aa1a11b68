"""Bytes of one direction arrive ``ms`` +/- ``jitter`` later, in order; toxiproxy's ``latency`` with ``jitter``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Jitter:
    """The fault ``jitter``."""

    name = "jitter"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "ms": (100,),
        "jitter": (90, 2_000),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        attributes = {"latency": int(args["ms"]), "jitter": int(args["jitter"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "latency", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Jitter()
