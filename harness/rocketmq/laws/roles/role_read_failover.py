"""``role-read-failover``: when the master dies a running consumer reads on from a slave, and from the master again
after its return, without anybody's help.

Asked of each queue that a consumer group holds. A broker *serves* it when it answers a pull with whatever it has.

- While the master is down, a slave serves within the route's expiry and the client's route period, and the time for a
  pull that was under way; the first and the last are nothing if the master's connections closed with it.
- When the master is back and has registered, it serves within the client's route period and the time for which a slave
  may hold a pull; of queues whose last answer suggested the master, that is. Consumers whose user fixed a broker ask
  that one, whatever is suggested: the way back is owed only to those for whom it is the master.

The time counts from when all was well: from the last fault's end at a slave, at the name server, or at any link between
these, the consumer and (for the way back) the master. Slaves must have registered since, and have fetched topics and
groups since the group was first served; so must one that was promoted have. A name server has topics from masters only,
and forgets them when it is started anew or has lost sight of every broker of the name: where it then says so, slaves
alone bring no route back.

Left out: orderly groups, which consume nothing without a lock, and that is the master's to give; what a slave may
refuse (5.x with slaveReadEnable off: then only the way back is judged), and what is in its answers: the laws of
delivery judge that. Not applicable without slaves or without a name server.
Source: MQClientInstance (routes every 30 s), PullAPIWrapper, RouteInfoManager.
"""

from ....event_types.client import Assign, Consumer, Fail, Ok, Route
from ....event_types.machine import Fault, Pause
from ....event_types.node import Config, Crash, Start, Stop, Wipe
from ....history import MS, Event
from ....judging.law import only
from ...event_types.metadata import Sync
from ...known.metadata import ARRIVED
from ...law import Law
from ...settings import creates_groups, parse, refuses_reads
from ...topology import MASTER, NAMES, SLAVES

EXPIRY_NS = 130_000 * MS
"""120 s without a registration, and a scan every 10 s."""
ROUTE_NS = 30_000 * MS
"""How often a client refreshes its routes."""
PULL_NS = 30_000 * MS
"""For how long a consumer waits for the answer to a pull, and the longest for which a broker holds one."""
SLACK_NS = 5_000 * MS
"""A pause after a pull that failed (3 s), a connect that hangs (3 s), and timers that are late."""
TABLES = ("topics", "groups")
BY_SLAVES = "slaves"

Key = tuple[str | None, str | None]


class Claim:
    """A group holds a queue."""

    __slots__ = ("first", "holders", "met", "since")

    def __init__(self, since: int) -> None:
        self.holders: set[int | None] = set()
        self.since = since
        """Since when its newest holder does, ns."""
        self.first: int | None = None
        """When it was first served, ns."""
        self.met = True
        """Whether what is owed at present has been given."""


