"""What a schedule can wait for, and how a lab counts it.

An ``await`` operation lets time pass until something has happened often enough. It is counted in the trial's own
events, each looked at once, so that a lab may ask after every step. Whatever happened before counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from reprlib import repr as short

from pairproof.harness.errors import UsageError
from pairproof.harness.history import Event

HAPPENED: dict[str, Callable[[Event], bool]] = {
    "answered": lambda event: event.f == "send" and event.kind in ("ok", "fail", "info"),
    "acknowledged": lambda event: event.f == "send" and event.kind == "ok" and event.status == "PUT_OK",
    "replicated": lambda event: event.f == "replicate" and event.kind == "append",
    "frames": lambda event: event.side == "s" and event.kind == "frame",
}
"""answered     a send has ended, however it did
acknowledged  a send has ended with PUT_OK
replicated    a slave has appended what a frame brought
frames        a frame, or a heartbeat, has reached a slave
"""


def check_what(what: object) -> None:
    """UsageError, with what is valid, for what cannot be waited for."""
    if what not in HAPPENED:
        raise UsageError(f"nothing called {short(what)} can be awaited; valid: {', '.join(HAPPENED)}")


class Awaiting:
    """Counts one kind of happening in ``events``, a list that grows, from its present end on."""

    def __init__(self, events: Sequence[Event], what: str, count: int) -> None:
        check_what(what)
        self.events = events
        self.counts = HAPPENED[what]
        self.wanted = count
        self.seen = 0
        self._next = len(events)

    def reached(self) -> bool:
        """Whether it has happened often enough."""
        events = self.events
        while self._next < len(events) and self.seen < self.wanted:
            self.seen += self.counts(events[self._next])
            self._next += 1
        return self.seen >= self.wanted
