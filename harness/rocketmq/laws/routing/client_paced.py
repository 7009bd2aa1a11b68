"""``client-paced``: clients send heartbeats to all their brokers and ask for routes every 30 s, consumers ask for their
group's members every 20 s and within a second of a change; and no more often than that. A failed send-back is tried
again after 5 s. A leaving consumer unregisters.

Checks:
- Heartbeats go to every broker of the client's routes (a producer's to the masters): immediately to a newly routed
  broker, then every 30 s; sooner only when the group's list lacks the client.
- Each topic's route is requested at the latest 30 s after the last answer; by a consumer without a route after 3 s. It
  is requested sooner only after a failed call, and then not within 3 s, or while a route or its master is missing.
  After a name server without an answer, the next one is asked at once.
- A consumer that shares queues requests its group's members when its first heartbeats are answered, then every 20 s, 3
  s after a failed request, and within a second of a change notification; never twice within a second, and within 3 s
  only after a failed call, a change notification, a new topic, or a queue that it took, gave up or locked.
- No such request is in flight for longer than 3 s, or given up sooner.
- A consumer that leaves says goodbye to every broker of its routes.
- A message that could not be sent back (``back``) is consumed or sent back again 5 s later, not sooner; by the end of
  a trial that was quiet for long enough, its group's progress is behind it.
Abstains when:
- The lab is a real-time one (not applicable): its clients do not record this.
- The client ends: a request is overdue only ``LEAVING_NS`` after its deadline.
- The queue changes hands between two send-backs of its message.
Source: MQClientInstance.startScheduledTask, RebalanceService, DefaultMQPushConsumerImpl, ClientConfig
(pollNameServerInterval, heartbeatBrokerInterval), MQClientAPIImpl (timeouts of 3 s),
ConsumeMessageConcurrentlyService.submitConsumeRequestLater (5 s); the pace after failures of other calls is that of the
lab's clients.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ....event_types.client import Assign, Consumer, Fail, Info
from ....event_types.machine import Lab, Mark
from ....history import MS, Event
from ....judging.law import CONVENTION, EVERY, only
from ...event_types.groups import Ask, Back, Lock
from ...law import Law
from ...topology import MASTER, NAMES, OTHER, masters_of

BEAT_NS = 30_000 * MS
ROUTE_NS = 30_000 * MS
RETRY_NS = 3_000 * MS
"""The pause after a failed call, and a call's timeout."""
MEMBERS_NS = 20_000 * MS
REST_NS = 1_000 * MS
LEAVING_NS = 15_000 * MS
"""A leaving client's route request (3 s), commits (5 s) and goodbyes (3 s)."""
AGAIN_NS = 5_000 * MS
WAYS = (MASTER, NAMES, "client-master", "names-client")
"""A send-back needs them."""
SEND_BACKS, GOODBYES = "repeated send-backs", "goodbyes"
ANSWERED = frozenset({"answered", "none"})
BEAT, MEMBERS, ROUTE = "beat", "members", "route"
ROUTE_OF = "route of "


class Due(NamedTuple):
    """A request's deadline: when it was set, and when it ends, ns."""

    since: int
    until: int


class Client:
    """A running consumer or producer."""

    def __init__(self, group: str | None, shares: bool) -> None:
        self.group = group
        self.shares = shares
        """Whether it shares queues with its group."""
        self.routes: dict[str, dict[str, dict[str, str]]] = {}
        """By topic, the newest last: broker name to id to node."""
        self.topics: set[str] = set()
        self.due: dict[str, Due] = {}
        self.open: dict[int, Ask] = {}
        self.beat_at: int | None = None
        self.beaten: set[str] = set()
        self.expected: set[str] = set()
        """Brokers that got a heartbeat in the last round, and that should."""
        self.joined = False
        self.changed_at: int | None = None
        """Time of the last change notification, ns: it wakes up a second later."""
        self.members_at: int | None = None
        self.members_from = 0
        """The first reasons that its last request may not have taken up, ns: those of the second before, as for a queue
        that it has just given up, and those since an older request in flight began, as for that one's topic.
        """
        self.moved = -1
        """When it last had a reason to share the queues again, ns: a topic, a queue or a lock."""
        self.polled: dict[str, int] = {}
        """By topic: its last regular route request, ns."""
        self.asked: dict[str, int] = {}
        self.unclear: set[str] = set()
        """Topics whose regular requests are indistinguishable from others, as a route or a master is missing."""
        self.unanswered: dict[str, Ask] = {}
        """By topic: the last route request, if it failed."""
        self.ask_again = False
        """Whether the group changed while its members were requested."""
        self.woken = self.failed = -1
        """When a list of its group lacked it, and when a call failed, ns."""

    def brokers(self) -> dict[str, dict[str, str]]:
        """By broker name: id to node, from the newest route that lists it."""
        return {name: nodes for route in self.routes.values() for name, nodes in route.items()}

    def receivers(self) -> set[str]:
        found = self.brokers().values()
        return {node for nodes in found for number, node in nodes.items() if self.group is not None or number == "0"}

    def masters(self) -> set[str]:
        return masters_of(self.brokers().values())

    def expects(self, what: str, since: int, until: int) -> None:
        """Set a deadline, unless there is an earlier one."""
        due = self.due.get(what)
        if due is None or until < due.until:
            self.due[what] = Due(since, until)