class RoleReadFailover(Law):
    id = "role-read-failover"
    promise = (
        "A running, undisturbed consumer receives from a slave within the route's expiry and the client's route "
        "period after the master's death, and from the master again after its return."
    )
    source = "MQClientInstance.updateTopicRouteInfoFromNameServer, PullAPIWrapper.pullKernelImpl"
    needs = frozenset({"config", "crash", "consumer", "assign", "ok", "register", "sync"})
    timed = True

    def begin(self) -> None:
        self.applicable = False
        self.slaves: list[str] = []
        self.refuse = False
        """Whether slaves serve nobody."""
        self.claims: dict[Key, Claim] = {}
        self.told: dict[tuple[int | None, str | None], tuple[int, int]] = {}
        """By consumer and queue: the broker id that the last answer suggested, and since when all have, ns."""
        self.turned: tuple[int, int] | None = None
        """When the master went down or came back, and what may pass until a queue is served again, ns."""
        self.server = ""
        """Who owes: the slaves, or the master."""
        self.unheard = -1
        """Until when somebody may not know that the master's machine lost power, ns."""
        self.unrouted = -1
        """When a name server last said that it knows no route, ns."""
        self.synced: dict[tuple[str, str], int] = {}
        """By slave and table: when it asked for what it has, ns."""
        self.inherited: list[int] = []
        """Where the master's tables were a slave's: when that had asked for them, ns."""
        self._asked: dict[tuple[str, str], int] = {}

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if event.node in SLAVES and settings.get("namesrvAddr"):
            self.slaves.append(event.node)
            self.refuse |= refuses_reads(settings)
        self.applicable = bool(self.slaves)

    # Consumers.

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
            # Whom the last one was to ask does not matter to the next.
            claim.since = event.t
            claim.holders.add(event.process)

    def on_consumer(self, event: Consumer) -> None:
        """Who goes holds nothing any more."""
        if event.status != "on":
            for key in [key for key, claim in self.claims.items() if event.process in claim.holders]:
                self._leave(event, key)

    def _leave(self, event: Assign | Consumer, key: Key) -> None:
        claim = self.claims.get(key)
        if claim is not None:
            self._settle(key, claim, event)
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
        # A consumer heeds also what comes after it gave the queue up.
        told = (event.process, event.queue)
        if event.broker is not None and event.broker != self.told.get(told, (0, 0))[0]:
            self.told[told] = event.broker, event.t

    def _served(self, key: Key, claim: Claim, event: Ok) -> None:
        if not claim.met and (event.node == MASTER) == (self.server == MASTER):
            due = self._due(key, claim)
            if due is not None and claim.first is not None:
                self.judged += 1
                self._check(key, due, event)
            claim.met = True
        if claim.first is None:
            claim.first = event.t

    @only("pull")
    def on_fail(self, event: Fail) -> None:
        """Who is not to create groups may refuse one, and owes it no more then."""
        if event.status == "SUBSCRIPTION_GROUP_NOT_EXIST":
            claim = self.claims.get((event.group, event.queue))
            if claim is not None and not creates_groups(self.known.config.get(event.node, {})):
                claim.met = True

    # The master goes and comes.

    def on_crash(self, event: Crash | Stop) -> None:
        self._settle_all(event)
        node = event.node
        if event.f == "machine":
            for table in TABLES:
                self.synced.pop((node, table), None)
        if node == MASTER and event.f == "machine":
            self.unheard = event.t + EXPIRY_NS + PULL_NS
        if node == MASTER and self.server != BY_SLAVES:
            # Who hears nothing of its end waits for an answer, too; also who heard nothing of an earlier one.
            unheard = EXPIRY_NS + PULL_NS if event.t < self.unheard else 0
            self._turn(event, BY_SLAVES, ROUTE_NS + SLACK_NS + unheard)

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        self._settle_all(event)
        if event.node == MASTER and self.server == BY_SLAVES:
            self._turn(event, MASTER, ROUTE_NS + PULL_NS + SLACK_NS)

    def _turn(self, event: Event, server: str, bound: int) -> None:
        self.server, self.turned = server, (event.t, bound)
        for claim in self.claims.values():
            claim.met = False

    def on_route(self, event: Route) -> None:
        if event.status == "none":
            self.unrouted = event.t

    def on_sync(self, event: Sync) -> None:
        step = (event.node, event.f)
        if event.status == "asked":
            self._asked[step] = event.t
        elif event.status in ARRIVED:
            self.synced[step] = self._asked.pop(step, event.t)

    def on_wipe(self, event: Wipe) -> None:
        """Another store, other tables; a slave that becomes the master has those that it last fetched."""
        if event.node == MASTER:
            whose = event.detail
            self.inherited = [] if whose is None else [self.synced.get((whose, table), -1) for table in TABLES]
        for table in TABLES:
            self.synced.pop((event.node, table), None)

    def on_fault(self, event: Fault | Pause) -> None:
        """Before something else happens what is overdue is told."""
        self._settle_all(event)

    on_pause = on_fault

    def end(self, last: Event) -> None:
        self._settle_all(last)

    # What is due when.

    def _settle_all(self, event: Event) -> None:
        if self.server:
            for key, claim in self.claims.items():
                self._settle(key, claim, event)

    def _settle(self, key: Key, claim: Claim, event: Event) -> None:
        due = None if claim.met else self._due(key, claim)
        if due is not None and event.t > due[0] + due[1]:
            self.judged += 1
            self._check(key, due, event)
            claim.met = True

    def _check(self, key: Key, due: tuple[int, int], event: Event) -> None:
        since, bound = due
        if event.t > since + bound:
            who, what = ("the master", "its return") if self.server == MASTER else ("a slave", "the master's death")
            took = (event.t - since) // MS
            self.violate(
                event, f"group {key[0]} got no answer for {key[1]} from {who} for {took} ms after {what}; "
                f"{bound // MS} ms are enough", since=since
            )  # fmt: skip

    def _due(self, key: Key, claim: Claim) -> tuple[int, int] | None:
        """From when on a claim is owed an answer and within what time, ns; None if it is not."""
        if self.turned is None or claim.first is None or (self.server != MASTER and self.refuse):
            return None
        since, bound = self.turned
        back = self.server == MASTER
        told = [self._wanted(holder, key[1]) for holder in claim.holders] if back else []
        if any(broker for broker, _ in told):
            return None
        nodes = [MASTER] if back else self.slaves
        disturbances = self.known.disturbances
        places = [NAMES, "names-client", f"names-{MASTER}"]
        for node in nodes:
            places += [node, f"client-{node}", f"names-{node}"]
        if disturbances.is_disturbed(*places) or (not back and self._has_no_topics(since)):
            return None
        since = max(since, claim.since, disturbances.undisturbed_since(*places), *(when for _, when in told))
        for node in nodes:
            ready = self._ready(node, claim.first, back)
            if ready is None:
                return None
            since = max(since, ready)
        return since, bound + self.known.healthy_ns

    def _wanted(self, holder: int | None, queue: str | None) -> tuple[int, int]:
        """The broker id that a consumer means to ask for a queue, and since when, ns."""
        consumer = self.known.consumption.consumers.get(holder)
        if consumer is None or consumer.fixed is None:
            return self.told.get((holder, queue), (0, 0))
        return consumer.fixed, 0

    def _ready(self, node: str, first: int, back: bool) -> int | None:
        """Since when a broker can be found and would serve, ns; None if perhaps not."""
        if node not in self.known.up or not self.known.naming.knows(node):
            return None
        tables = self.inherited if back else [self.synced.get((node, table), -1) for table in TABLES]
        return self.known.naming.joined[node] if all(asked >= first for asked in tables) else None

    def _has_no_topics(self, died: int) -> bool:
        """Whether a name server that says so may have forgotten the topics which the master told it before it died."""
        if self.unrouted <= died:
            return False
        naming, born = self.known.naming, self.known.nodes.last_start(NAMES)
        if naming.joined.get(MASTER, -1) < born:
            return True
        return min(max(naming.lost_sight(node), naming.joined.get(node, -1)) for node in self.slaves) > died
