"""``route-expiry``: a dead broker leaves the routes when its channel closes, at the latest after the expiry; one that
returned is back within its registration period.

The law checks every read of the name server's table, and every route that a client learned.

Checks:
- A killed or stopped broker is not named, ``AT_ONCE_NS`` after its registering connection closed with it. The bound is
  120 s and a scan (every 10 s) after a power loss, a disturbance of the link, or without a registration since.
- A running broker is named under its own id ``AT_ONCE_NS`` after the name server answered its registration, until the
  next disturbance of the broker, the name server or their link. Answers within a call's 6 s after one do not count.
- Without such an answer it is named within its registration period since its start, or within two since the last
  disturbance: the first attempt may only find the connection dead.
Abstains when:
- The name server was paused: this time does not count.
- For a learned route: the client's link to the name server was disturbed in the last 10 s; for a slave also if its
  topics may be missing, as the master has not registered since the slave may have been lost, or left before it. A name
  server has topics from masters only, and forgets them with the last broker.
- For a learned route: the topic may be gone, by a promotion, an administrator, or another or older store of the master.
Source: RouteInfoManager.scanNotActiveBroker and onChannelDestroy, BrokerController.registerBrokerAll.
"""

from collections.abc import Iterable, Mapping

from ....event_types.client import Route
from ....history import MS, Event
from ....judging.law import only
from ....texts.content import payload
from ...event_types.metadata import Table
from ...known.deadlines import spent_ns
from ...law import Law
from ...settings import registration_ms
from ...topology import MASTER, NAMES, NODES

EXPIRY_NS = 120_000 * MS
SCAN_NS = 10_000 * MS
AT_ONCE_NS = 1_000 * MS
CALL_NS = 6_000 * MS
"""registerBrokerTimeoutMills."""
SLACK_NS = 10_000 * MS
"""For a registration, and its timer's delay."""

Listed = Mapping[str, int]


class RouteExpiry(Law):
    needs = frozenset({"config", "start", "crash", "fault", "register", "table", "route"})
    ignored_nodes = frozenset()
    timed = True

    def applies(self) -> bool:
        return bool(self.known.registering)

    @only("brokers", node=NAMES)
    def on_table(self, event: Table) -> None:
        if NAMES not in self.known.nodes.down:
            listed = _listed(payload(event.detail).values())
            for node in self.known.registering:
                self._judge(event, node, listed)

    def on_route(self, event: Route) -> None:
        disturbances, since = self.known.disturbances, event.t - SLACK_NS
        if event.status != "found" or not disturbances.is_unaffected("names-client", since):
            return
        if disturbances.unavailable_ns(NAMES, since, event.t) or NAMES in self.known.nodes.down:
            return
        listed = _listed([payload(event.detail)])
        for node in self.known.registering:
            if node in NODES and (node in self.known.nodes.down or self._is_routed(node)):
                self._judge(event, node, listed)

    def _is_routed(self, node: str) -> bool:
        """Whether the topics, which only the master registers, are certainly routed to this broker."""
        disturbances, naming = self.known.disturbances, self.known.naming
        if self.known.stores.may_lack_files(MASTER) or self.known.tables.may_lack_topics:
            # An older or another store, also a promoted slave's, may not have the topic.
            return False
        if node == MASTER:
            return True
        registered, since = naming.registered.get(MASTER, -1), naming.lost_sight(node)
        if registered < max(since, disturbances.ended.get(_link(MASTER), 0)):
            return False
        if MASTER in self.known.nodes.down:
            gone = self._ended_at(MASTER)
        elif disturbances.is_disturbed(_link(MASTER)):
            gone = registered
        else:
            return True
        return since <= naming.joined.get(node, -1) <= gone

    def _judge(self, event: Event, node: str, listed: Listed) -> None:
        if node in self.known.nodes.down:
            self._judge_dead(event, node, listed)
        elif node in self.known.nodes.started_at:
            self._judge_running(event, node, listed)

    def _judge_dead(self, event: Event, node: str, listed: Listed) -> None:
        since = self._ended_at(node)
        closed = self.known.naming.closed[node] and self.known.disturbances.is_undisturbed(since, NAMES, _link(node))
        bound = (AT_ONCE_NS if closed else EXPIRY_NS + SCAN_NS) + self.known.healthy_ns
        took = spent_ns(self.known, NAMES, since, event.t)
        if took <= bound:
            return
        self.judged += 1
        if node in listed:
            what = f"{node} is down for {took // MS} ms and still named; {bound // MS} ms are enough"
            self.violate(event, what, since=since)

    def _judge_running(self, event: Event, node: str, listed: Listed) -> None:
        disturbances, targets = self.known.disturbances, (node, NAMES, _link(node))
        if disturbances.is_disturbed(*targets):
            return
        started, ended = self.known.nodes.last_start(node), self._last_disturbed(node)
        period = registration_ms(self.known.registering[node]) * MS
        # A disturbance that ended before the start does not count.
        due = max(started + period, ended + 2 * period if ended > started else 0) + SLACK_NS
        registered = self.known.naming.registered.get(node, -1)
        # An earlier answer may have been in flight, or of the name server's earlier incarnation.
        if registered > (ended + CALL_NS if ended > started else started):
            due = min(due, registered + AT_ONCE_NS)
        if event.t <= due + self.known.healthy_ns:
            return
        self.judged += 1
        found, own = listed.get(node), int(self.known.registering[node].get("brokerId", 0))
        if found is None:
            since = max(started, ended)
            late = (event.t - since) // MS
            answered = f"was answered {(event.t - registered) // MS} ms ago" if registered > since else ""
            what = answered or f"registers every {period // MS} ms"
            self.violate(
                event, f"{node} runs, undisturbed for {late} ms, and is not named; it {what}", max(since, registered)
            )
        elif found != own:
            self.violate(event, f"{node} is named as broker {found}; it is {own}", since=None)

    def _ended_at(self, node: str) -> int:
        """When a broker ended, ns: a stop takes seconds, and its connections close at its end."""
        end = self.known.nodes.down[node]
        return end.t + (end.value or 0) * MS if end.kind == "stop" else end.t

    def _last_disturbed(self, node: str) -> int:
        """Last disturbance of the node, the name server or their link, or of its place by a rival, ns."""
        undisturbed = self.known.disturbances.undisturbed_since(node, NAMES, _link(node))
        return max(self.known.nodes.last_start(NAMES), undisturbed, self.known.naming.replaced(node))


def _link(node: str) -> str:
    return f"names-{node}"


def _listed(routes: Iterable[Mapping[str, str]]) -> Listed:
    return {node: int(number) for nodes in routes for number, node in nodes.items()}
