"""``client-paced``: a client shows that it lives, and asks what it must know, as often as it should and no more often.

- A heartbeat goes to every broker of the client's routes, of a producer to their masters: at once when a route names a
  broker that has had none, and then every 30 s. It goes sooner only when the group's list lacks the client.
- The route of each topic is asked for at the latest 30 s after the last answer; by a consumer that has never had one
  after 3 s. It is asked for sooner only where a call has just failed, and then not within 3 s, or where a route or its
  master is missing. Where a name server did not answer, the next one is asked at once.
- A consumer that shares queues asks who is in its group when its first heartbeats have been answered, then every 20 s,
  3 s after a question that failed, and within a second of hearing that the group has changed; but never twice within a
  second.
- No such question is under way for longer than 3 s, or given up sooner.

Judged when the client does what was due, or 15 s later if it lives on: one that leaves asks nothing more, and takes so
long to say goodbye. Other than most laws this one hears of another broker name's master, too. Not applicable in labs
with real time: their clients are the reference's beside any broker, and say nothing of it.
Source: MQClientInstance.startScheduledTask, RebalanceService, ClientConfig (pollNameServerInterval,
heartbeatBrokerInterval), MQClientAPIImpl (timeouts of 3 s); the pace after failures is that of the lab's own clients.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ....event_types.client import Consumer, Fail, Info
from ....event_types.machine import Lab, Mark
from ....history import MS, Event
from ....judging.law import CONVENTION, EVERY
from ...event_types.groups import Ask
from ...law import Law

BEAT_NS = 30_000 * MS
ROUTE_NS = 30_000 * MS
AGAIN_NS = 3_000 * MS
"""After what failed, and for a call to end."""
MEMBERS_NS = 20_000 * MS
REST_NS = 1_000 * MS
LEAVING_NS = 15_000 * MS
"""A route (3 s), commits (5 s) and goodbyes (3 s)."""
ANSWERED = frozenset({"answered", "none"})
BEAT, MEMBERS, ROUTE = "beat", "members", "route"
OF = "route of "
"""Before the topic: what is due of a route."""


class Due(NamedTuple):
    """Something must be asked: since when that is known, and until when, ns."""

    since: int
    until: int


class Client:
    """One consumer or producer that lives."""

    def __init__(self, group: str | None, shares: bool) -> None:
        self.group = group
        self.shares = shares
        """Whether it asks for its group's members."""
        self.routes: dict[str, dict[str, dict[str, str]]] = {}
        """By topic, the newest last: broker name to id to node."""
        self.topics: set[str] = set()
        """All that it has asked for."""
        self.due: dict[str, Due] = {}
        self.open: dict[int, Ask] = {}
        self.beat_at: int | None = None
        self.beaten: set[str] = set()
        self.expected: set[str] = set()
        """Who was to have a heartbeat of the last round, and who had one."""
        self.joined = False
        self.changed_at: int | None = None
        """When it last heard that its group has changed, ns: it wakes up a second later."""
        self.members_at: int | None = None
        self.polled: dict[str, int] = {}
        """When each topic's route was last asked for without a reason of its own, ns."""
        self.asked: dict[str, int] = {}
        """When it was asked for at all."""
        self.unclear: set[str] = set()
        """Topics of which nobody could tell the regular question from others, since a route or a master was missing."""
        self.unanswered: dict[str, Ask] = {}
        """Of each topic the last question for its route, once a name server has not answered it."""
        self.told = False
        """Whether the group has changed while its members were being asked for."""
        self.woken = self.failed = -1
        """When a list of its group lacked it, and when a call of its failed, ns."""

    def brokers(self) -> dict[str, dict[str, str]]:
        """By broker name: id to node, as the newest route that lists it says."""
        return {name: nodes for route in self.routes.values() for name, nodes in route.items()}

    def hearers(self) -> set[str]:
        """Who must have heartbeats."""
        found = self.brokers().values()
        return {node for nodes in found for number, node in nodes.items() if self.group is not None or number == "0"}

    def masters(self) -> set[str]:
        return {nodes["0"] for nodes in self.brokers().values() if "0" in nodes}

    def expects(self, what: str, since: int, until: int) -> None:
        """Something is due, unless it is due sooner."""
        due = self.due.get(what)
        if due is None or until < due.until:
            self.due[what] = Due(since, until)


