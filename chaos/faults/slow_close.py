"""That a connection ended is heard ``ms`` late in one direction; toxiproxy's ``slow_close``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class SlowClose:
    """The fault ``slow_close``."""

    name = "slow_close"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "ms": (3_500,),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        attributes = {"delay": int(args["ms"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "slow_close", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = SlowClose()
