"""When answers to sends were due: what the laws about the time of an acknowledgement share.

A law says from when on a send's answer was owed, and for how long the master may take; here is what else may excuse a
delay. Judged only for clients whose link to the master has been quiet since their connection was last known to be good,
and only in one incarnation of the master: its end takes every answer that is still owed. A pause of the master extends
the time. Calls of one client share a connection, so an answer may queue behind as many as were under way with it.

Left out: sends to slaves, and clients of which nobody knows whether their connection outlived the master's.
"""

from __future__ import annotations

from typing import NamedTuple

from pairproof.harness.content import is_followed, told
from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash
from pairproof.harness.rocketmq.kinds.log import Append
from pairproof.harness.rocketmq.known.deadlines import spent_ns
from pairproof.harness.rocketmq.known.possible import NO_ANSWER
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER

ROUND_NS = 10 * MS
"""One idle round of RocketMQ's group commit and group transfer services."""
CLIENT_LINK = "client-master"
REQUEST_BYTES = 4_096
"""Of one request, with which a lab counts what a call spends on the way; a larger one spends as much as several."""
TURNS = frozenset({"PUT_OK", "FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"})
"""Answers to sends that have waited for a slave, each in its turn where there are turns."""
NEVER = -1
NO_TURN = "SLAVE_NOT_AVAILABLE"
"""The one answer that shows that a stored send never waited for a slave."""


def requests(call: Invoke) -> int:
    """How many requests of the usual size spend as much on the way as this call."""
    return 1 + int(told(call.detail).get("size", 0)) // REQUEST_BYTES


class Owed(NamedTuple):
    """An answer must be on its way ``within_ns`` of ``since_ns``."""

    since_ns: int
    within_ns: int


class Call:
    """A send in flight."""

    __slots__ = (
        "answered_ns", "appended_ns", "before", "client", "hi", "incarnation", "invoked_ns", "lo", "op", "passed_by",
        "waits",
    )  # fmt: skip

    def __init__(self, op: int, invoked_ns: int, waits: bool, client: Client, incarnation: int) -> None:
        self.op, self.client = op, client
        self.incarnation = incarnation
        """The master's: how many had ended when the call began."""
        self.waits = waits
        self.invoked_ns = invoked_ns
        self.appended_ns: int | None = None
        self.lo: int | None = None
        self.hi: int | None = None
        self.before: Call | None = None
        """The waiting send that the master had stored last when it stored this one."""
        self.answered_ns: int | None = None
        """When its turn was over; None if that is not known: it was not answered, or in a way that does not tell."""
        self.passed_by = False
        """It was answered without a turn in the queue of those that wait."""


class Client:
    """One client's connection to the master."""

    __slots__ = ("burst", "in_flight", "known_good_ns")

    def __init__(self) -> None:
        self.in_flight = 0
        self.burst = 0
        """Calls since it last had none in flight, a large one counted as several."""
        self.known_good_ns: int | None = None
        """When its last answer before this burst came, or its connection was begun."""


NOBODYS = Call(0, 0, True, Client(), 0)
"""A message that the master stored for somebody who is not seen."""


