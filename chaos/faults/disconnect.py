"""A node's network cable is pulled, and plugged in again when the fault ends.

No bytes leave the node or arrive there. Its connections stay open on both sides, and hang; connects to it get no
answer, and fail when they time out. After the fault TCP continues.
"""

from __future__ import annotations

from typing import Any

from ...harness.judging.disturbances import EVERY_LINK
from ...harness.ports import Effect
from ...harness.ports.nodes import CanDisconnect
from ...harness.rocketmq import topology
from ...harness.trials.schedule import Args


class Disconnect:
    """The fault ``disconnect``; in histories ``link`` shows that every link of the node is affected."""

    name = "disconnect"
    needs = CanDisconnect
    arguments = {"node": topology.PROCESSES, "link": (EVERY_LINK,)}

    def start(self, session: CanDisconnect, args: Args) -> Any:
        return session.disconnect(str(args["node"]))

    def stop(self, session: CanDisconnect, handle: Any) -> Effect:
        return session.reconnect(handle)


FAULT = Disconnect()
