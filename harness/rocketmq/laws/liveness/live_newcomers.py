"""``live-newcomers``: a port for clients that idle strangers crowd is open for a client that comes now.

The fault that brings the crowd also brings newcomers, each with one question, and says at its end how many were
answered and how many were thrown out or not let in. Not one of the latter, if nothing else happened to the node
meanwhile than more of the same fault, and no second crowd came to one of its ports.

A second crowd takes every place at once, since all ports of a broker share them: a newcomer whose question is still on
its way has then asked nothing, as all of them, and is among those that make room. No server can tell them apart.

Left out: what is answered; newcomers that still wait when the crowd goes. Source: NettyRemotingServer has no limit on
connections; the reference has, see docs/decisions/0010.
"""

import json

from ....event_types.machine import Fault
from ....judging.law import EventFilter
from ....texts.content import payload
from ...law import Law

ROGUE_CLIENT, CROWD = "rogue_client", "crowd"
ANSWERED, REFUSED = "newcomers_answered", "newcomers_refused"


class LiveNewcomers(Law):
    id = "live-newcomers"
    promise = "While a crowd of idle strangers holds connections to a port for clients, a new client is answered."
    source = "NettyRemotingServer, which refuses nobody"
    needs = frozenset({"fault", "start"})
    ignored_nodes = frozenset()
    awaits = {"fault": EventFilter(frozenset({ROGUE_CLIENT}))}

    def begin(self) -> None:
        self.calm: dict[int | None, tuple[Fault, int]] = {}
        """Faults that are going on at nodes that no other one has touched since they began, and how many incarnations
        of the node had ended by then."""

    def on_fault(self, event: Fault) -> None:
        """One begins: another one at its node is no longer alone. One ends, and says what became of newcomers."""
        if event.status == "on":
            node, others = event.node or "", self.known.disturbances.active.values()
            alone = all(_bears(event, each) or node not in self.known.disturbances.affected(each) for each in others)
            self._disturb(self.known.disturbances.affected(event), event)
            if node and alone and not self.known.disturbances.is_unavailable(node):
                self.calm[event.number] = event, self.known.nodes.ended(node)
            return
        found = json.loads(event.detail or "{}")
        answered, refused = found.get(ANSWERED, 0), found.get(REFUSED, 0)
        began, ended = self.calm.pop(event.number, (event, -1))
        if not answered + refused or ended != self.known.nodes.ended(event.node or "") or self._has_paused(began):
            return
        self.judged += answered + refused
        if refused:
            self.violate(event, f"{event.node}: {refused} of {answered + refused} newcomers were not let in")

    def _has_paused(self, began: Fault) -> bool:
        disturbances, node = self.known.disturbances, began.node or ""
        return disturbances.is_unavailable(node) or disturbances.woke.get(node, -1) > began.t

    def _disturb(self, places: frozenset[str], by: Fault) -> None:
        for number, (each, _) in list(self.calm.items()):
            if each.node in places and not _bears(each, by):
                del self.calm[number]


def _bears(one: Fault, other: Fault) -> bool:
    """Whether a fault goes on beside another one as if that was not there."""
    return one.f == other.f and not is_crowd(other)


def is_crowd(fault: Fault) -> bool:
    """Whether the strangers that a fault brings come as a crowd."""
    return bool(payload(fault.detail).get("character") == CROWD)
