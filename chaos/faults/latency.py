"""Bytes of one direction arrive ``ms`` later; toxiproxy's ``latency``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Latency:
    """The fault ``latency``."""

    name = "latency"
    needs = CanShapeLink
    arguments = {"link": places.LINKS, "direction": ("up", "down"), "ms": (200, 20, 3_500)}

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        return session.add_toxic(str(args["link"]), str(args["direction"]), "latency", {"latency": int(args["ms"])})

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Latency()
