"""The master is lost, and an operator makes a slave the master; the lost one comes back as that slave at the end.

Its store is emptied first, as one has to, or comes back as it was (``stale``), as happens.
"""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.ports.nodes import CanPromote
from pairproof.harness.rocketmq import places
from pairproof.harness.schedule import Args


class Promotion:
    """The fault ``promotion``."""

    name = "promotion"
    needs = CanPromote
    arguments = {"node": places.SLAVES, "rejoin": ("wiped", "stale")}

    def start(self, session: CanPromote, args: Args) -> Any:
        """Begin."""
        return session.promote(str(args["node"]), str(args["rejoin"]))

    def stop(self, session: CanPromote, handle: Any) -> Effect:
        """End; what it did."""
        return session.take_back(handle)


FAULT = Promotion()
