"""``route-names-once``: a route names no broker under two ids.

Judged wherever a client learns a route, and wherever the name server's table is read. A broker that comes back under
another id, as a slave does that is promoted, takes the old one with it.

Left out: name servers beside a black box before 4.9; very old ones keep the old id until its connection is missed.
Source: RouteInfoManager.registerBroker ("the same IP:PORT must only have one record").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ....event_types.client import Route
from ....history import Event
from ....judging.law import only
from ....texts.content import payload
from ...event_types.metadata import Table
from ...law import Law
from ...topology import MASTER

SINCE = (4, 9)
"""The first version whose name server we know to keep the promise."""


class RouteNamesOnce(Law):
    id = "route-names-once"
    promise = "A route names no broker under two ids."
    source = "RouteInfoManager.registerBroker"
    needs = frozenset({"route"})

    def on_route(self, event: Route) -> None:
        if event.status == "found":
            self._judge(event, "a client's route", payload(event.detail).values())

    @only("brokers")
    def on_table(self, event: Table) -> None:
        for name, brokers in payload(event.detail).items():
            self._judge(event, f"the name server's table of {name}", brokers.values())

    def _judge(self, event: Event, what: str, nodes: Iterable[str]) -> None:
        if self.known.is_older(MASTER, SINCE):
            return
        self.judged += 1
        for node, times in Counter(nodes).items():
            if times > 1:
                self.violate(event, f"{what} names {node} under {times} ids: {event.detail}")
