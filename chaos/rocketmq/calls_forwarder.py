"""One connection of a broker through its link's taps: the calls that left it, and their answers.

An answer is reported just before it reaches the broker: an answer that the link loses cannot affect the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from ..labs.real.wires import Forwarder
from ..observers.remoting_tap import RESPONSE, Header, RemotingTap, registered_address

REGISTER_BROKER = 103
SUCCESS = 0
MOST_WAITING = 64
"""Unanswered calls of one connection; the oldest are dropped."""
ADDRESSES = ("masterAddr", "haServerAddr")
TABLES: Mapping[int, str] = MappingProxyType({21: "topics", 43: "offsets", 45: "delays", 201: "groups"})
"""By request code: the table that a slave requests from its master."""

Note = Callable[..., None]
"""See :class:`pairproof.chaos.labs.real.taps.Sink`."""


class CallsForwarder(Forwarder):
    """``who``: the broker; ``codes``: of the requests that are reported."""

    def __init__(self, who: str, note: Note, codes: Collection[int]) -> None:
        super().__init__()
        self.who = who
        self.note = note
        self._codes = codes
        self._said, self._hears = RemotingTap(), RemotingTap()
        self._waiting: dict[int, Header] = {}
        """By request number."""

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        for header in self._said.feed(data):
            if header.code in self._codes and not header.flag & RESPONSE:
                self._waiting[header.opaque] = header
                while len(self._waiting) > MOST_WAITING:
                    del self._waiting[next(iter(self._waiting))]
                self.asked(header.code)

    def client_receives(self, data: bytes) -> None:
        super().client_receives(data)
        for header in self._hears.feed(data):
            request = self._waiting.pop(header.opaque, None) if header.flag & RESPONSE else None
            if request is not None:
                self.answered(request, header)

    def asked(self, code: int) -> None:
        """A request has left the broker."""

    def answered(self, request: Header, answer: Header) -> None:
        """Its answer is about to reach the broker."""


class NamesForwarder(CallsForwarder):
    """To the name server: registrations."""

    def __init__(self, who: str, note: Note) -> None:
        super().__init__(who, note, (REGISTER_BROKER,))

    def answered(self, request: Header, answer: Header) -> None:
        status = "ok" if answer.code == SUCCESS else "failed"
        addresses = (answer.fields.get(each) or None for each in ADDRESSES)
        self.note("answered", self.who, status, *addresses, registered_address(request.fields))


class TablesForwarder(CallsForwarder):
    """A slave's to its master: table fetches. The slave's own log reports failed fetches."""

    def __init__(self, who: str, note: Note) -> None:
        super().__init__(who, note, TABLES)

    def asked(self, code: int) -> None:
        self.note("fetched", self.who, TABLES[code], "asked")

    def answered(self, request: Header, answer: Header) -> None:
        if answer.code == SUCCESS:
            self.note("fetched", self.who, TABLES[request.code], "answered")
