"""A node's network cable is pulled, and plugged in again when the fault ends.

Nothing leaves the node or arrives there. Its connections stay, on both sides, and hang; attempts to connect to it are
not answered, and fail when who connects has waited long enough. Plugged in again, TCP goes on where it stood.
"""

from __future__ import annotations

from typing import Any

from ...harness.judging.disturbances import EVERY_LINK
from ...harness.ports import Effect
from ...harness.ports.nodes import CanDisconnect
from ...harness.rocketmq import topology
from ...harness.trials.schedule import Args


class Disconnect:
    """The fault ``disconnect``; ``link`` only says in histories that every link of the node is concerned."""

    name = "disconnect"
    needs = CanDisconnect
    arguments = {"node": topology.PROCESSES, "link": (EVERY_LINK,)}

    def start(self, session: CanDisconnect, args: Args) -> Any:
        return session.disconnect(str(args["node"]))

    def stop(self, session: CanDisconnect, handle: Any) -> Effect:
        return session.reconnect(handle)


FAULT = Disconnect()
