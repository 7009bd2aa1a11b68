"""The brokers that the name server may know.

It forgets a broker when the broker's registering connection ends, which may happen at any disturbance of the two or
between them. Earlier registrations are not relied on.

Two brokers of one name and id are *rivals*: the registration of one takes the other's place in the routes, and an
orderly end of either empties the place. So a broker's own registration is relied on only after its rival has ended.

Left out: the content of a registration, and several name servers. Source: RouteInfoManager (registerBroker,
unregisterBroker). Bounded by the number of nodes.
"""

from __future__ import annotations

from ...event_types.node import Crash, Stop
from ...history import MS
from ...judging.disturbances import Disturbances
from ..event_types.metadata import Register
from ..settings import Settings
from ..topology import NAMES
from .nodes import MACHINE, Nodes

ARRIVED_NS = 1_000 * MS
"""After this time on a healthy link nothing is in flight."""
FOREVER = 1 << 62


class Naming:
    def __init__(self, nodes: Nodes, disturbances: Disturbances) -> None:
        self._nodes, self._disturbances = nodes, disturbances
        self.places: dict[str, tuple[str, int]] = {}
        """By broker: its name and id, if its settings have both."""
        self.registered: dict[str, int] = {}
        """The last answer of the name server to a broker's current or last incarnation, ns."""
        self.joined: dict[str, int] = {}
        """Its first answer to a broker after it may have lost it, ns."""
        self.closed: dict[str, bool] = {}
        """Whether a broker's registering connection closed when the broker last ended."""

    def configured(self, node: str, settings: Settings) -> None:
        name = settings.get("brokerName")
        if settings.get("namesrvAddr") and name is not None:
            self.places[node] = str(name), int(settings.get("brokerId", 0))

    def rivals(self, node: str) -> list[str]:
        """Other brokers with its name and id."""
        place = self.places.get(node)
        return [other for other, its in self.places.items() if its == place and other != node]

    def replaced(self, node: str) -> int:
        """Until when a rival may have had its place or emptied it, ns; 0: never. A registration may be in flight when
        its sender ends.
        """
        until = [0]
        for rival in self.rivals(node):
            if rival in self._nodes.down:
                until.append(self._nodes.ended_at[rival] + ARRIVED_NS)
                until.append(self._disturbances.undisturbed_since(f"names-{rival}") + ARRIVED_NS)
            elif rival in self._nodes.started_at:
                return FOREVER
        return max(until)

    def knows(self, node: str) -> bool:
        """Whether both are up, and the broker has registered since the name server may have lost it."""
        is_down = node in self._nodes.down or NAMES in self._nodes.down
        return not is_down and self.registered.get(node, -1) >= self.lost_sight(node)

    def lost_sight(self, node: str) -> int:
        """When the name server may last have lost a broker, ns: the last start of one of the two, end of a pause, or
        end of a fault at the name server or between them.
        """
        started, woke = self._nodes.last_start, self._disturbances.woke.get(node, 0)
        lost = max(started(node), started(NAMES), woke, self._disturbances.undisturbed_since(NAMES, f"names-{node}"))
        return max(lost, self.replaced(node))

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