class AnswerTimes(Law):
    """Subclasses define :meth:`owed`."""

    timed = True

    def begin(self) -> None:
        self.clients: dict[int | None, Client] = {}
        self.sends: dict[str | None, Call] = {}
        """Sends in flight to the master, by message."""
        self.newest: tuple[int, Call | None] = 0, None
        """The waiting send that the master stored last, and in which incarnation."""

    def owed(self, call: Call) -> Owed | None:
        """What the master owes this send, by what is known when its call ends; None if nothing."""
        raise NotImplementedError

    def promised(self, owed: Owed) -> str:
        raise NotImplementedError

    def flushed_ns(self, call: Call) -> int | None:
        """When the master's log was first durable up to this send's end; None if it is not, or nobody says."""
        return None if call.hi is None else self.known.logs.flushed_ns(call.hi)

    @staticmethod
    def turn_ns(call: Call) -> int | None:
        """When every waiting send that was stored before this one had been answered; None if that is not known."""
        before = call.before
        while before is not None and before.passed_by:
            before = before.before
        if call.appended_ns is None or before is None:
            return call.appended_ns
        return None if before.answered_ns is None else max(call.appended_ns, before.answered_ns)

    # What happens.

    def on_invoke(self, event: Invoke) -> None:
        if event.node != MASTER:
            return
        client = self.clients.setdefault(event.process, Client())
        if not client.in_flight:
            client.burst = 0
        if client.known_good_ns is None:
            # A connection that was begun to a dead master stands some time after the next one's birth.
            client.known_good_ns = event.t if MASTER in self.known.up else NEVER
        client.in_flight += 1
        client.burst += requests(event)
        if event.f == "send" and MASTER in self.known.up and not is_followed(event):
            ended = self.known.nodes.ended(MASTER)
            self.sends[event.message] = Call(event.op, event.t, bool(event.waits), client, ended)

    def on_append(self, event: Append) -> None:
        if event.node != MASTER:
            return
        call = self.sends.get(event.message) if event.message is not None else None
        incarnation, newest = self.newest
        ended = self.known.nodes.ended(MASTER)
        if incarnation != ended:
            newest = None
        if call is None or call.incarnation != ended:
            # Of what others had it store nobody knows whether it waits.
            newest = NOBODYS if event.f == "put" else newest
        elif call.appended_ns is None:
            # A delayed message is put once more when its time has come.
            call.appended_ns, call.lo, call.hi = event.t, event.lo, event.hi
            if call.waits:
                call.before = newest.before if newest is not None and newest.passed_by else newest
                newest = call
        self.newest = ended, newest

    def on_crash(self, event: Crash) -> None:
        """A dead master owes nothing, but what it owed for too long before it died."""
        if event.node == MASTER:
            self._unanswered(event)

    def on_ok(self, event: Ok | Fail) -> None:
        self._ended(event, event.status not in NO_ANSWER)

    on_fail = on_ok

    def on_info(self, event: Info) -> None:
        self._ended(event, False)

    def end(self, last: Event) -> None:
        self._unanswered(last)

    def _unanswered(self, event: Event) -> None:
        ended = self.known.nodes.ended(MASTER)
        for message, call in self.sends.items():
            if call.incarnation == ended:
                self._judge(call, event._replace(message=message), False)

    def _call(self, event: Fail | Info | Ok) -> Call | None:
        """The send that this event ends; None if the incarnation that was asked has ended, or is being stopped."""
        call = self.sends.get(event.message)
        is_sent = call is not None and call.op == event.op and self.known.calls.is_current(event)
        return call if is_sent else None

    def _ended(self, event: Fail | Info | Ok, answered: bool) -> None:
        if event.node != MASTER:
            return
        call = self._call(event)
        if call is not None:
            if call.appended_ns is None and event.hi is not None:
                call.lo, call.hi = event.lo, event.hi
            call.passed_by = event.status == NO_TURN
            if event.status in TURNS:
                call.answered_ns = event.t
            self._judge(call, event, answered)
            if not call.passed_by:
                # Or each would keep all before it.
                call.before = None
        if event.f == "send":
            self.sends.pop(event.message, None)
        client = self.clients.get(event.process)
        if client is not None:
            client.in_flight -= 1
            if not answered:
                client.known_good_ns = None
            elif not client.in_flight:
                client.known_good_ns = event.t

    def _judge(self, call: Call, event: Event, answered: bool) -> None:
        owed = self.owed(call) if self.applicable else None
        if owed is None or not self._is_sound(call):
            return
        way_ns = self.known.healthy_ns * (1 + call.client.burst)
        took_ns = spent_ns(self.known, MASTER, owed.since_ns, event.t)
        late = took_ns > owed.within_ns + ROUND_NS + way_ns
        if answered or late:
            self.judged += 1
        if late:
            what = f"answered after {took_ns / MS:.3f} ms" if answered else f"not answered for {took_ns / MS:.3f} ms"
            self.violate(event, f"{event.message} was {what}; {self.promised(owed)}", since=owed.since_ns)

    def _is_sound(self, call: Call) -> bool:
        """Whether the client's connection was good all the time."""
        since = call.client.known_good_ns
        if since is None or not self.known.trouble.is_quiet(CLIENT_LINK, since):
            return False
        return call.appended_ns is not None or since >= self.known.nodes.born(MASTER)
