"""When answers to sends were due: what the laws about the time of an acknowledgement share.

A law says from when on a send's answer was owed, and for how long the master may take; here is what else may excuse a
delay. Judged only for clients whose link to the master has been quiet since their connection was last known to be good,
and only in one incarnation of the master: its end takes every answer that is still owed. A pause of the master extends
the time. Calls of one client share a connection, so an answer may queue behind as many as were under way with it.

Left out: sends to slaves, and clients of which nobody knows whether their connection outlived the master's.
"""

from __future__ import annotations

from typing import NamedTuple

from ....event_types.client import Fail, Info, Ok
from ....event_types.node import Crash
from ....history import MS, Event
from ....judging.law import only
from ...known.deadlines import spent_ns
from ...known.in_flight import Send
from ...known.possible import NO_ANSWER
from ...law import Law
from ...topology import MASTER

ROUND_NS = 10 * MS
"""One idle round of RocketMQ's group commit and group transfer services."""
CLIENT_LINK = "client-master"


class Owed(NamedTuple):
    """An answer must be on its way ``within_ns`` of ``since_ns``."""

    since_ns: int
    within_ns: int


class AnswerTimes(Law):
    """Subclasses define :meth:`owed`."""

    timed = True

    def owed(self, call: Send) -> Owed | None:
        """What the master owes this send, by what is known when its call ends; None if nothing."""
        raise NotImplementedError

    def promised(self, owed: Owed) -> str:
        raise NotImplementedError

    def flushed_ns(self, call: Send) -> int | None:
        """When the master's log was first durable up to this send's end; None if it is not, or nobody says."""
        return None if call.hi is None else self.known.logs.flushed_ns(call.hi)

    @only("send", node=MASTER)
    def on_ok(self, event: Fail | Info | Ok) -> None:
        call = self.known.in_flight.ended_by(event)
        if call is not None:
            self._judge(call, event, event.kind != "info" and event.status not in NO_ANSWER)

    on_fail = on_info = on_ok

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        """A dead master owes nothing, but what it owed for too long before it died."""
        self.end(event)

    def end(self, last: Event) -> None:
        for call in self.known.in_flight.open_sends():
            self._judge(call, last._replace(message=call.message), False)

    def _judge(self, call: Send, event: Event, answered: bool) -> None:
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

    def _is_sound(self, call: Send) -> bool:
        """Whether the client's connection was good all the time."""
        since = call.client.known_good_ns
        if since is None or not self.known.disturbances.is_unaffected(CLIENT_LINK, since):
            return False
        return call.appended_ns is not None or since >= self.known.nodes.last_start(MASTER)
