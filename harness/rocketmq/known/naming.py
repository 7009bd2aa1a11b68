"""The brokers that the name server may know.

It forgets a broker when the broker's registering connection ends, which may happen at any disturbance of the two or
between them. Earlier registrations are not relied on.

Left out: the content of a registration, and several name servers. Source: RouteInfoManager. Bounded by the number of
nodes.
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
        """The last answer of the name server to a broker's current or last incarnation, ns."""
        self.joined: dict[str, int] = {}
        """Its first answer to a broker after it may have lost it, ns."""
        self.closed: dict[str, bool] = {}
        """Whether a broker's registering connection closed when the broker last ended."""

    def knows(self, node: str) -> bool:
        """Whether both are up, and the broker has registered since the name server may have lost it."""
        is_down = node in self._nodes.down or NAMES in self._nodes.down
        return not is_down and self.registered.get(node, -1) >= self.lost_sight(node)

    def lost_sight(self, node: str) -> int:
        """When the name server may last have lost a broker, ns: the last start of one of the two, end of a pause, or
        end of a fault at the name server or between them.
        """
        started, woke = self._nodes.last_start, self._disturbances.woke.get(node, 0)
        return max(started(node), started(NAMES), woke, self._disturbances.undisturbed_since(NAMES, f"names-{node}"))

    def started(self, node: str) -> None:
        """It may have been answered at the moment of its end."""
        self.registered.pop(node, None)

    def ended(self, event: Crash | Stop) -> None:
        """A broker ended. A machine without power closes nothing, even during an orderly stop. A process does not close
        another one's connections: a broker that has not registered since may be known by an older connection.
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
