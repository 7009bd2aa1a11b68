"""``role-read-failover``: a running, undisturbed consumer receives from a slave within the route's expiry and the
client's route period after the master's death, and from the master again after its return.

A broker serves a queue that a group holds when it answers a pull, with or without messages.

Checks:
- After the master's death, a slave serves within the client's route period; if the connections did not close with the
  master, plus the route's expiry and the time of a pull in flight.
- After the master's return and registration, it serves within the client's route period and the longest hold of a pull,
  if the queue's last answer suggested the master. Consumers with a fixed broker ask that one.
- The time starts at the last disturbance of the slaves, the name server, and their links to each other, to the consumer
  and (for the return) to the master, or when a slave lost power. Slaves, or a promoted master, must have registered and
  fetched topics and groups since the group was first served.
Abstains when:
- There are no slaves or no name server, or a broker may not be read by brokerPermission (not applicable).
- An administrator's settings keep the group from the queue; afterwards the time begins again.
- The group is orderly: only the master gives locks.
- The slave may refuse reads (5.x with slaveReadEnable off); the return is checked.
- The name server answers that it has no route: it has topics from masters only, and forgets them in a restart or after
  the name's last broker.
Source: MQClientInstance.updateTopicRouteInfoFromNameServer (every 30 s), PullAPIWrapper.pullKernelImpl,
RouteInfoManager.
"""

from dataclasses import dataclass, field

from ....event_types.client import Assign, Consumer, Fail, Ok, Route
from ....event_types.machine import Fault, Pause
from ....event_types.node import Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.metadata import Sync
from ...known.metadata import ARRIVED
from ...known.tables import READ
from ...settings import creates_groups, refuses_reads
from ...topology import MASTER, NAMES
from ..metadata.syncing import MetadataLaw

EXPIRY_NS = 130_000 * MS
"""120 s without a registration, and a scan every 10 s."""
ROUTE_NS = 30_000 * MS
PULL_NS = 30_000 * MS
"""A consumer's timeout of a pull, and a broker's longest hold of one."""
SLACK_NS = 5_000 * MS
"""The pause after a failed pull (3 s), a connect that hangs (3 s), and timer delays."""
TABLES = ("topics", "groups")
BY_SLAVES = "slaves"

Key = tuple[str | None, str | None]
"""Group and queue."""


@dataclass(slots=True, eq=False)
class Claim:
    """A group's hold of a queue."""

    since: int
    holders: set[int | None] = field(default_factory=set)
    first: int | None = None
    met: bool = True
    """Whether the expected broker has served it."""


