"""A broker is killed and loses its whole store; it starts again, with nothing, when the fault ends."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanReplaceStore
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Wipe:
    """The fault ``wipe``."""

    name = "wipe"
    needs = CanReplaceStore
    arguments = {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:])}

    def start(self, session: CanReplaceStore, args: Args) -> Any:
        """Begin."""
        node = str(args["node"])
        return node, session.wipe_store(node)

    def stop(self, session: CanReplaceStore, handle: Any) -> Effect:
        """End; what it did."""
        node, effect = handle
        session.restart(node)
        return dict(effect)


FAULT = Wipe()
