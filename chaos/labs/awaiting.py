"""Counts the trial's own events that a lab waits for. Each event is checked once, so polling is cheap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...harness.history import Event


class Awaiting:
    """Counts the events that match ``happens`` in ``events``, a growing list, from its present end on."""

    def __init__(self, events: Sequence[Event], happens: Callable[[Event], bool], count: int) -> None:
        self.events = events
        self.happens = happens
        self.wanted = count
        self.seen = 0
        self._next = len(events)

    def reached(self) -> bool:
        events = self.events
        while self._next < len(events) and self.seen < self.wanted:
            self.seen += self.happens(events[self._next])
            self._next += 1
        return self.seen >= self.wanted
