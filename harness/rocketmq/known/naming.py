"""What the name server may know of brokers.

It forgets a broker when the connection by which that registered ends, and may do so for any trouble at one of the two
or between them. What a broker registered before such a moment nobody relies on.

Left out: what a registration says, and several name servers. Source: RouteInfoManager. Bounded by the number of nodes.
"""

from __future__ import annotations

from ...event_types.node import Crash, Stop
from ...judging.disturbances import Disturbances
from ..event_types.metadata import Register
from ..topology import NAMES
from .nodes import MACHINE, Nodes


class Naming:
    def __init__(self, nodes: Nodes, disturbances: Disturbances) -> None:
        self._nodes, self._disturbances = nodes, disturbances
        self.registered: dict[str, int] = {}
        """When the name server last answered a broker's present incarnation, or its last one, ns."""
        self.joined: dict[str, int] = {}
        """When it first answered a broker after it may have lost sight of it, ns."""
        self.closed: dict[str, bool] = {}
        """Whether the connection by which it named a broker closed when the broker last went down."""

    # What laws ask.

    def knows(self, node: str) -> bool:
        """Whether both are up, and the broker has registered since the name server may have lost sight of it."""
        is_down = node in self._nodes.down or NAMES in self._nodes.down
        return not is_down and self.registered.get(node, -1) >= self.lost_sight(node)

    def lost_sight(self, node: str) -> int:
        """When the name server may last have lost sight of a broker, ns.

        One of the two was started, or stood still until then, or a fault at the name server or between them ended.
        """
        born, woke = self._nodes.born, self._disturbances.woke.get(node, 0)
        return max(born(node), born(NAMES), woke, self._disturbances.undisturbed_since(NAMES, f"names-{node}"))

    # What the judge reports.

    def started(self, node: str) -> None:
        """It may have been answered at the moment at which it died."""
        self.registered.pop(node, None)

    def ended(self, event: Crash | Stop) -> None:
        """A broker is gone; a machine without power closes nothing, be it in the middle of an orderly stop.

        Nor does a process close what was another's: who has not registered since may be named by an older connection.
        """
        node = event.node
        first = self._nodes.down.get(node)
        own = self.knows(node) if first is None else self.closed[node]
        at_once = first is None or first.t == event.t
        self.closed[node] = own and not (at_once and event.f == MACHINE)

    def register(self, event: Register) -> None:
        if event.status == "ok":
            self.registered[event.node] = event.t
            if self.joined.get(event.node, -1) < self.lost_sight(event.node):
                self.joined[event.node] = event.t
