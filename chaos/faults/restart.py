"""A broker is stopped in an orderly way, as SIGTERM does; it starts again when the fault ends."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanStop
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Restart:
    """The fault ``restart``."""

    name = "restart"
    needs = CanStop
    arguments = {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER)}

    def start(self, session: CanStop, args: Args) -> Any:
        """Begin."""
        node = str(args["node"])
        return node, session.stop(node)

    def stop(self, session: CanStop, handle: Any) -> Effect:
        """End; what it did."""
        node, effect = handle
        session.restart(node)
        return dict(effect)


FAULT = Restart()
