"""Deadlines of a send's answer, shared by the laws about the time of an ack.

A law states from when and for how long the master may take. Here are the excuses for a delay:

- A call is judged only if the client's link to the master was undisturbed since its connection was last known good.
- A call is judged only within one incarnation of the master: its end cancels every pending answer.
- A pause of the master extends the deadline.
- Calls of one client share a connection: an answer may queue behind as many as were in flight with it.
- Sends to slaves are not judged, nor calls of clients with a connection that may have ended with the master.
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


class Deadline(NamedTuple):
    """An answer must be sent ``within_ns`` of ``since_ns``."""

    since_ns: int
    within_ns: int


class AnswerTimes(Law):
    timed = True

    def deadline(self, call: Send) -> Deadline | None:
        """The deadline of this send's answer, computed when its call ends; None without one."""
        raise NotImplementedError

    def promised(self, deadline: Deadline) -> str:
        raise NotImplementedError

    def flushed_ns(self, call: Send) -> int | None:
        """When the master's log was first durable up to this send's end; None if never, or if not recorded."""
        return None if call.hi is None else self.known.logs.flushed_ns(call.hi)

    @only("send", node=MASTER)
    def on_ok(self, event: Fail | Info | Ok) -> None:
        call = self.known.in_flight.ended_by(event)
        if call is not None:
            self._judge(call, event, event.kind != "info" and event.status not in NO_ANSWER)

    on_fail = on_info = on_ok

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        """Deadlines that passed before the master's end still count."""
        self.end(event)

    def end(self, last: Event) -> None:
        for call in self.known.in_flight.open_sends():
            self._judge(call, last._replace(message=call.message), False)

    def _judge(self, call: Send, event: Event, answered: bool) -> None:
        deadline = self.deadline(call) if self.applicable else None
        if deadline is None or not self._is_sound(call):
            return
        way_ns = self.known.healthy_ns * (1 + call.client.burst)
        took_ns = spent_ns(self.known, MASTER, deadline.since_ns, event.t)
        late = took_ns > deadline.within_ns + ROUND_NS + way_ns
        if answered or late:
            self.judged += 1
        if late:
            what = f"answered after {took_ns / MS:.3f} ms" if answered else f"not answered for {took_ns / MS:.3f} ms"
            self.violate(event, f"{event.message} was {what}; {self.promised(deadline)}", since=deadline.since_ns)

    def _is_sound(self, call: Send) -> bool:
        since = call.client.known_good_ns
        if since is None or not self.known.disturbances.is_unaffected(CLIENT_LINK, since):
            return False
        return call.appended_ns is not None or since >= self.known.nodes.last_start(MASTER)
