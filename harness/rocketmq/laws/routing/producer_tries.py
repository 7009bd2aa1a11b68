"""``producer-tries``: a producer takes queues in turn and retries a failed try at another broker name, within its
limits, and asks the master of its newest route. It does not resend a stored message, nor report failure if it may be
stored. A try stores a message once.

Checks:
- A failed try is retried within the limits of count and time, at another broker name that has queues of the topic, if
  the producer has one. Exceptions: the message has a fixed queue, is one-way, or the refusal is one that any broker
  gives.
- Each try goes to a node that the producer's newest route names as a master.
- A stored message is not sent again, whatever its status, and there is one try at a time.
- Sends without a fixed queue use another queue each time, if there are two and nothing fails.
- ok reports status and queue of the last try; fail is reported only if no try may have stored the message.
- No send fails before its first try, unless its time is over or there is no route. There must be a route if the master
  was registered with the topic before, no second master of its name ran, administrators left it a queue to write, and
  all of them, master, name server and links have been undisturbed for ``SETTLED_NS``.
- A send ends within its limit and a name server's timeouts; it does not time out sooner.
- The master's log holds a message at most once per try at the master.
Abstains when:
- The producer does not choose queues and retry itself, or the copy is one that a consumer sent back.
- Tries are not recorded.
- A broker may not be written (brokerPermission): not applicable.
Source: DefaultMQProducerImpl.sendDefaultImpl, TopicPublishInfo.selectOneMessageQueue, MQFaultStrategy (off by default).
"""

from __future__ import annotations

from ....event_types.client import Fail, Info, Invoke, Ok, Try
from ....history import MS, UNREADABLE, Event
from ....judging.law import CONVENTION, EVERY, EventFilter, only
from ....texts.content import payload
from ...event_types.groups import Ask
from ...event_types.log import Audit
from ...known.calls import Begun
from ...known.tables import WRITE
from ...law import Law
from ...topology import MASTER, NAMES, masters_of
from ..acks.ack_refused_is_absent import UNKNOWN_ERROR

RETRIED = frozenset(
    {"TOPIC_NOT_EXIST", "SERVICE_NOT_AVAILABLE", "SYSTEM_ERROR", "NO_PERMISSION", "timeout", "disconnected", "refused"}
)
"""Statuses after which a producer may retry."""
TIMEOUT, NO_ROUTE = "timeout", "no route"
NO_RETRY = frozenset({TIMEOUT, NO_ROUTE, "closed"})
"""Statuses of a send that explain why it was not retried."""
TARGETS = (MASTER, NAMES, f"names-{MASTER}", "names-client")
SETTLED_NS = 80_000 * MS
"""A broker registers at least every 60 s; a producer asks for the route before it gives up."""
PRODUCE, ONE_WAY = "produce", "one-way"
ANYWHERE = frozenset({"turn", ONE_WAY})
ROUTE_TIMEOUTS_MS = 6_000


class Produce:
    """A send in flight, and its tries."""

    def __init__(self, begun: Begun[Invoke]) -> None:
        self.invoke = begun.call
        options = payload(begun.call.detail)
        self.how, self.producer = str(options.get("how", "")), options.get("producer")
        self.most, self.within_ns = int(options.get("tries", 1)), int(options.get("within", 0)) * MS
        began = [each for each in begun.tries if each.f == "began"]
        self.tries = len(began)
        self.began = began[-1] if began else None
        last = begun.tries[-1] if begun.tries else None
        self.ended = None if last is None or last.f == "began" else last
        """The end of the last try; None while it is in flight."""
        self.open = any(each.f == "info" or UNKNOWN_ERROR in (each.remark or "") for each in begun.tries if _ends(each))
        """Whether a try without a known result may have stored it."""


