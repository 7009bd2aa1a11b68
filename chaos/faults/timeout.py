"""Bytes of one direction are lost, and the connection closes when none has come for ``ms`` (0: never) or when the fault
ends; toxiproxy's ``timeout``."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.links import CanShapeLink
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Timeout:
    """The fault ``timeout``."""

    name = "timeout"
    needs = CanShapeLink
    arguments = {
        "link": (*places.HA_LINKS, "client-master"),
        "direction": ("up", "down"),
        "ms": (0, 500),
    }

    def start(self, session: CanShapeLink, args: Args) -> Any:
        """Begin."""
        attributes = {"timeout": int(args["ms"])}
        return session.add_toxic(str(args["link"]), str(args["direction"]), "timeout", attributes)

    def stop(self, session: CanShapeLink, handle: Any) -> Effect:
        """End; what it did."""
        return session.remove_toxic(handle)


FAULT = Timeout()