class ClientPaced(Law):
    id = "client-paced"
    kind = CONVENTION
    promise = (
        "Clients send heartbeats to all their brokers and ask for routes every 30 s, consumers ask for their group's "
        "members every 20 s and within a second of a change; and no more often than that."
    )
    source = "MQClientInstance.startScheduledTask, RebalanceService, DefaultMQPushConsumerImpl"
    needs = frozenset({"ask", "consumer"})
    ignored_nodes = frozenset()
    awaits = {"ask": EVERY, "consumer": EVERY}
    timed = True

    def begin(self) -> None:
        self.clients: dict[int, Client] = {}
        self.masters: set[str] = set()
        self.names: set[str] = set()
        """All that any route has named."""

    def on_lab(self, event: Lab) -> None:
        self.applicable = not event.in_real_time

    def on_consumer(self, event: Consumer) -> None:
        self._look(event)
        if event.status == "on":
            self.clients[event.process] = Client(event.group, event.f != "broadcasting")
        else:
            self.clients.pop(event.process, None)

    def on_fail(self, event: Fail | Info) -> None:
        client = self.clients.get(event.process)
        if client is not None:
            client.failed = event.t

    on_info = on_fail

    def on_mark(self, event: Mark) -> None:
        self._look(event)

    def on_ask(self, event: Ask) -> None:
        self._look(event)
        client = self.clients.get(event.process)
        if client is None:
            if event.group is not None:
                # It has gone, and what it had asked ends.
                return
            client = self.clients[event.process] = Client(None, shares=False)
        if event.f == "goodbye":
            del self.clients[event.process]
        elif event.status == "told":
            self._changed(client, event)
        elif event.status == "asked":
            client.open[event.op] = event
            {BEAT: self._beat, MEMBERS: self._members, ROUTE: self._route}[event.f](client, event)
        else:
            self._ended(client, event)

    def end(self, last: Event) -> None:
        self._look(last)

    # What is asked.

    def _beat(self, client: Client, event: Ask) -> None:
        last, due = client.beat_at, client.due.get(BEAT)
        if last is not None and event.t - last <= self.known.instant_ns and due is not None and due.until > event.t:
            client.beaten.add(event.node)
            return
        self._met(client, BEAT, event, "sends heartbeats")
        early = due is not None and event.t < due.until - self._slack and event.t - client.woken > self._slack
        if last is not None and early:
            self._soon(event, f"sends a heartbeat {(event.t - last) // MS} ms after the last one", last)
        client.beat_at, client.beaten, client.expected = event.t, {event.node}, client.hearers()
        client.expects(BEAT, event.t, event.t + BEAT_NS)

    def _members(self, client: Client, event: Ask) -> None:
        last = client.members_at
        self._met(client, MEMBERS, event, "asks who is in its group")
        if last is not None and self.known.instant_ns < event.t - last < REST_NS - self._slack:
            self._soon(event, f"asks who is in its group {(event.t - last) // MS} ms after it last did", last)
        client.members_at = event.t
        client.expects(MEMBERS, event.t, event.t + MEMBERS_NS)

    def _route(self, client: Client, event: Ask) -> None:
        topic = event.topic or ""
        self._met(client, OF + topic, event, f"asks where {topic} is")
        before = client.unanswered.pop(topic, None)
        if before is not None and event.t == before.t and event.node != before.node:
            return
        client.topics.add(topic)
        last, polled = client.asked.get(topic), client.polled.get(topic)
        client.asked[topic] = event.t
        if client.group is None:
            return
        if not client.topics <= client.routes.keys() or self._lacks_masters(client):
            # The pace begins with the first question, whatever comes of it; of later ones nobody can tell.
            if last is None:
                client.polled[topic] = event.t
            else:
                client.polled.pop(topic, None)
                client.unclear.add(topic)
            return
        since, rest = polled, ROUTE_NS
        if event.t - client.failed <= self._slack:
            since, rest = last, AGAIN_NS
            on_time = topic in client.unclear or (polled is not None and event.t - polled >= ROUTE_NS - self._slack)
            since = None if on_time else since
        else:
            client.polled[topic] = event.t
            client.unclear.discard(topic)
        if since is not None and event.t - since < rest - self._slack:
            self._soon(event, f"asks where {topic} is {(event.t - since) // MS} ms after it last did", since)

    # What comes of it.

    def _changed(self, client: Client, event: Ask) -> None:
        client.changed_at = event.t
        if client.joined:
            self._shares_anew(client, event, event.t + REST_NS)

    @staticmethod
    def _shares_anew(client: Client, event: Ask, until: int) -> None:
        """It is to ask who is in its group, or once more if it is asking already."""
        if any(each.f == MEMBERS for each in client.open.values()):
            client.told = True
        elif client.shares:
            client.expects(MEMBERS, event.t, until)

    def _ended(self, client: Client, event: Ask) -> None:
        asked = client.open.pop(event.op, None)
        if asked is None:
            return
        took = event.t - asked.t
        self.judged += 1
        if took > AGAIN_NS + self._slack or (event.status == "timeout" and took < AGAIN_NS - self._slack):
            what = f"{event.client} has {event.status} for a {event.f} at {event.node} after {took // MS} ms"
            self.violate(event, f"{what}; such a call ends within 3 s, and is not given up sooner", since=asked.t)
        if event.status not in ANSWERED:
            client.failed = event.t
            if event.f == ROUTE:
                client.unanswered[event.topic or ""] = event
        if event.f == BEAT:
            self._answered_beat(client, event)
        elif event.f == MEMBERS:
            self._answered_members(client, event)
        elif event.f == ROUTE:
            self._answered_route(client, event)

    def _answered_beat(self, client: Client, event: Ask) -> None:
        if not client.joined and not any(each.f == BEAT for each in client.open.values()):
            client.joined = True
            rests = (at + REST_NS for at in (client.members_at, client.changed_at) if at is not None)
            self._shares_anew(client, event, max([event.t, *rests]))

    def _answered_members(self, client: Client, event: Ask) -> None:
        if event.status not in ANSWERED:
            client.told = False
            client.expects(MEMBERS, event.t, event.t + AGAIN_NS)
            return
        if event.client not in json.loads(event.detail or "[]"):
            client.woken = event.t
        # It asks for each of its topics, and again for that one whose question was under way.
        if client.told and not any(each.f == MEMBERS for each in client.open.values()):
            client.told = False
            client.expects(MEMBERS, event.t, event.t + REST_NS)

    def _answered_route(self, client: Client, event: Ask) -> None:
        topic = event.topic or ""
        if event.status == "answered":
            client.routes.pop(topic, None)
            client.routes[topic] = json.loads(event.detail or "{}")
            self.masters |= client.masters()
            self.names |= client.brokers().keys()
            if not client.hearers() <= client.beaten:
                client.expects(BEAT, event.t, event.t)
        again = ROUTE_NS
        if topic not in client.routes and client.group is not None:
            again = AGAIN_NS * len(client.topics)
        client.expects(OF + topic, event.t, event.t + again)

    # Too late, too soon, too few.

    def _lacks_masters(self, client: Client) -> bool:
        """Whether it may turn to a name server before it turns to a master."""
        found = client.brokers()
        if not (self.masters <= client.masters() and self.names <= found.keys()):
            return True
        return any("0" not in nodes for nodes in found.values())

    @property
    def _slack(self) -> int:
        return self.known.healthy_ns

    def _met(self, client: Client, what: str, event: Ask, does: str) -> None:
        due = client.due.pop(what, None)
        if due is None:
            return
        self.judged += 1
        if event.t > due.until + self._slack:
            late = (event.t - due.until) // MS
            self.violate(event, f"{event.client} {does} {late} ms later than it should", since=due.since)

    def _soon(self, event: Ask, what: str, since: int) -> None:
        self.violate(event, f"{event.client} {what}, and nothing had happened", since=since)

    def _look(self, event: Event) -> None:
        """What was left out, and what is overdue of clients that live on."""
        for process, client in self.clients.items():
            if client.beat_at is not None and event.t - client.beat_at > self.known.instant_ns and client.expected:
                left, client.expected = client.expected - client.beaten, set()
                if left:
                    text = f"client {process} sent no heartbeat to {', '.join(sorted(left))}, as to others"
                    self.violate(event, text, since=client.beat_at)
            self._pass_over(client, event.t)
            for what, due in list(client.due.items()):
                if event.t > due.until + self._slack + LEAVING_NS:
                    del client.due[what]
                    late = (event.t - due.until) // MS
                    self.violate(event, f"client {process} owes a {what} since {late} ms", since=due.since)

    def _pass_over(self, client: Client, now: int) -> None:
        """Heartbeats whose time came while there was nobody to hear them."""
        due = client.due.get(BEAT)
        while due is not None and due.until < now and not client.hearers():
            client.beat_at, client.beaten = due.until, set()
            due = client.due[BEAT] = Due(due.until, due.until + BEAT_NS)