class RoleReadFailover(MetadataLaw):
    needs = frozenset({"config", "crash", "consumer", "assign", "ok", "register", "sync"})
    timed = True

    def applies(self) -> bool:
        return super().applies() and self.known.is_allowed(READ)

    def begin(self) -> None:
        self.claims: dict[Key, Claim] = {}
        self.suggested: dict[tuple[int | None, str | None], tuple[int, int]] = {}
        """By consumer and queue: the broker id that answers suggest, and since when, ns."""
        self.failover: tuple[int, int] | None = None
        """When the master went down or returned, and how long queues may then remain unserved, ns."""
        self.server = ""
        """The one that must serve: the slaves, or the master."""
        self.unnoticed_until = -1
        """Until when a client may not have noticed that the master's machine lost power, ns."""
        self.unrouted_at = -1
        self.synced: dict[tuple[str, str], int] = {}
        """By slave and table: when it sent the request that fetched it, ns."""
        self.inherited: list[int] = []
        """For a promoted master: when it requested its tables as a slave, ns."""

    def on_assign(self, event: Assign) -> None:
        key = (event.group, event.queue)
        if event.status != "on" or self.known.consumption.is_orderly(event.process):
            self._leave(event, key)
            return
        claim = self.claims.get(key)
        if claim is None:
            claim = self.claims[key] = Claim(event.t)
            claim.met = not self.server
        if event.process not in claim.holders:
            # A new holder starts its own deadline.
            claim.since = event.t
            claim.holders.add(event.process)

    def on_consumer(self, event: Consumer) -> None:
        if event.status != "on":
            for key in [key for key, claim in self.claims.items() if event.process in claim.holders]:
                self._leave(event, key)

    def _leave(self, event: Assign | Consumer, key: Key) -> None:
        claim = self.claims.get(key)
        if claim is not None:
            self._check_overdue(key, claim, event)
            claim.holders.discard(event.process)
            if not claim.holders:
                del self.claims[key]

    @only("pull")
    def on_ok(self, event: Ok) -> None:
        if event.group is None:
            return
        if event.node != MASTER and event.node not in self.slaves:
            return
        key = (event.group, event.queue)
        claim = self.claims.get(key)
        if claim is not None:
            self._served(key, claim, event)
        # A consumer follows suggestions that arrive after it gave the queue up.
        reader = (event.process, event.queue)
        if event.broker is not None and event.broker != self.suggested.get(reader, (0, 0))[0]:
            self.suggested[reader] = event.broker, event.t

    def _served(self, key: Key, claim: Claim, event: Ok) -> None:
        if not claim.met and (event.node == MASTER) == (self.server == MASTER):
            due = self._due(key, claim, event.t)
            if due is not None and claim.first is not None:
                self.judged += 1
                self._check(key, due, event)
            claim.met = True
        if claim.first is None:
            claim.first = event.t

    @only("pull")
    def on_fail(self, event: Fail) -> None:
        """A broker that does not create groups may refuse one, and need not serve it."""
        if event.status == "SUBSCRIPTION_GROUP_NOT_EXIST":
            claim = self.claims.get((event.group, event.queue))
            if claim is not None and not creates_groups(self.known.config.get(event.node, {})):
                claim.met = True

    def on_crash(self, event: Crash | Stop) -> None:
        self._check_all(event)
        node = event.node
        if event.f == "machine":
            for table in TABLES:
                self.synced.pop((node, table), None)
        if node == MASTER and event.f == "machine":
            self.unnoticed_until = event.t + EXPIRY_NS + PULL_NS
        if node == MASTER and self.server != BY_SLAVES:
            # A client that missed this (or an earlier) death is still waiting for an answer.
            unnoticed = EXPIRY_NS + PULL_NS if event.t < self.unnoticed_until else 0
            self._fail_over(event, BY_SLAVES, ROUTE_NS + SLACK_NS + unnoticed)

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        self._check_all(event)
        if event.node == MASTER and self.server == BY_SLAVES:
            self._fail_over(event, MASTER, ROUTE_NS + PULL_NS + SLACK_NS)

    def _fail_over(self, event: Event, server: str, bound: int) -> None:
        self.server, self.failover = server, (event.t, bound)
        for claim in self.claims.values():
            claim.met = False

    def on_route(self, event: Route) -> None:
        if event.status == "none":
            self.unrouted_at = event.t

    def on_sync(self, event: Sync) -> None:
        if event.status in ARRIVED:
            asked = self.known.tables.asked(event.node, event.f)
            self.synced[event.node, event.f] = event.t if asked is None else asked.t

    def on_wipe(self, event: Wipe) -> None:
        """A promoted master has the tables that it last fetched as a slave."""
        if event.node == MASTER:
            owner = event.detail
            self.inherited = [] if owner is None else [self.synced.get((owner, table), -1) for table in TABLES]
        for table in TABLES:
            self.synced.pop((event.node, table), None)

    def on_fault(self, event: Fault | Pause) -> None:
        self._check_all(event)

    on_pause = on_fault

    def end(self, last: Event) -> None:
        self._check_all(last)

    def _check_all(self, event: Event) -> None:
        if self.server:
            for key, claim in self.claims.items():
                self._check_overdue(key, claim, event)

    def _check_overdue(self, key: Key, claim: Claim, event: Event) -> None:
        due = None if claim.met else self._due(key, claim, event.t)
        if due is not None and event.t > due[0] + due[1]:
            self.judged += 1
            self._check(key, due, event)
            claim.met = True

    def _check(self, key: Key, due: tuple[int, int], event: Event) -> None:
        since, bound = due
        if event.t > since + bound:
            who, what = ("the master", "its return") if self.server == MASTER else ("a slave", "the master's death")
            took = (event.t - since) // MS
            text = f"group {key[0]} got no answer for {key[1]} from {who} for {took} ms after {what}"
            self.violate(event, f"{text}; {bound // MS} ms are enough", since=since)

    def _due(self, key: Key, claim: Claim, now: int) -> tuple[int, int] | None:
        """The start and the bound of a claim's deadline, ns; None if there is none."""
        back = self.server == MASTER
        if self.failover is None or claim.first is None or (not back and any(map(refuses_reads, self.slaves.values()))):
            return None
        since, bound = self.failover
        wanted = [self._wanted(holder, key[1]) for holder in claim.holders] if back else []
        if any(broker for broker, _ in wanted):
            return None
        nodes = [MASTER] if back else list(self.slaves)
        disturbances, lost_power_at = self.known.disturbances, self.known.nodes.lost_power_at
        targets = [NAMES, "names-client", f"names-{MASTER}"]
        # A pull may hang at a running slave; a dead one's connections are closed, except after a power loss.
        for node in self.known.up.intersection(self.slaves) if back else ():
            targets += [node, f"client-{node}"]
        for node in nodes:
            targets += [node, f"client-{node}", f"names-{node}"]
        if disturbances.is_disturbed(*targets) or (not back and self._has_no_topics(since)):
            return None
        held_back_until = self.known.tables.held_back_until(key[1], key[0], now)
        if held_back_until == now:
            return None
        since = max(
            since,
            held_back_until,
            claim.since,
            disturbances.undisturbed_since(*targets),
            *(when for _, when in wanted),
            *(lost_power_at.get(node, 0) for node in self.slaves if back),
        )
        for node in nodes:
            ready = self._ready(node, claim.first, back)
            if ready is None:
                return None
            since = max(since, ready)
        return since, bound + self.known.healthy_ns

    def _wanted(self, holder: int | None, queue: str | None) -> tuple[int, int]:
        """The broker id that a consumer wants to ask for a queue, and since when, ns."""
        consumer = self.known.consumption.consumers.get(holder)
        if consumer is None or consumer.fixed is None:
            return self.suggested.get((holder, queue), (0, 0))
        return consumer.fixed, 0

    def _ready(self, node: str, first: int, back: bool) -> int | None:
        """Since when a broker is registered and would serve, ns; None if that is not certain."""
        if node not in self.known.up or not self.known.naming.knows(node):
            return None
        tables = self.inherited if back else [self.synced.get((node, table), -1) for table in TABLES]
        return self.known.naming.joined[node] if all(asked >= first for asked in tables) else None

    def _has_no_topics(self, ended_at: int) -> bool:
        """Whether a name server without a route may have lost the topics that the master registered."""
        if self.unrouted_at <= ended_at:
            return False
        naming, started = self.known.naming, self.known.nodes.last_start(NAMES)
        if naming.joined.get(MASTER, -1) < started:
            return True
        return min(max(naming.lost_sight(node), naming.joined.get(node, -1)) for node in self.slaves) > ended_at
