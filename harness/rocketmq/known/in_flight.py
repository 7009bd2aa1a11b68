"""Sends to the master in flight: when it stored them, which sends they wait for, and the age of their connections.

Calls of one client share a connection, so an answer may queue after all calls that were in flight with it. Bounded by
the sends in flight and the clients. Left out: sends to other nodes, and messages of a batch except its last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...event_types.client import Fail, Info, Invoke, Ok
from ...texts.content import is_followed, payload
from ..event_types.log import Append
from ..topology import MASTER
from .possible import NO_ANSWER

if TYPE_CHECKING:
    from .model import Known

REQUEST_BYTES = 4_096
"""The size of a request in a lab's network delays; a larger request counts as several."""
TURNS = frozenset({"PUT_OK", "FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"})
"""Answers to sends that have waited for a slave, in order if answers are ordered."""
NO_TURN = "SLAVE_NOT_AVAILABLE"
"""The only answer to a stored send that never waited for a slave."""
NEVER = -1


def requests(call: Invoke) -> int:
    """The number of usual requests with the network delay of this call."""
    return 1 + int(payload(call.detail).get("size", 0)) // REQUEST_BYTES


@dataclass(slots=True, eq=False)
class Client:
    in_flight: int = 0
    burst: int = 0
    """Calls since it last had none in flight, a large one counted as several."""
    known_good_ns: int | None = None
    """The time of its last answer before this burst, or of the beginning of its connection."""


@dataclass(slots=True, eq=False)
class Send:
    op: int
    message: str | None
    invoked_ns: int
    waits: bool
    client: Client
    incarnation: int
    """How many incarnations of the master had ended when the call began."""
    appended_ns: int | None = None
    lo: int | None = None
    hi: int | None = None
    before: Send | None = None
    """The last stored waiting send when the master stored this one."""
    answered_ns: int | None = None
    """The end of its turn; None if unknown, because it had no answer, or one that does not show it."""
    passed_by: bool = False
    """It was answered without a turn in the queue of waiting sends."""

    @property
    def began_ns(self) -> int:
        """When the master stored it; when the call began if that was not recorded."""
        return self.invoked_ns if self.appended_ns is None else self.appended_ns

    def turn_ns(self) -> int | None:
        """When every waiting send that was stored before this one had been answered; None if unknown."""
        before = self.before
        while before is not None and before.passed_by:
            before = before.before
        if self.appended_ns is None or before is None:
            return self.appended_ns
        return None if before.answered_ns is None else max(self.appended_ns, before.answered_ns)


UNOBSERVED = Send(0, None, 0, True, Client(), 0)
"""A stored message of an unobserved sender."""


class InFlight:
    def __init__(self, known: Known) -> None:
        self._known = known
        self._clients: dict[int | None, Client] = {}
        self._open: dict[str | None, Send] = {}
        self._newest: tuple[int, Send | None] = 0, None
        """The last stored waiting send, and its incarnation."""

    def __bool__(self) -> bool:
        return bool(self._open)

    def ended_by(self, event: Fail | Info | Ok) -> Send | None:
        """The send that this event ends; None if the called incarnation has ended, or is being stopped."""
        send = self._open.get(event.message)
        if send is None or send.op != event.op or not self._known.calls.is_current(event):
            return None
        if send.appended_ns is None and event.hi is not None:
            send.lo, send.hi = event.lo, event.hi
        return send

    def open_sends(self) -> Iterator[Send]:
        """Open sends to the master's current incarnation."""
        ended = self._known.nodes.ended(MASTER)
        return (each for each in self._open.values() if each.incarnation == ended)

    def invoked(self, event: Invoke) -> None:
        if event.node != MASTER:
            return
        client = self._clients.setdefault(event.process, Client())
        is_up = MASTER in self._known.up
        if not client.in_flight:
            client.burst = 0
        if client.known_good_ns is None:
            # A connection to a master that is down is established some time after the next start.
            client.known_good_ns = event.t if is_up else NEVER
        client.in_flight += 1
        client.burst += requests(event)
        if event.f == "send" and is_up and not is_followed(event):
            ended = self._known.nodes.ended(MASTER)
            self._open[event.message] = Send(event.op, event.message, event.t, bool(event.waits), client, ended)

    def appended(self, event: Append) -> None:
        send = self._open.get(event.message) if event.message is not None else None
        incarnation, newest = self._newest
        ended = self._known.nodes.ended(MASTER)
        if incarnation != ended:
            newest = None
        if send is None or send.incarnation != ended:
            # Unobserved senders may or may not be waiting.
            newest = UNOBSERVED if event.f == "put" else newest
        elif send.appended_ns is None:
            # A delayed message is put again when its time has come.
            send.appended_ns, send.lo, send.hi = event.t, event.lo, event.hi
            if send.waits:
                send.before = newest.before if newest is not None and newest.passed_by else newest
                newest = send
        self._newest = ended, newest

    def ended(self, event: Fail | Info | Ok) -> None:
        if event.node != MASTER:
            return
        send = self.ended_by(event)
        if send is not None:
            send.passed_by = event.status == NO_TURN
            if event.status in TURNS:
                send.answered_ns = event.t
            if not send.passed_by:
                # Otherwise each would keep all earlier ones.
                send.before = None
        if event.f == "send":
            self._open.pop(event.message, None)
        client = self._clients.get(event.process)
        if client is not None:
            client.in_flight -= 1
            if event.kind == "info" or event.status in NO_ANSWER:
                client.known_good_ns = None
            elif not client.in_flight:
                client.known_good_ns = event.t
