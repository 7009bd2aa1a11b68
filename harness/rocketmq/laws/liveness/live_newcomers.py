"""``live-newcomers``: while a crowd of idle rogue clients holds connections to a client port, a new client is answered.

The fault that brings the crowd also brings newcomers with one request each, and reports at its end how many were
answered and how many were refused or disconnected.

Checks:
- No newcomer was refused or disconnected.
Abstains when:
- Another fault affected the node, or a second crowd came to one of its ports. All ports share the connection limit, so
  a second crowd takes all connections at once. A newcomer with its request in flight then looks like the crowd.
- The node ended or was paused.
- The newcomer still waits when the crowd leaves.
Source: NettyRemotingServer, which refuses nobody; the reference has a limit, see docs/decisions/0010.
"""

import json

from ....event_types.machine import Fault
from ....judging.law import EventFilter
from ....texts.content import payload
from ...law import Law

ROGUE_CLIENT, CROWD = "rogue_client", "crowd"
ANSWERED, REFUSED = "newcomers_answered", "newcomers_refused"


class LiveNewcomers(Law):
    needs = frozenset({"fault", "start"})
    ignored_nodes = frozenset()
    awaits = {"fault": EventFilter(frozenset({ROGUE_CLIENT}))}

    def begin(self) -> None:
        self.alone: dict[int | None, tuple[Fault, int]] = {}
        """Active faults at nodes without another fault since their begin, and the ended incarnations at that time."""

    def on_fault(self, event: Fault) -> None:
        if event.status == "on":
            node, others = event.node or "", self.known.disturbances.active.values()
            alone = all(_ignores(event, each) or node not in self.known.disturbances.affected(each) for each in others)
            self._disturb(self.known.disturbances.affected(event), event)
            if node and alone and not self.known.disturbances.is_unavailable(node):
                self.alone[event.number] = event, self.known.nodes.ended(node)
            return
        found = json.loads(event.detail or "{}")
        answered, refused = found.get(ANSWERED, 0), found.get(REFUSED, 0)
        began, ended = self.alone.pop(event.number, (event, -1))
        if not answered + refused or ended != self.known.nodes.ended(event.node or "") or self._has_paused(began):
            return
        self.judged += answered + refused
        if refused:
            self.violate(event, f"{event.node}: {refused} of {answered + refused} newcomers were not let in")

    def _has_paused(self, began: Fault) -> bool:
        disturbances, node = self.known.disturbances, began.node or ""
        return disturbances.is_unavailable(node) or disturbances.woke.get(node, -1) > began.t

    def _disturb(self, affected: frozenset[str], by: Fault) -> None:
        for number, (each, _) in list(self.alone.items()):
            if each.node in affected and not _ignores(each, by):
                del self.alone[number]


def _ignores(one: Fault, other: Fault) -> bool:
    """Whether a second fault does not change the first one's effect."""
    return one.f == other.f and not is_crowd(other)


def is_crowd(fault: Fault) -> bool:
    """Whether the fault's rogue clients come as a crowd."""
    return bool(payload(fault.detail).get("character") == CROWD)
