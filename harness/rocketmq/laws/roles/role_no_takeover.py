"""``role-no-takeover``: while a master is down no node accepts writes for its broker name; writes resume when it is
back.

Checks:
- No send to a broker of the pair that begins and ends while the master is down is answered as stored.
- Broker id 0, the target of sends, is never a slave: in no route that a client learned, and at no name server.
- A returned master that is undisturbed since does not refuse sends as not ready (SERVICE_NOT_AVAILABLE).
Abstains when:
- The send overlaps the master's end or start.
- The master was a diverged slave (see ``logs``), whose log is unreadable.
- The refusal has another status. How soon sends are answered again: see ``live-converges``.
Source: the design: RocketMQ 4 promotes no slave by itself, a slave's role changes by hand; DefaultMQProducerImpl
(brokerAddrs[0] only).
"""

import json

from ....event_types.client import Fail, Info, Ok, Route
from ....event_types.machine import Fault
from ....event_types.node import Start
from ....history import Event
from ....judging.law import EVERY, EventFilter, only
from ...event_types.metadata import Table
from ...law import MASTER_ENDS, SlaveLaw
from ...topology import MASTER, MASTER_ID, NODES


class RoleNoTakeover(SlaveLaw):
    needs = frozenset({"config", "start", "invoke", "ok"})
    awaits = {**MASTER_ENDS, "route": EVERY, "table": EventFilter(frozenset({"brokers"}))}

    def begin(self) -> None:
        self.is_back = False

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        end = self.known.nodes.down.get(MASTER)
        if end is not None:
            # The fault that ended it may still be active, a second one may not. A promotion names another node.
            active = [each for each in self.known.disturbances.active.values() if each.node == MASTER]
            promotion = self.known.stores.promotion
            self.is_back = len(active) <= (promotion is None or promotion.seq < end.seq)

    @only(node=MASTER)
    def on_fault(self, event: Fault) -> None:
        if event.status == "on":
            self.is_back = False

    @only("send", node=NODES)
    def on_ok(self, event: Ok | Fail | Info) -> None:
        begun = self.known.calls.begun(event)
        if begun is None:
            return
        if self.known.nodes.is_down_since(MASTER, begun.call):
            self.judged += 1
            if event.kind == "ok":
                self.violate(event, f"{event.node} accepted {event.message} ({event.status}) while the master was down")
        elif self.is_back and begun.is_up and event.node == MASTER and self.known.calls.is_current(event):
            self.judged += event.kind != "info"
            is_refused = event.kind == "fail" and event.status == "SERVICE_NOT_AVAILABLE"
            if is_refused and MASTER not in self.known.logs.diverged:
                self.violate(event, f"the master is back, and refused {event.message} as if it were not ready")

    on_fail = on_info = on_ok

    def on_route(self, event: Route) -> None:
        if event.status == "found":
            self._judge_route(event, json.loads(event.detail or "{}"), "a client's route")

    @only("brokers")
    def on_table(self, event: Table) -> None:
        for name, nodes in json.loads(event.detail or "{}").items():
            self._judge_route(event, nodes, f"{event.node}'s entry for {name}")

    def _judge_route(self, event: Event, nodes: dict[str, str], source: str) -> None:
        self.judged += MASTER in self.known.nodes.down
        if nodes.get(MASTER_ID) in self.slaves:
            self.violate(event, f"{source} names {nodes[MASTER_ID]}, a slave, as the master")
