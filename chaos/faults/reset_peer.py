"""The first bytes of one direction of a connection are lost, and ``ms`` later it ends: with RST if it began during the
fault, else with FIN; toxiproxy's ``reset_peer``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class ResetPeer:
    """The fault ``reset_peer``."""

    name = "reset_peer"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "ms": (0, 300),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        attributes = {"timeout": int(args["ms"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "reset_peer", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = ResetPeer()
