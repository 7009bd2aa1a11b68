"""``producer-tries``: a producer takes queues in turn, tries again what failed, and tells how it ended.

Of a producer that chooses queues itself, with its own retries:

- what failed is tried again as often as its user allows, while there is time, unless the message has its queue, nobody
  asked for an answer, or a broker refused it in a way in which the next one would, too; the next try goes to another
  broker name, if the producer knows of one that has queues of the topic;
- what was stored is not tried again, whatever the answer says of slaves and disks, and there is one try at a time;
- sends that may go anywhere go to another queue each time, if there are two, while nothing fails;
- ok says what the last try's answer said, and its queue; *fail* is said only if no try may have stored the message;
- nobody is told that it failed before it was tried, unless time is over or there was no route; and there is one if the
  master is registered with the trial's topic, and for 80 s nothing was wrong with it, the name server and the links;
- it is over within the user's limit, and what a name server may take to answer; its time is not over sooner;
- the master's log holds a message at most as often as the master was tried.

Left out: which queue comes next; tries of which nobody is told; copies that consumers send back.
Source: DefaultMQProducerImpl.sendDefaultImpl, TopicPublishInfo.selectOneMessageQueue, MQFaultStrategy (off by default).
"""

from __future__ import annotations

from ....event_types.client import Fail, Info, Invoke, Ok, Try
from ....history import MS, UNREADABLE, Event
from ....judging.law import CONVENTION, EVERY, EventFilter, only
from ....texts.content import payload
from ...event_types.log import Audit
from ...known.calls import Begun
from ...law import Law
from ...topology import MASTER, NAMES
from ..acks.ack_refused_is_absent import UNKNOWN_ERROR

RETRIED = frozenset(
    {"TOPIC_NOT_EXIST", "SERVICE_NOT_AVAILABLE", "SYSTEM_ERROR", "NO_PERMISSION", "timeout", "disconnected", "refused"}
)
"""Answers, and how calls end without one, after which a producer may try again."""
TIMEOUT, NO_ROUTE = "timeout", "no route"
OVER = frozenset({TIMEOUT, NO_ROUTE, "closed"})
"""Why there was no further try."""
ON_THE_WAY = (MASTER, NAMES, f"names-{MASTER}", "names-client")
SETTLED_NS = 80_000 * MS
"""A broker whose registration was lost registers every 60 s at the latest; a producer asks before it gives up."""
PRODUCE, ONE_WAY = "produce", "one-way"
ANYWHERE = frozenset({"turn", ONE_WAY})
ASKING_MS = 6_000
"""For a name server to answer, or not, twice."""


class Produce:
    """A send under way, and its tries."""

    def __init__(self, begun: Begun[Invoke]) -> None:
        self.invoke = begun.call
        said = payload(begun.call.detail)
        self.how, self.producer = str(said.get("how", "")), said.get("producer")
        self.most, self.within_ns = int(said.get("tries", 1)), int(said.get("within", 0)) * MS
        began = [each for each in begun.tries if each.f == "began"]
        self.tries = len(began)
        self.began = began[-1] if began else None
        last = begun.tries[-1] if begun.tries else None
        self.ended = None if last is None or last.f == "began" else last
        """How the last try ended; None while it is under way."""
        self.open = any(each.f == "info" or UNKNOWN_ERROR in (each.remark or "") for each in begun.tries if _ends(each))
        """Whether some try may have stored it, and nobody knows."""


