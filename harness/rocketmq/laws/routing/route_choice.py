"""``route-choice``: a consumer pulls from the broker that its user fixed, or else from the one that was last suggested
for the queue; if its route lacks that one, from the next id, or else from any; senders choose the master.

Checks:
- By the route that the consumer has learned, the wanted id is the fixed one (connectBrokerByUser, defaultBrokerId),
  else the one that the queue's last answer suggested, and 0 before any answer; for a newly taken queue, 0 is right as
  well.
- If the route lacks this id and it is not 0, the next higher id is right; if that is missing too, any (before 4.8.0,
  any at once).
- The pull goes to the node that the route has under the chosen id.
- A send that chooses a broker of the route chooses 0.
Abstains when:
- The route is empty: another topic's may still name the brokers.
- The call takes a lock, or its broker has another name, whose routes are not recorded.
Source: PullAPIWrapper.recalculatePullFromWhichNode, MQClientInstance.findBrokerAddressInSubscribe.
"""

from collections.abc import Mapping

from ....event_types.client import Assign, Consumer, Invoke, Ok
from ....judging.law import CONVENTION, only
from ...law import Law
from ...settings import DEFAULTS, version
from ...topology import MASTER, NODES

NEXT_ID_SINCE = (4, 8)

Brokers = Mapping[int, str]


class RouteChoice(Law):
    kind = CONVENTION
    needs = frozenset({"consumer", "route", "invoke", "ok"})

    def begin(self) -> None:
        self.suggested: dict[tuple[int | None, str | None], int] = {}
        self.fresh: set[tuple[int | None, str | None]] = set()
        """Queues taken by a consumer since its last answer for them."""

    def applies(self) -> bool:
        return bool(self.known.registering)

    def on_consumer(self, event: Consumer) -> None:
        self.suggested = {key: each for key, each in self.suggested.items() if key[0] != event.process}
        self.fresh = {each for each in self.fresh if each[0] != event.process}

    def on_assign(self, event: Assign) -> None:
        if event.status == "on":
            self.fresh.add((event.process, event.queue))

    @only("pull", node=NODES)
    def on_ok(self, event: Ok) -> None:
        if event.broker is not None and event.process in self.known.consumption.consumers:
            self.suggested[event.process, event.queue] = event.broker
            self.fresh.discard((event.process, event.queue))

    @only("pull", "send")
    def on_invoke(self, event: Invoke) -> None:
        chosen, known = event.broker, self.known.consumption
        if chosen is None or event.process not in known.routes or event.node not in NODES:
            return
        route = {int(number): node for number, node in known.routes[event.process].nodes.items()}
        if not route:
            return
        if event.f == "send":
            self.judged += 1
            if chosen != 0:
                self.violate(event, f"a send of {event.message} chose broker {chosen}; only 0 accepts messages")
            return
        consumer = known.consumers.get(event.process)
        if consumer is None:
            return
        self.judged += 1
        if route.get(chosen) != event.node:
            what = f"a pull of {event.queue} chose broker {chosen} and asked {event.node}"
            self.violate(event, f"{what}; the route has {_shown(route)}")
            return
        fixed = consumer.fixed
        wanted = self.suggested.get((event.process, event.queue), 0) if fixed is None else fixed
        if chosen in self._right(route, wanted):
            return
        is_newly_taken = fixed is None and (event.process, event.queue) in self.fresh
        if not (is_newly_taken and chosen in self._right(route, 0)):
            why = "was suggested" if fixed is None else "is fixed by its user"
            self.violate(
                event, f"a pull of {event.queue} chose broker {chosen}; {wanted} {why}, the route has {_shown(route)}"
            )

    def _right(self, route: Brokers, wanted: int) -> tuple[int, ...]:
        """The ids that are right if this one is wanted."""
        if wanted in route:
            return (wanted,)
        uses_next = version(self.known.config.get(MASTER, DEFAULTS)) >= NEXT_ID_SINCE
        if wanted and wanted + 1 in route and uses_next:
            return (wanted + 1,)
        return tuple(route)


def _shown(route: Brokers) -> str:
    return ", ".join(f"{number}: {node}" for number, node in sorted(route.items())) or "no broker"
