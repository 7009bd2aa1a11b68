"""One connection of a broker through its link's taps: the calls that left it, and their answers.

An answer is reported just before it reaches the broker: an answer that the link loses cannot affect the broker.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from ..labs.real.wires import Forwarder
from ..observers.changed_frames import ChangedFrames
from ..observers.remoting_tap import RESPONSE, Header, RemotingTap, registered_address
from ..plan import NOTHING

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
    """To the name server: registrations. Its client receives the addresses of the client's proxies."""

    def __init__(self, who: str, note: Note, replaced: Mapping[str, str] = NOTHING) -> None:
        """``replaced``: real addresses, and those that the client receives instead."""
        super().__init__(who, note, (REGISTER_BROKER,))
        # In JSON an address is a whole string.
        self._replaced = {f'"{real}"'.encode(): f'"{told}"'.encode() for real, told in replaced.items()}
        self._answers = ChangedFrames(lambda head, body, form: (self._told(head), self._told(body)))

    def changed(self, data: bytes) -> bytes:
        return self._answers.feed(data) if self._replaced else data

    def _told(self, text: bytes) -> bytes:
        for real, proxied in self._replaced.items():
            text = text.replace(real, proxied)
        return text

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
