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

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Route
from pairproof.harness.kinds.machine import Resume
from pairproof.harness.kinds.node import Config, Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.metadata import Register, Table
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER, NAMES, NODES
from pairproof.harness.rocketmq.settings import Settings, parse

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
    deaf_to = frozenset()
    timed = True

    def begin(self) -> None:
        self.brokers: dict[str, Settings] = {}
        """Those that register."""
        self.applicable = False
        self.born: dict[str, int] = {}
        """When a broker, or the name server, was started last, ns."""
        self.died: dict[str, tuple[int, bool]] = {}
        """When a broker that is down went down, ns, and whether the connection by which it is named closed with it."""
        self.registered: dict[str, int] = {}
        """When a broker was last answered by the name server, ns."""
        self.joined: dict[str, int] = {}
        """When it was first answered since it may have been lost, ns."""
        self.woke: dict[str, int] = {}
        """When a node that stood still went on last, ns."""
        self.inherited = False
        """Whether the master's tables were a slave's."""

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("namesrvAddr") and settings.get("brokerRole"):
            self.brokers[event.node] = settings
            self.applicable = True

    def on_start(self, event: Start) -> None:
        node = event.node
        self.born[node] = event.t
        self.died.pop(node, None)
        # It may have been answered at the moment at which it died.
        self.registered.pop(node, None)

    def on_crash(self, event: Crash | Stop) -> None:
        """A node is gone; a machine without power closes nothing, be it in the middle of an orderly stop.

        Nor does a process close what was another's: who has not registered since may be named by an older connection.
        """
        node = event.node
        own = self.registered.get(node, -1) >= self._known_since(node)
        since, closed = self.died.get(node, (event.t, own))
        self.died[node] = since, closed and not (event.f == "machine" and since == event.t)

    def on_stop(self, event: Stop) -> None:
        """Its connections end with its process, which RocketMQ's brokers leave seconds after they are told to."""
        self.on_crash(event)
        since, closed = self.died[event.node]
        self.died[event.node] = since + (event.value or 0) * MS, closed

    def on_register(self, event: Register) -> None:
        if event.status == "ok":
            self.registered[event.node] = event.t
            if self.joined.get(event.node, -1) < self._known_since(event.node):
                self.joined[event.node] = event.t

    def on_wipe(self, event: Wipe) -> None:
        """A slave that becomes the master may not have the topic yet, and then nobody will tell of it."""
        if event.node == MASTER and event.detail is not None:
            self.inherited = True

    def on_resume(self, event: Resume) -> None:
        self.woke[event.node] = event.t

    # What is asked.

    def on_table(self, event: Table) -> None:
        if event.f == "brokers" and event.node == NAMES and NAMES not in self.died:
            listed = _table(event.detail or "{}")
            for node in self.brokers:
                self._judge(event, node, listed)

    def on_route(self, event: Route) -> None:
        trouble, since = self.known.trouble, event.t - SLACK_NS
        if event.status != "found" or not trouble.is_quiet("names-client", since):
            return
        if trouble.still_ns(NAMES, since, event.t) or NAMES in self.died:
            return
        listed = _route(event.detail or "{}")
        for node in self.brokers:
            if node in NODES and (node in self.died or self._is_routed(node)):
                self._judge(event, node, listed)

    def _is_routed(self, node: str) -> bool:
        """Whether the topics, which only the master tells, are sure to be routed to this broker, too."""
        if self.inherited:
            return False
        if node == MASTER:
            return True
        told, trouble, since = self.registered.get(MASTER, -1), self.known.trouble, self._known_since(node)
        if told < max(since, trouble.ended.get(_link(MASTER), 0)):
            return False
        if MASTER in self.died:
            gone, _ = self.died[MASTER]
        elif trouble.is_struck(_link(MASTER)):
            gone = told
        else:
            return True
        return since <= self.joined.get(node, -1) <= gone

    def _judge(self, event: Event, node: str, listed: Listed) -> None:
        if node in self.died:
            self._judge_dead(event, node, listed)
        elif node in self.born:
            self._judge_running(event, node, listed)

    def _judge_dead(self, event: Event, node: str, listed: Listed) -> None:
        since, closed = self.died[node]
        trouble = self.known.trouble
        still = trouble.still_ns(NAMES, since, event.t)
        told = closed and not still and trouble.is_quiet(NAMES, since) and trouble.is_quiet(_link(node), since)
        bound = (AT_ONCE_NS if told else EXPIRY_NS + SCAN_NS) + self.known.healthy_ns
        took = event.t - since - still
        if took <= bound:
            return
        self.judged += 1
        if node in listed:
            what = f"{node} is down for {took // MS} ms and still named; {bound // MS} ms are enough"
            self.violate(event, what, since=since)

    def _judge_running(self, event: Event, node: str, listed: Listed) -> None:
        trouble, places = self.known.trouble, (node, NAMES, _link(node))
        if trouble.is_struck(*places):
            return
        born, touched = self.born[node], self._touched(node)
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

    def _known_since(self, node: str) -> int:
        """Only what a broker registers from then on is sure to be known still, ns."""
        return max(self.born.get(node, 0), self._touched(node))

    def _touched(self, node: str) -> int:
        """When the name server was started, or a fault or a pause at either or between them ended, last, ns."""
        ended, places = self.known.trouble.ended, (node, NAMES, _link(node))
        return max(self.born.get(NAMES, 0), *(max(ended.get(each, 0), self.woke.get(each, 0)) for each in places))

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
