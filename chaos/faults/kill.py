"""kill -9 of a broker; it starts again when the fault ends. What it had written stays in the page cache."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanKill
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Kill:
    """The fault ``kill``."""

    name = "kill"
    needs = CanKill
    arguments = {"node": (*places.SLAVES[:1], places.MASTER, *places.SLAVES[1:], places.NAMES, places.OTHER)}

    def start(self, session: CanKill, args: Args) -> Any:
        """Begin."""
        node = str(args["node"])
        return node, session.kill(node)

    def stop(self, session: CanKill, handle: Any) -> Effect:
        """End; what it did."""
        node, effect = handle
        session.restart(node)
        return dict(effect)


FAULT = Kill()
