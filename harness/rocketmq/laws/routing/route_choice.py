"""``route-choice``: a consumer asks the broker that its user fixed, else the one that it was last told to ask.

For each pull of a consumer: it wants the id that its user fixed (connectBrokerByUser, defaultBrokerId), whatever
brokers suggest; without one, the id that the queue's last answer suggested, and 0 before there was any. Of the brokers
that its last route names it requires that id; if that is missing and not 0, the next higher id; if that is missing too,
any. So of several slaves it uses one only. The node that it asks is the one that its route has under that id. Who
chooses a broker of the route to send to chooses 0.

Judged from a consumer's arrival on, by the route that it has learned. A queue that was just taken may also be asked for
as if nothing had been suggested. Before 4.8.0 a missing id is followed by any.

Left out: consumers that want one broker only, which no pull does; a route in which nobody is left, since that of
another topic may still name the brokers; locks; and brokers of other names, whose routes are not recorded.
Source: PullAPIWrapper.recalculatePullFromWhichNode, MQClientInstance.findBrokerAddressInSubscribe.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from ....event_types.client import Assign, Consumer, Invoke, Ok, Route
from ....event_types.node import Config
from ....judging.law import CONVENTION, only
from ...law import Law
from ...settings import DEFAULTS, parse, version
from ...topology import MASTER, NODES

NEXT_ID_SINCE = (4, 8)

Brokers = Mapping[int, str]
"""Broker id to node."""


class RouteChoice(Law):
    id = "route-choice"
    kind = CONVENTION
    promise = (
        "A consumer pulls from the broker that its user fixed, or else from the one that was last suggested for the "
        "queue; if its route lacks that one, from the next id, or else from any; senders choose the master."
    )
    source = "PullAPIWrapper, MQClientInstance.findBrokerAddressInSubscribe"
    needs = frozenset({"consumer", "route", "invoke", "ok"})

    def begin(self) -> None:
        self.applicable = False
        self.suggested: dict[int | None, dict[str | None, int]] = {}
        """By consumer that is here, by queue: what the last answer said."""
        self.fixed: dict[int | None, int] = {}
        """By consumer that is here and whose user chose: the id."""
        self.routes: dict[int | None, Brokers] = {}
        self.fresh: set[tuple[int | None, str | None]] = set()
        """Queues that a consumer took since its last answer for them."""

    def on_config(self, event: Config) -> None:
        self.applicable = self.applicable or bool(parse(event.detail or "{}").get("namesrvAddr"))

    def on_consumer(self, event: Consumer) -> None:
        if event.status == "on":
            self.suggested[event.process] = {}
            if event.broker is not None:
                self.fixed[event.process] = event.broker
        else:
            self.suggested.pop(event.process, None)
            self.fixed.pop(event.process, None)
            self.fresh = {each for each in self.fresh if each[0] != event.process}

    def on_assign(self, event: Assign) -> None:
        if event.status == "on":
            self.fresh.add((event.process, event.queue))

    def on_route(self, event: Route) -> None:
        if event.status == "found":
            self.routes[event.process] = _route(event.detail or "{}")

    @only("pull", node=NODES)
    def on_ok(self, event: Ok) -> None:
        if event.broker is not None:
            told = self.suggested.get(event.process)
            if told is not None:
                told[event.queue] = event.broker
                self.fresh.discard((event.process, event.queue))

    @only("pull", "send")
    def on_invoke(self, event: Invoke) -> None:
        chosen, route = event.broker, self.routes.get(event.process)
        if chosen is None or not route or event.node not in NODES:
            return
        if event.f == "send":
            self.judged += 1
            if chosen != 0:
                self.violate(event, f"a send of {event.message} chose broker {chosen}; only 0 takes messages")
            return
        told = self.suggested.get(event.process)
        if told is None:
            return
        self.judged += 1
        if route.get(chosen) != event.node:
            self.violate(
                event,
                f"a pull of {event.queue} chose broker {chosen} and asked {event.node}; the route has {_shown(route)}",
            )
            return
        fixed = self.fixed.get(event.process)
        wanted = told.get(event.queue, 0) if fixed is None else fixed
        if chosen in self._right(route, wanted):
            return
        starts_anew = fixed is None and (event.process, event.queue) in self.fresh
        if not (starts_anew and chosen in self._right(route, 0)):
            why = "was suggested" if fixed is None else "is fixed by its user"
            self.violate(
                event, f"a pull of {event.queue} chose broker {chosen}; {wanted} {why}, the route has {_shown(route)}"
            )

    def _right(self, route: Brokers, wanted: int) -> tuple[int, ...]:
        """The ids that may be asked where this one is wanted."""
        if wanted in route:
            return (wanted,)
        knows_next = version(self.known.config.get(MASTER, DEFAULTS)) >= NEXT_ID_SINCE
        if wanted and wanted + 1 in route and knows_next:
            return (wanted + 1,)
        return tuple(route)


@lru_cache(maxsize=256)
def _route(detail: str) -> Brokers:
    return {int(number): str(node) for number, node in json.loads(detail).items()}


def _shown(route: Brokers) -> str:
    return ", ".join(f"{number}: {node}" for number, node in sorted(route.items())) or "nobody"
