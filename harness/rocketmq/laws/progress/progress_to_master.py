"""``progress-to-master``: a consumer commits to the master while its route names one, and to a slave while it does not.

Checks:
- Each commit goes to the route's master; without one, to a node of the route. An empty route leaves the choice to other
  topics' routes. A consumer without a route commits to the master while master and link are undisturbed.
- Without a master, a consumer commits every queue that it holds within ``SILENT_NS`` (two commit periods, a timed-out
  route refresh, and the rest after an illegal offset), even unchanged offsets.
- A consumer that gives a queue up has committed its offset there.
- Only pulls to a master (by broker id) carry a commit.
Abstains when:
- The consumer is broadcasting; for missing commits also orderly, as only a master gives locks.
- The route may be wrong: its content is not checked.
Source: RemoteBrokerOffsetStore.updateConsumeOffsetToBroker (id 0, or any broker of the name after a route refresh),
MQClientInstance, PullAPIWrapper.pullKernelImpl.
"""

from ....event_types.client import Assign, Consumer, Deliver, Invoke, Route
from ....history import MS, Event
from ....judging.law import only
from ...known.consumption import COMMIT_NS, PAIR
from ...law import Law
from ...topology import MASTER, MASTER_ID

REFRESH_TIMEOUT_NS = 5_000 * MS
ILLEGAL_OFFSET_REST_NS = 10_000 * MS
SILENT_NS = 2 * COMMIT_NS + REFRESH_TIMEOUT_NS + ILLEGAL_OFFSET_REST_NS

ProcessQueue = tuple[int | None, str]


class ProgressToMaster(Law):
    needs = frozenset({"invoke", "deliver", "consumer", "route"})
    timed = True

    def begin(self) -> None:
        self.active_at: dict[ProcessQueue, int] = {}
        """When a consumer last tried to commit, or else first received a message, ns."""
        self.last_offset: dict[ProcessQueue, int] = {}
        """By held queue: the start of the assignment, or the last commit."""

    @only(node=PAIR)
    def on_deliver(self, event: Deliver) -> None:
        if event.group is None:
            return
        key = (event.process, event.queue)
        self.active_at.setdefault(key, event.t)
        self._judge_silence(key, event)

    @only("commit", node=PAIR)
    def on_invoke(self, event: Invoke) -> None:
        if event.process not in self.known.consumption.consumers:
            # An administrator's.
            return
        key = (event.process, event.queue or "")
        self._judge_silence(key, event)
        self.active_at[key] = event.t
        self.last_offset[key] = event.queue_offset or 0
        if not event.carried:
            self._judge_node(event, event.node)
        elif event.broker:
            text = (
                f"{event.group}'s pull of {event.queue} carries {event.queue_offset} to {event.node}, a slave by its id"
            )
            self.violate(event, text, since=None)

    def _judge_node(self, event: Invoke, node: str) -> None:
        what = f"{event.group} commits {event.queue_offset} of {event.queue} to {node}"
        route = self.known.consumption.routes.get(event.process)
        if route is None:
            if node == MASTER or self._is_master_undisturbed(event):
                self.judged += 1
            if node != MASTER and self._is_master_undisturbed(event):
                since = self.known.consumption.consumers[event.process].since
                self.violate(event, f"{what}, and the master was undisturbed", since=since)
            return
        self.judged += 1
        master = route.nodes.get(MASTER_ID)
        if master is not None and node != master:
            self.violate(event, f"{what}; by its route {master} is the master", since=None)
        elif master is None and route.nodes and node not in route.nodes.values():
            self.violate(event, f"{what}; its route names {', '.join(route.nodes.values())}", since=None)

    def _is_master_undisturbed(self, event: Invoke) -> bool:
        consumer = self.known.consumption.consumers.get(event.process)
        if consumer is None:
            return False
        return self.known.disturbances.is_undisturbed(consumer.since, MASTER, f"client-{MASTER}")

    def _judge_silence(self, key: ProcessQueue, now: Event) -> None:
        """A consumer whose route has slaves only must commit, too."""
        since, route = self.active_at.get(key), self.known.consumption.routes.get(key[0])
        held = self.known.consumption.assignments.get(key)
        if since is None or route is None or held is None or MASTER_ID in route.nodes or not route.nodes:
            return
        if held.consumed.reader != held.group or self.known.consumption.is_orderly(key[0]):
            return
        since = max(since, route.since, held.since)
        if now.t - since > 0:
            self.judged += 1
        if now.t - since > SILENT_NS:
            del self.active_at[key]
            what = f"{held.group} held {key[1]} for {(now.t - since) / MS:.0f} ms and committed nothing"
            self.violate(now, f"{what}; its route names {', '.join(route.nodes.values())}", since=since)

    @only(node=(None, *PAIR))
    def on_assign(self, event: Assign) -> None:
        key = (event.process, event.queue)
        self._judge_silence(key, event)
        self.active_at.pop(key, None)
        if event.status == "on":
            self.last_offset[key] = event.offset
        elif key in self.last_offset:
            self._judge_release(event, self.last_offset.pop(key))

    def _judge_release(self, event: Assign, committed: int) -> None:
        consumption = self.known.consumption
        consumer, route = consumption.consumers.get(event.process), consumption.routes.get(event.process)
        if consumer is None or not consumer.clustering or consumer.orderly or self._is_committing(event):
            return
        if route is None or MASTER_ID not in route.nodes:
            return
        self.judged += 1
        if event.offset <= committed:
            return
        text = f"{event.group} gives {event.queue} up at {event.offset}, and has committed no more than {committed}"
        self.violate(event, text, since=None)

    def _is_committing(self, event: Assign) -> bool:
        calls = (each.call for each in self.known.calls.open() if each.call.node in PAIR)
        return any((each.f, each.process, each.queue) == ("commit", event.process, event.queue) for each in calls)

    def on_consumer(self, event: Consumer) -> None:
        for key in [key for key in self.active_at if key[0] == event.process]:
            self._judge_silence(key, event)
            self.active_at.pop(key, None)
        for key in [key for key in self.last_offset if key[0] == event.process]:
            del self.last_offset[key]

    def on_route(self, event: Route) -> None:
        for key in [key for key in self.active_at if key[0] == event.process]:
            self._judge_silence(key, event)

    def end(self, last: Event) -> None:
        for key in list(self.active_at):
            self._judge_silence(key, last)