class ProducerTries(Law):
    kind = CONVENTION
    needs = frozenset({"invoke", "ok", "try"})
    ignored_nodes = frozenset()
    awaits = {"invoke": EventFilter(frozenset({PRODUCE})), "try": EVERY}
    timed = True

    def applies(self) -> bool:
        return self.known.is_allowed(WRITE)

    def begin(self) -> None:
        self.last: dict[object, tuple[Try, int]] = {}
        """By producer: its last try without a fixed queue, and ``failures`` at that time."""
        self.failures = 0
        """A failure lets a producer skip queues, which no try records."""
        self.tried: dict[str, int] = {}
        self.masters: dict[str, set[str]] = {}
        """By client: the masters in its newest route."""

    def _produce(self, event: Event) -> Produce | None:
        begun = self.known.calls.begun(event)
        return Produce(begun) if begun is not None and begun.call.f == PRODUCE else None

    @only("route")
    def on_ask(self, event: Ask) -> None:
        if event.status == "answered" and event.group is None:
            self.masters[event.client] = masters_of(payload(event.detail).values())

    def on_try(self, event: Try) -> None:
        call = self._produce(event)
        if call is None:
            return
        if event.f == "began":
            self._begin_try(call, event)
        elif event.f != "ok" and event.status != ONE_WAY:
            self.failures += 1

    def _begin_try(self, call: Produce, event: Try) -> None:
        self.judged += 1
        wrong = self._wrong_retry(call, event) if call.began is not None else self._wrong_first_try(call, event)
        named = self.masters.get(f"p{call.producer}", {event.node})
        if event.node not in named:
            wrong = f"is sent to {event.node}; the newest route names {', '.join(sorted(named)) or 'no master'}"
        if wrong is not None:
            self.violate(event, f"{event.message} {wrong}", since=None)
        if call.how in ANYWHERE:
            self.last[call.producer] = event, self.failures
        if event.node == MASTER:
            self.tried[event.message] = self.tried.get(event.message, 0) + 1

    @staticmethod
    def _wrong_retry(call: Produce, event: Try) -> str | None:
        """Describe the violation of a retry, if any."""
        before, ended = call.began, call.ended
        if ended is None:
            return "is tried twice at the same time"
        if ended.f == "ok":
            return f"was stored ({ended.status}), and is sent again"
        if call.tries >= call.most:
            return f"is tried more often than {call.most} times"
        if ended.status not in RETRIED:
            return f"was refused ({ended.status}), and is sent again"
        if before is not None and before.node == event.node and _known(event)[0] > 1:
            return f"failed at {event.node} ({ended.status}), and is tried there again; other brokers have queues"
        return None

    def _wrong_first_try(self, call: Produce, event: Try) -> str | None:
        """Describe a first try that takes the queue of the last message."""
        before, failures = self.last.get(call.producer, (None, 0))
        if call.how not in ANYWHERE or before is None or failures != self.failures:
            return None
        known = _known(event)
        if known != _known(before) or known[1] < 2 or (before.node, before.queue) != (event.node, event.queue):
            return None
        return f"goes to {event.queue}, as the message before it did; there are {known[1]} queues"

    @only(PRODUCE)
    def on_ok(self, event: Ok) -> None:
        call = self._ends(event)
        if call is None:
            return
        ended = call.ended
        if ended is None or ended.f != "ok":
            self.violate(event, f"{event.message} was reported {event.status}; no try was answered so", since=None)
        elif (ended.status, ended.node, ended.queue) != (event.status, event.node, event.queue):
            reported = f"{event.status}, {event.queue} of {event.node}"
            answered = f"{ended.status}, {ended.queue} of {ended.node}"
            self.violate(event, f"{event.message} was reported {reported}; its last try was {answered}", since=None)

    @only(PRODUCE)
    def on_fail(self, event: Fail) -> None:
        call = self._ends(event)
        if call is None:
            return
        self.failures += 1
        if call.open or (call.ended is not None and call.ended.f == "ok"):
            self.violate(
                event, f"{event.message} was reported as failed ({event.status}); it may be stored", since=None
            )
        self._gave_up(call, event)
        why = "" if call.tries else self._untried(event, call.invoke.t)
        if why:
            self.violate(event, f"{event.message} failed before it was tried: {why}", call.invoke.t)

    def _untried(self, event: Fail, began: int) -> str:
        """Describe why a send must not fail before its first try; empty if it may."""
        if event.status not in NO_RETRY:
            return event.status
        naming = self.known.naming
        if event.status != NO_ROUTE or not naming.knows(MASTER) or naming.joined.get(MASTER, began) > began:
            return ""
        # Perhaps the topic's entry is missing; or the name server took the topics of a second master of the name, and
        # takes the master's own again only with another data version.
        if self.known.stores.may_lack_files(MASTER) or naming.replaced(MASTER):
            return ""
        if not self.known.tables.is_routed(MASTER, event.queue, event.t - SETTLED_NS):
            return ""
        if not self.known.disturbances.is_undisturbed(max(0, event.t - SETTLED_NS), *TARGETS):
            return ""
        return f"{NO_ROUTE}; the master is registered, and all targets were undisturbed"

    @only(PRODUCE)
    def on_info(self, event: Info) -> None:
        call = self._ends(event)
        if call is None:
            return
        if call.how != ONE_WAY:
            self.failures += 1
        if not call.open and event.status != UNREADABLE:
            self.violate(event, f"{event.message} was reported as unknown ({event.status}); no try is", since=None)
        if event.status != UNREADABLE:
            self._gave_up(call, event)

    def _ends(self, event: Fail | Info | Ok) -> Produce | None:
        call = self._produce(event)
        if call is not None:
            self.judged += 1
            began = call.invoke.t
            if event.t - began > call.within_ns + ROUTE_TIMEOUTS_MS * MS + self.known.healthy_ns:
                took = f"{(event.t - began) / MS:.0f} ms"
                self.violate(event, f"{event.message} took {took}; its limit is {call.within_ns // MS} ms", since=began)
            of_try = call.ended is not None and call.ended.status == TIMEOUT
            if event.status == TIMEOUT and not of_try and event.t - began < call.within_ns:
                took = f"{(event.t - began) / MS:.0f} ms"
                what = f"{event.message} timed out after {took}; its limit is {call.within_ns // MS} ms"
                self.violate(event, what, since=began)
        return call

    def _gave_up(self, call: Produce, event: Fail | Info) -> None:
        ended = call.ended
        if ended is None or call.tries >= call.most or event.status in NO_RETRY or ended.status not in RETRIED:
            return
        if event.t - call.invoke.t < call.within_ns:
            self.violate(event, f"{event.message} was given up after {call.tries} tries ({ended.status})", since=None)

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        copies: dict[str, set[int]] = {}
        for each in self.known.audits.records(event):
            if each.message in self.tried and "times" not in payload(each.detail):
                copies.setdefault(each.message, set()).add(each.lo)
        for message, found in copies.items():
            self.judged += 1
            if len(found) > self.tried[message]:
                what = f"the master's log holds {message} {len(found)} times"
                self.violate(event._replace(message=message), f"{what}; it was tried {self.tried[message]} times", None)


def _ends(event: Try) -> bool:
    return event.f != "began"


def _known(event: Try) -> tuple[int, int]:
    """The numbers of broker names and queues that a producer chose from."""
    counts = payload(event.remark)
    return int(counts.get("names", 0)), int(counts.get("queues", 0))