class ProducerTries(Law):
    id = "producer-tries"
    kind = CONVENTION
    promise = (
        "A producer takes queues in turn and tries again what failed, at another broker name, within its time; it does "
        "not send again what was stored, nor call failed what may be stored; a try stores a message once."
    )
    source = "DefaultMQProducerImpl.sendDefaultImpl, TopicPublishInfo.selectOneMessageQueue"
    needs = frozenset({"invoke", "ok", "try"})
    ignored_nodes = frozenset()
    awaits = {"invoke": EventFilter(frozenset({PRODUCE})), "try": EVERY}
    timed = True

    def begin(self) -> None:
        self.last: dict[object, tuple[Try, int]] = {}
        """By producer: its last try that might go anywhere, and how much had failed by then."""
        self.failures = 0
        """After a failure a producer looks at queues that no try tells of."""
        self.asked: dict[str, int] = {}
        """By message: how often the master was tried."""

    def _produce(self, event: Event) -> Produce | None:
        """The send that this event is part of."""
        begun = self.known.calls.begun(event)
        return Produce(begun) if begun is not None and begun.call.f == PRODUCE else None

    # Tries.

    def on_try(self, event: Try) -> None:
        call = self._produce(event)
        if call is None:
            return
        if event.f == "began":
            self._begins(call, event)
        elif event.f != "ok" and event.status != ONE_WAY:
            self.failures += 1

    def _begins(self, call: Produce, event: Try) -> None:
        self.judged += 1
        wrong = self._again(call, event) if call.began is not None else self._repeats(call, event)
        if wrong is not None:
            self.violate(event, f"{event.message} {wrong}", since=None)
        if call.how in ANYWHERE:
            self.last[call.producer] = event, self.failures
        if event.node == MASTER:
            self.asked[event.message] = self.asked.get(event.message, 0) + 1

    @staticmethod
    def _again(call: Produce, event: Try) -> str | None:
        """What is wrong with a further try."""
        before, ended = call.began, call.ended
        if ended is None:
            return "is tried twice at a time"
        if ended.f == "ok":
            return f"was stored ({ended.status}), and is sent again"
        if call.tries >= call.most:
            return f"is tried more often than {call.most} times"
        if ended.status not in RETRIED:
            return f"was refused ({ended.status}), and is sent again"
        if before is not None and before.node == event.node and _known(event)[0] > 1:
            return f"failed at {event.node} ({ended.status}), and is tried there again; other brokers have queues"
        return None

    def _repeats(self, call: Produce, event: Try) -> str | None:
        """Whether a first try takes the queue of the message before it."""
        before, failures = self.last.get(call.producer, (None, 0))
        if call.how not in ANYWHERE or before is None or failures != self.failures:
            return None
        known = _known(event)
        if known != _known(before) or known[1] < 2 or (before.node, before.queue) != (event.node, event.queue):
            return None
        return f"goes to {event.queue}, as the message before it did; {known[1]} queues are there"

    # How it ended.

    @only(PRODUCE)
    def on_ok(self, event: Ok) -> None:
        call = self._ends(event)
        if call is None:
            return
        ended = call.ended
        if ended is None or ended.f != "ok":
            self.violate(event, f"{event.message} was told {event.status}; no try was answered so", since=None)
        elif (ended.status, ended.node, ended.queue) != (event.status, event.node, event.queue):
            said = f"{event.status}, {event.queue} of {event.node}"
            heard = f"{ended.status}, {ended.queue} of {ended.node}"
            self.violate(event, f"{event.message} was told {said}; its last try says {heard}", since=None)

    @only(PRODUCE)
    def on_fail(self, event: Fail) -> None:
        call = self._ends(event)
        if call is None:
            return
        self.failures += 1
        if call.open or (call.ended is not None and call.ended.f == "ok"):
            self.violate(
                event, f"{event.message} is said to have failed ({event.status}); it may be stored", since=None
            )
        self._gave_up(call, event)
        why = "" if call.tries else self._untried(event)
        if why:
            self.violate(event, f"{event.message} failed before it was tried: {why}", call.invoke.t)

    def _untried(self, event: Fail) -> str:
        """What is wrong with a send that failed before its first try; empty if nothing is."""
        if event.status not in OVER:
            return event.status
        if event.status != NO_ROUTE or not self.known.naming.knows(MASTER):
            return ""
        if self.known.stores.may_lack_files(MASTER):
            # With its topic's entry, perhaps.
            return ""
        if not self.known.disturbances.is_undisturbed(max(0, event.t - SETTLED_NS), *ON_THE_WAY):
            return ""
        return f"{NO_ROUTE}; the master is registered, and nothing was wrong with the way there"

    @only(PRODUCE)
    def on_info(self, event: Info) -> None:
        call = self._ends(event)
        if call is None:
            return
        if call.how != ONE_WAY:
            self.failures += 1
        if not call.open and event.status != UNREADABLE:
            self.violate(event, f"{event.message} is said to be open ({event.status}); no try is", since=None)
        if event.status != UNREADABLE:
            self._gave_up(call, event)

    def _ends(self, event: Fail | Info | Ok) -> Produce | None:
        call = self._produce(event)
        if call is not None:
            self.judged += 1
            began = call.invoke.t
            if event.t - began > call.within_ns + ASKING_MS * MS + self.known.healthy_ns:
                took = f"{(event.t - began) / MS:.0f} ms"
                self.violate(event, f"{event.message} took {took}; its limit is {call.within_ns // MS} ms", since=began)
            of_try = call.ended is not None and call.ended.status == TIMEOUT
            if event.status == TIMEOUT and not of_try and event.t - began < call.within_ns:
                took = f"{(event.t - began) / MS:.0f} ms"
                self.violate(
                    event,
                    f"{event.message} timed out after {took}; its limit is {call.within_ns // MS} ms",
                    since=began,
                )
        return call

    def _gave_up(self, call: Produce, event: Fail | Info) -> None:
        """A failure that should have been followed by another try."""
        ended = call.ended
        if ended is None or call.tries >= call.most or event.status in OVER or ended.status not in RETRIED:
            return
        if event.t - call.invoke.t < call.within_ns:
            self.violate(event, f"{event.message} was given up after {call.tries} tries ({ended.status})", since=None)

    # What the master's log has.

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        places: dict[str, set[int]] = {}
        for each in self.known.audits.records(event):
            if each.message in self.asked and "times" not in payload(each.detail):
                places.setdefault(each.message, set()).add(each.lo)
        for message, found in places.items():
            self.judged += 1
            if len(found) > self.asked[message]:
                what = f"{message} lies at {len(found)} places of the master's log"
                self.violate(event._replace(message=message), f"{what}; it was tried {self.asked[message]} times", None)


def _ends(event: Try) -> bool:
    return event.f != "began"


def _known(event: Try) -> tuple[int, int]:
    """How many broker names and queues a producer chose from."""
    said = payload(event.remark)
    return int(said.get("names", 0)), int(said.get("queues", 0))