class ClientPaced(Law):
    kind = CONVENTION
    needs = frozenset({"ask", "consumer"})
    ignored_nodes = frozenset()
    awaits = {"ask": EVERY, "consumer": EVERY}
    parts = (SEND_BACKS, GOODBYES)
    timed = True

    def begin(self) -> None:
        self.clients: dict[int, Client] = {}
        self.left_out: dict[int, set[str]] = {}
        """By leaving process: the brokers of its routes without its goodbye."""
        self.masters: set[str] = set()
        self.names: set[str] = set()
        """Masters and broker names of all routes."""
        self.not_sent_back: dict[tuple[int, str, int], int] = {}
        """By process, queue and queue offset: when a message could last not be sent back, ns."""

    def on_lab(self, event: Lab) -> None:
        self.applicable = not event.in_real_time

    def on_consumer(self, event: Consumer) -> None:
        self._check_overdue(event)
        if event.status == "on":
            self.clients[event.process] = Client(event.group, event.f != "broadcasting")
            return
        client = self.clients.pop(event.process, None)
        left_out = self.left_out.pop(event.process, client.receivers() if client is not None else set())
        if event.status == "off":
            self.judge_part(GOODBYES)
            if left_out:
                text = f"client {event.process} left {event.group} without a goodbye to {', '.join(sorted(left_out))}"
                self.violate(event, text, since=None)

    @only(but=(OTHER,))
    def on_back(self, event: Back) -> None:
        message = event.process, event.queue, event.queue_offset
        if event.f == "asked":
            failed = self.not_sent_back.pop(message, None)
            if failed is not None:
                self.judge_part(SEND_BACKS)
                if event.t - failed < AGAIN_NS - self._slack:
                    what = f"client {event.process} sends {event.message} of {event.queue} back again"
                    self.violate(event, f"{what} {(event.t - failed) // MS} ms after that failed, not 5 s", failed)
        elif event.f != "ok":
            self.not_sent_back[message] = event.t

    def on_assign(self, event: Assign) -> None:
        """Its next owner, perhaps the same client, consumes the queue's messages again."""
        for message in [each for each in self.not_sent_back if each[:2] == (event.process, event.queue)]:
            del self.not_sent_back[message]
        self.on_lock(event)

    def on_lock(self, event: Assign | Lock) -> None:
        client = self.clients.get(event.process)
        if client is not None:
            client.moved = event.t

    def on_fail(self, event: Fail | Info) -> None:
        client = self.clients.get(event.process)
        if client is not None:
            client.failed = event.t

    on_info = on_fail

    def on_mark(self, event: Mark) -> None:
        self._check_overdue(event)

    def on_ask(self, event: Ask) -> None:
        self._check_overdue(event)
        if event.f == "goodbye":
            client = self.clients.pop(event.process, None)
            if client is not None:
                self.left_out[event.process] = client.receivers()
            self.left_out.setdefault(event.process, set()).discard(event.node)
            return
        client = self.clients.get(event.process)
        if client is None:
            if event.group is not None:
                # A request of an ended client.
                return
            client = self.clients[event.process] = Client(None, shares=False)
        if event.status == "told":
            self._changed(client, event)
        elif event.status == "asked":
            client.open[event.op] = event
            {BEAT: self._beat, MEMBERS: self._members, ROUTE: self._route}[event.f](client, event)
        else:
            self._ended(client, event)

    def end(self, last: Event) -> None:
        self._check_overdue(last)
        if self.known.disturbances.is_disturbed(*WAYS):
            return
        quiet = self.known.disturbances.undisturbed_since(*WAYS)
        for (process, queue, offset), failed in self.not_sent_back.items():
            client, waited = self.clients.get(process), last.t - max(failed, quiet)
            if client is None or waited < AGAIN_NS + ROUTE_NS + LEAVING_NS:
                continue
            self.judge_part(SEND_BACKS)
            if not self.known.consumption.has_passed(client.group or "", queue, offset):
                what = f"client {process} could not send offset {offset} of {queue} back"
                self.violate(last, f"{what}, and did not try again within {waited // MS} ms", failed)

    def _beat(self, client: Client, event: Ask) -> None:
        last, due = client.beat_at, client.due.get(BEAT)
        if last is not None and event.t - last <= self.known.instant_ns and due is not None and due.until > event.t:
            client.beaten.add(event.node)
            return
        self._met(client, BEAT, event, "sends heartbeats")
        early = due is not None and event.t < due.until - self._slack and event.t - client.woken > self._slack
        if last is not None and early:
            self._soon(event, f"sends a heartbeat {(event.t - last) // MS} ms after the last one", last)
        client.beat_at, client.beaten, client.expected = event.t, {event.node}, client.receivers()
        client.expects(BEAT, event.t, event.t + BEAT_NS)

    def _members(self, client: Client, event: Ask) -> None:
        last = client.members_at
        self._met(client, MEMBERS, event, "asks for its group's members")
        has_reason = last is None or max(client.moved, client.failed, client.changed_at or -1) >= client.members_from
        rest = REST_NS if has_reason else RETRY_NS
        if last is not None and self.known.instant_ns < event.t - last < rest - self._slack:
            self._soon(event, f"asks for its group's members {(event.t - last) // MS} ms after it last did", last)
        client.members_at = event.t
        began = (each.t for each in client.open.values() if each.f == MEMBERS)
        client.members_from = min(event.t - REST_NS, *began)
        client.expects(MEMBERS, event.t, event.t + MEMBERS_NS)

    def _route(self, client: Client, event: Ask) -> None:
        topic = event.topic or ""
        self._met(client, ROUTE_OF + topic, event, f"asks where {topic} is")
        before = client.unanswered.pop(topic, None)
        if before is not None and event.t == before.t and event.node != before.node:
            return
        client.topics.add(topic)
        last, polled = client.asked.get(topic), client.polled.get(topic)
        client.asked[topic] = event.t
        if client.group is None:
            return
        if not client.topics <= client.routes.keys() or self._lacks_masters(client):
            # The first request is a regular one; later ones may not be.
            if last is None:
                client.polled[topic] = event.t
            else:
                client.polled.pop(topic, None)
                client.unclear.add(topic)
            return
        since, rest = polled, ROUTE_NS
        if event.t - client.failed <= self._slack:
            since, rest = last, RETRY_NS
            on_time = topic in client.unclear or (polled is not None and event.t - polled >= ROUTE_NS - self._slack)
            since = None if on_time else since
        else:
            client.polled[topic] = event.t
            client.unclear.discard(topic)
        if since is not None and event.t - since < rest - self._slack:
            self._soon(event, f"asks where {topic} is {(event.t - since) // MS} ms after it last did", since)

    def _changed(self, client: Client, event: Ask) -> None:
        client.changed_at = event.t
        if client.joined:
            self._expect_members(client, event, event.t + REST_NS)

    @staticmethod
    def _expect_members(client: Client, event: Ask, until: int) -> None:
        """It must request its group's members, or once more after a request in flight."""
        if any(each.f == MEMBERS for each in client.open.values()):
            client.ask_again = True
        elif client.shares:
            client.expects(MEMBERS, event.t, until)

    def _ended(self, client: Client, event: Ask) -> None:
        asked = client.open.pop(event.op, None)
        if asked is None:
            return
        took = event.t - asked.t
        self.judged += 1
        if took > RETRY_NS + self._slack or (event.status == "timeout" and took < RETRY_NS - self._slack):
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
            self._expect_members(client, event, max([event.t, *rests]))

    def _answered_members(self, client: Client, event: Ask) -> None:
        if event.status not in ANSWERED:
            client.ask_again = False
            client.expects(MEMBERS, event.t, event.t + RETRY_NS)
            return
        if event.client not in json.loads(event.detail or "[]"):
            client.woken = event.t
        # It requests them for each topic, and again for the topic whose request was in flight.
        if client.ask_again and not any(each.f == MEMBERS for each in client.open.values()):
            client.ask_again = False
            client.expects(MEMBERS, event.t, event.t + REST_NS)

    def _answered_route(self, client: Client, event: Ask) -> None:
        topic = event.topic or ""
        if event.status == "answered":
            client.moved = client.moved if topic in client.routes else event.t
            client.routes.pop(topic, None)
            client.routes[topic] = json.loads(event.detail or "{}")
            self.masters |= client.masters()
            self.names |= client.brokers().keys()
            if not client.receivers() <= client.beaten:
                client.expects(BEAT, event.t, event.t)
        pause = ROUTE_NS
        if topic not in client.routes and client.group is not None:
            pause = RETRY_NS * len(client.topics)
        client.expects(ROUTE_OF + topic, event.t, event.t + pause)

    def _lacks_masters(self, client: Client) -> bool:
        """Whether it may ask a name server before a master."""
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
        self.violate(event, f"{event.client} {what}, without a reason", since=since)

    def _check_overdue(self, event: Event) -> None:
        """Report omitted heartbeats and overdue requests of running clients."""
        for process, client in self.clients.items():
            if client.beat_at is not None and event.t - client.beat_at > self.known.instant_ns and client.expected:
                left, client.expected = client.expected - client.beaten, set()
                if left:
                    text = f"client {process} sent no heartbeat to {', '.join(sorted(left))}, as to others"
                    self.violate(event, text, since=client.beat_at)
            self._skip_rounds(client, event.t)
            for what, due in list(client.due.items()):
                if event.t > due.until + self._slack + LEAVING_NS:
                    del client.due[what]
                    late = (event.t - due.until) // MS
                    self.violate(event, f"client {process} is {late} ms late with a {what}", since=due.since)

    def _skip_rounds(self, client: Client, now: int) -> None:
        """Skip heartbeats that had no receiver."""
        due = client.due.get(BEAT)
        while due is not None and due.until < now and not client.receivers():
            client.beat_at, client.beaten = due.until, set()
            due = client.due[BEAT] = Due(due.until, due.until + BEAT_NS)
