"""Sends of clients, the master's appends of them, and later requests about them: ends of transactions, and send-backs.

A request names its message by the beginning of the record. The master *took* one that it answered with success in the
called incarnation. Left out: the master of another broker name, whose messages have the same names. Bounded by the
sends and requests of one trial.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Generic, TypeVar

from ...event_types.client import SENDS, Invoke, Ok
from ...texts.content import payload, waits_first
from ..event_types.groups import Back
from ..event_types.log import Append
from ..event_types.transactions import Decide
from ..topology import OTHER
from .calls import Calls

Asked = TypeVar("Asked", Back, Decide)


class Request(Generic[Asked]):
    __slots__ = ("at", "event", "said", "taken")

    def __init__(self, event: Asked) -> None:
        self.event: Asked = event
        self.said = payload(event.detail)
        self.at = int(self.said.get("at", -1))
        """The beginning of the message's record."""
        self.taken: int | None = None
        """When the master took it, ns."""


class Sent:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.sends: dict[str | None, Invoke] = {}
        """By message, the last one."""
        self.halves: dict[str | None, Invoke] = {}
        self.answered: dict[str | None, Ok] = {}
        self.repeated: set[str | None] = set()
        """Messages that may be stored several times, and after a crash at the same position at another time."""
        self.puts: dict[int, list[Append]] = {}
        """All appends at a position of a log."""
        self.ends: dict[tuple[int, int], Request[Decide]] = {}
        self.backs: dict[tuple[int, int], Request[Back]] = {}
        """By process and operation."""
        self._larger: list[tuple[int, int]] = [(-1, 0)]

    def tag(self, message: str | None) -> str | None:
        """A message's tag; empty without one, None if its send was not observed or has no details."""
        send = self.sends.get(message)
        sent = {} if send is None else payload(send.detail)
        return str(sent.get("tags", "")) if sent else None

    def largest(self, seq: int) -> int:
        """The bytes of the largest known body that was sent up to an event."""
        return self._larger[bisect_right(self._larger, seq, key=lambda step: step[0]) - 1][1]

    def invoked(self, event: Invoke) -> None:
        if event.f not in SENDS or event.node == OTHER:
            return
        message, sent = event.message, payload(event.detail)
        if message in self.sends or waits_first(event) or event.f == "produce":
            self.repeated.add(message)
        self.sends[message] = event
        if sent.get("half"):
            self.halves[message] = event
        size = int(sent.get("size", 0))
        if size > self._larger[-1][1]:
            self._larger.append((event.seq, size))

    def answer(self, event: Ok) -> None:
        if event.f in SENDS and event.node != OTHER:
            self.answered[event.message] = event

    def put(self, event: Append) -> None:
        if event.f == "put" and event.node != OTHER:
            self.puts.setdefault(event.lo, []).append(event)

    def decided(self, event: Decide) -> None:
        self._requested(event, self.ends)

    def sent_back(self, event: Back) -> None:
        self._requested(event, self.backs)

    def _requested(self, event: Asked, known: dict[tuple[int, int], Request[Asked]]) -> None:
        """Called before the model forgets the question."""
        key = (event.process, event.op)
        if event.f == "asked" and event.node != OTHER:
            known[key] = Request(event)
        elif event.f == "ok" and key in known and self._calls.is_current(event):
            known[key].taken = event.t
