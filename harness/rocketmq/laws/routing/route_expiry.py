"""``route-expiry``: a dead broker leaves the routes when its channel closes, or within the expiry; a returned one is
back within its registration period.

Asked of every read of the name server's table, and of every route that a client learned:

- a broker whose process was killed, or that was stopped, is not named any more a moment later, since the connection by
  which it registered ends with it; one whose machine lost power not after 120 s and a scan, which is every 10 s. So it
  is as well where the link between the two was in trouble meanwhile, or where it had not registered since;
- a broker that runs is named, under its own id, once it has had its registration period since it started. Since the
  name server started, or since a fault touched either or the link between them, it has two: the first attempt may only
  find out that the connection is dead.

Times for which the name server stood still do not count for it. What a client learned is judged only if its own link to
the name server was well for the last ten seconds, and of a slave if the master has registered since the slave may have
been lost, and did not leave before that slave was there: a name server has topics from masters only, and forgets them
with the last broker. Left out: several name servers; whether topics are still routed, by a slave that was promoted
above all, which may not have had them yet.
Source: RouteInfoManager.scanNotActiveBroker and onChannelDestroy, BrokerController (registration).
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from ....event_types.client import Route
from ....event_types.node import Config
from ....history import MS, Event
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.deadlines import spent_ns
from ...law import Law
from ...settings import Settings, parse
from ...topology import MASTER, NAMES, NODES

EXPIRY_NS = 120_000 * MS
SCAN_NS = 10_000 * MS
AT_ONCE_NS = 1_000 * MS
"""What a closed channel may need to be noticed."""
SLACK_NS = 10_000 * MS
"""What a registration may take, and its timer be late."""
PERIODS_MS = (10_000, 60_000)
"""Between these RocketMQ clamps registerNameServerPeriod."""
PERIOD_MS = 30_000

Listed = Mapping[str, int]
"""Node to the broker id under which it is named."""


class RouteExpiry(Law):
    id = "route-expiry"
    promise = (
        "A dead broker leaves the routes when its channel closes, at the latest after the expiry; one that returned is "
        "back within its registration period."
    )
    source = "RouteInfoManager.onChannelDestroy, scanNotActiveBroker; BrokerController.registerBrokerAll"
    needs = frozenset({"config", "start", "crash", "fault", "register", "table", "route"})
    ignored_nodes = frozenset()
    timed = True

    def begin(self) -> None:
        self.brokers: dict[str, Settings] = {}
        """Those that register."""
        self.applicable = False

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("namesrvAddr") and settings.get("brokerRole"):
            self.brokers[event.node] = settings
            self.applicable = True

    # What is asked.

    @only("brokers", node=NAMES)
    def on_table(self, event: Table) -> None:
        if NAMES not in self.known.nodes.down:
            listed = _table(event.detail or "{}")
            for node in self.brokers:
                self._judge(event, node, listed)

    def on_route(self, event: Route) -> None:
        disturbances, since = self.known.disturbances, event.t - SLACK_NS
        if event.status != "found" or not disturbances.is_unaffected("names-client", since):
            return
        if disturbances.unavailable_ns(NAMES, since, event.t) or NAMES in self.known.nodes.down:
            return
        listed = _route(event.detail or "{}")
        for node in self.brokers:
            if node in NODES and (node in self.known.nodes.down or self._is_routed(node)):
                self._judge(event, node, listed)

    def _is_routed(self, node: str) -> bool:
        """Whether the topics, which only the master tells, are sure to be routed to this broker, too."""
        disturbances, naming = self.known.disturbances, self.known.naming
        if self.known.stores.promotion is not None:
            # A slave that became the master may not have had the topic yet, and then nobody tells of it.
            return False
        if node == MASTER:
            return True
        told, since = naming.registered.get(MASTER, -1), naming.lost_sight(node)
        if told < max(since, disturbances.ended.get(_link(MASTER), 0)):
            return False
        if MASTER in self.known.nodes.down:
            gone = self._died_at(MASTER)
        elif disturbances.is_disturbed(_link(MASTER)):
            gone = told
        else:
            return True
        return since <= naming.joined.get(node, -1) <= gone

    def _judge(self, event: Event, node: str, listed: Listed) -> None:
        if node in self.known.nodes.down:
            self._judge_dead(event, node, listed)
        elif node in self.known.nodes.started_at:
            self._judge_running(event, node, listed)

    def _judge_dead(self, event: Event, node: str, listed: Listed) -> None:
        since = self._died_at(node)
        told = self.known.naming.closed[node] and self.known.disturbances.is_undisturbed(since, NAMES, _link(node))
        bound = (AT_ONCE_NS if told else EXPIRY_NS + SCAN_NS) + self.known.healthy_ns
        took = spent_ns(self.known, NAMES, since, event.t)
        if took <= bound:
            return
        self.judged += 1
        if node in listed:
            what = f"{node} is down for {took // MS} ms and still named; {bound // MS} ms are enough"
            self.violate(event, what, since=since)

    def _judge_running(self, event: Event, node: str, listed: Listed) -> None:
        disturbances, places = self.known.disturbances, (node, NAMES, _link(node))
        if disturbances.is_disturbed(*places):
            return
        born, touched = self.known.nodes.last_start(node), self._touched(node)
        period = self._period_ns(node)
        # What ended with the start of the broker is no trouble of its life.
        due = max(born + period, touched + 2 * period if touched > born else 0) + SLACK_NS + self.known.healthy_ns
        if event.t <= due:
            return
        self.judged += 1
        found, own = listed.get(node), int(self.brokers[node].get("brokerId", 0))
        if found is None:
            since = max(born, touched)
            late = (event.t - since) // MS
            self.violate(
                event,
                f"{node} runs, untouched for {late} ms, and is not named; it registers every {period // MS} ms",
                since=since,
            )
        elif found != own:
            self.violate(event, f"{node} is named as broker {found}; it is {own}", since=None)

    def _died_at(self, node: str) -> int:
        """When a broker went down, ns; it leaves seconds after it is told to, and its connections end with it."""
        end = self.known.nodes.down[node]
        return end.t + (end.value or 0) * MS if end.kind == "stop" else end.t

    def _touched(self, node: str) -> int:
        """When the name server was started, or a fault or a pause at either or between them ended, last, ns."""
        known = self.known
        return max(known.nodes.last_start(NAMES), known.disturbances.undisturbed_since(node, NAMES, _link(node)))

    def _period_ns(self, node: str) -> int:
        least, most = PERIODS_MS
        return max(least, min(int(self.brokers[node].get("registerNameServerPeriod", PERIOD_MS)), most)) * MS


def _link(node: str) -> str:
    return f"names-{node}"


@lru_cache(maxsize=256)
def _table(detail: str) -> Listed:
    names: Mapping[str, Mapping[str, str]] = json.loads(detail)
    return {node: int(number) for brokers in names.values() for number, node in brokers.items()}


@lru_cache(maxsize=256)
def _route(detail: str) -> Listed:
    return {node: int(number) for number, node in json.loads(detail).items()}
