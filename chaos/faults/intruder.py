"""Something that is no client connects to the port for clients of a broker or name server, and talks nonsense; or a
thousand such connections say nothing, and keep others out if they can."""

from __future__ import annotations

from typing import Any

from pairproof.harness.ports import Effect
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.ports import CanIntrude
from pairproof.harness.schedule import Args


class Intruder:
    """The fault ``intruder``."""

    name = "intruder"
    needs = CanIntrude
    arguments = {
        "node": (*places.NODES, places.NAMES),
        "port": ("main", "fast"),
        "character": ("junk", "silent", "endless", "crowd"),
    }

    def start(self, session: CanIntrude, args: Args) -> Any:
        """Begin."""
        return session.intrude(str(args["node"]), str(args["port"]), str(args["character"]))

    def stop(self, session: CanIntrude, handle: Any) -> Effect:
        """End; what it did."""
        return session.expel(handle)


FAULT = Intruder()
