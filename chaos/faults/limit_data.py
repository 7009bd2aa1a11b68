"""After ``bytes`` more bytes in one direction a connection closes, byte-exactly, new ones likewise; toxiproxy's
``limit_data``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class LimitData:
    """The fault ``limit_data``."""

    name = "limit_data"
    needs = CanShapeLink
    arguments = {
        "link": places.LINKS,
        "direction": ("down", "up"),
        "bytes": (7, 0, 12, 200),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        return session.add_toxic(str(args["link"]), str(args["direction"]), "limit_data", {"bytes": int(args["bytes"])})

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = LimitData()
