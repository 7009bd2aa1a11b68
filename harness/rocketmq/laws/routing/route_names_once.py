"""``route-names-once``: a route names no broker under two ids.

Checks:
- Each route that a client learns, and each read of the name server's table. A broker that returns under another id, as
  a promoted slave does, loses the old one.
Abstains when:
- The black box is older than 4.9: very old name servers keep the old id until its connection is lost.
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


class RouteNamesOnce(Law):
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
