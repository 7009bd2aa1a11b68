"""``progress-to-master``: a consumer commits to the master if it knows one, and to a slave if it does not.

What it knows is the route that it learned last: with a master there every commit goes to that node; without, to one of
the nodes that the route names; where it names nobody, another topic's may. And without a master, too, it commits every
queue that it ever consumed from or committed again and again, changed or not: within two commit periods, plus the time
that a vain question to the name servers takes, plus the rest that a queue is given after an illegal offset. A consumer
that was never told a route commits to the master, as long as nothing has happened to the master and the client's way
there since it came.

A commit may ride on a pull that goes to a master, by its broker id, and on no other.

Left out: what brokers do with commits that ride on pulls, see ``progress-on-pull``; broadcasting consumers,
who tell nobody; the silence of orderly ones, whose locks only a master gives; whether the route was right.
Source: RemoteBrokerOffsetStore.updateConsumeOffsetToBroker, MQClientInstance, PullAPIWrapper.pullKernelImpl.
"""

from ....event_types.client import Assign, Consumer, Deliver, Invoke, Route
from ....history import MS, Event
from ....judging.law import only
from ...known.consumption import COMMIT_NS, PAIR
from ...law import Law
from ...topology import MASTER

IN_VAIN_NS = 5_000 * MS
"""What a route refresh may take that nobody answers."""
FROZEN_NS = 10_000 * MS
"""For how long a consumer lets a queue rest whose offset was illegal."""
SILENT_NS = 2 * COMMIT_NS + IN_VAIN_NS + FROZEN_NS
MASTER_ID = "0"

Key = tuple[int | None, str]
"""A process and a queue."""


class ProgressToMaster(Law):
    id = "progress-to-master"
    promise = "A consumer commits to the master while its route names one, and to a slave while it does not."
    source = "RemoteBrokerOffsetStore: id 0, or any broker of the name after a route refresh"
    needs = frozenset({"invoke", "deliver", "consumer", "route"})
    timed = True

    def begin(self) -> None:
        self.spoke: dict[Key, int] = {}
        """When a consumer last tried to commit, or before that: when it first received something, ns."""
        self.went_on: dict[Key, int] = {}
        """Of a queue that is held: where its consumer went on from, or what it committed last."""

    @only(node=PAIR)
    def on_deliver(self, event: Deliver) -> None:
        if event.group is None:
            return
        key = (event.process, event.queue)
        self.spoke.setdefault(key, event.t)
        self._judge_silence(key, event)

    @only("commit", node=PAIR)
    def on_invoke(self, event: Invoke) -> None:
        key = (event.process, event.queue or "")
        self._judge_silence(key, event)
        self.spoke[key] = event.t
        self.went_on[key] = event.queue_offset or 0
        if not event.carried:
            self._judge_place(event, event.node)
        elif event.broker:
            text = (
                f"{event.group}'s pull of {event.queue} carries {event.queue_offset} to {event.node}, a slave by its id"
            )
            self.violate(event, text, since=None)

    def _judge_place(self, event: Invoke, node: str) -> None:
        what = f"{event.group} commits {event.queue_offset} of {event.queue} to {node}"
        route = self.known.consumption.routes.get(event.process)
        if route is None:
            if node == MASTER or self._is_master_well(event):
                self.judged += 1
            if node != MASTER and self._is_master_well(event):
                since = self.known.consumption.consumers[event.process].since
                self.violate(event, f"{what}, and nothing has happened to the master", since=since)
            return
        self.judged += 1
        master = route.nodes.get(MASTER_ID)
        if master is not None and node != master:
            self.violate(event, f"{what}; by its route {master} is the master", since=None)
        elif master is None and route.nodes and node not in route.nodes.values():
            self.violate(event, f"{what}; its route names {', '.join(route.nodes.values())}", since=None)

    def _is_master_well(self, event: Invoke) -> bool:
        consumer = self.known.consumption.consumers.get(event.process)
        if consumer is None:
            return False
        return self.known.disturbances.is_undisturbed(consumer.since, MASTER, f"client-{MASTER}")

    def _judge_silence(self, key: Key, now: Event) -> None:
        """A consumer that knows of slaves only must not sit on its progress."""
        since, route = self.spoke.get(key), self.known.consumption.routes.get(key[0])
        held = self.known.consumption.assignments.get(key)
        if since is None or route is None or held is None or MASTER_ID in route.nodes or not route.nodes:
            return
        if held.consumed.reader != held.group or self.known.consumption.is_orderly(key[0]):
            return
        since = max(since, route.since, held.since)
        if now.t - since > 0:
            self.judged += 1
        if now.t - since > SILENT_NS:
            del self.spoke[key]
            self.violate(
                now, f"{held.group} held {key[1]} for {(now.t - since) / MS:.0f} ms and committed nothing; its route "
                f"names {', '.join(route.nodes.values())}", since=since
            )  # fmt: skip

    @only(node=(None, *PAIR))
    def on_assign(self, event: Assign) -> None:
        key = (event.process, event.queue)
        self._judge_silence(key, event)
        self.spoke.pop(key, None)
        if event.status == "on":
            self.went_on[key] = event.offset
        elif key in self.went_on:
            self._judge_parting(event, self.went_on.pop(key))

    def _judge_parting(self, event: Assign, known: int) -> None:
        """A consumer that gives a queue up tells how far it has come: the next one goes on from there."""
        consumption = self.known.consumption
        consumer, route = consumption.consumers.get(event.process), consumption.routes.get(event.process)
        if consumer is None or not consumer.clustering or consumer.orderly or self._is_committing(event):
            return
        if route is None or MASTER_ID not in route.nodes:
            return
        self.judged += 1
        if event.offset <= known:
            return
        text = f"{event.group} gives {event.queue} up at {event.offset}, and has told no broker more than {known}"
        self.violate(event, text, since=None)

    def _is_committing(self, event: Assign) -> bool:
        calls = (each.call for each in self.known.calls.open() if each.call.node in PAIR)
        return any((each.f, each.process, each.queue) == ("commit", event.process, event.queue) for each in calls)

    def on_consumer(self, event: Consumer) -> None:
        for key in [key for key in self.spoke if key[0] == event.process]:
            self._judge_silence(key, event)
            self.spoke.pop(key, None)
        for key in [key for key in self.went_on if key[0] == event.process]:
            del self.went_on[key]

    def on_route(self, event: Route) -> None:
        for key in [key for key in self.spoke if key[0] == event.process]:
            self._judge_silence(key, event)

    def end(self, last: Event) -> None:
        for key in list(self.spoke):
            self._judge_silence(key, last)
