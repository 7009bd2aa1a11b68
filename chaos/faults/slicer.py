"""Bytes of one direction arrive in pieces of about ``bytes``, ``micros`` apart; toxiproxy's ``slicer``, whose
``size_variation`` is half of that."""

from __future__ import annotations

from typing import Any

from pairproof.harness.errors import UsageError
from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Slicer:
    """The fault ``slicer``."""

    name = "slicer"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "bytes": (5, 1),
        "micros": (100,),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin; UsageError for pieces of no size."""
        size = int(args["bytes"])
        if size < 1:
            raise UsageError("fault 'slicer': a piece has at least 1 byte; say bytes=1 or more")
        attributes = {"average_size": size, "size_variation": size // 2, "delay": int(args["micros"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "slicer", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Slicer()
