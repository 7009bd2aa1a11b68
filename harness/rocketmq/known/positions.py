"""The records at each offset of a queue, at one node, in one *content* of its log.

Brokers may hold different messages at one offset, also one broker over time, once a log is truncated or replaced. So a
node's log gets a new content each time that this may have happened, which begins with the remaining records. A record
is seen if a pull delivers it from the called incarnation, or a store reader finds it. Bounded by the records of one
trial, and by its truncations.
"""

from __future__ import annotations

from ...event_types.client import Deliver
from ...event_types.node import Start
from ..event_types.log import Record
from .nodes import Span

Content = dict[tuple[str | None, int | None], set[Span]]
"""By queue and offset."""


class Positions:
    def __init__(self) -> None:
        self._contents: dict[str | None, Content] = {}

    def content(self, node: str | None) -> Content:
        """The current content of a node's log, which later observations extend."""
        return self._contents.setdefault(node, {})

    def seen(self, event: Deliver | Record) -> None:
        if event.queue_offset is not None and event.lo is not None and event.hi is not None:
            self.content(event.node).setdefault((event.queue, event.queue_offset), set()).add(Span(event.lo, event.hi))

    def started(self, event: Start, before: int) -> None:
        """A log is recovered that was known to end at ``before``. An unknown end empties its content."""
        end, content = event.hi or 0, self.content(event.node)
        left = {place: {each for each in spans if each.hi <= end} for place, spans in content.items()}
        if end < before or left != content:
            self._contents[event.node] = {place: spans for place, spans in left.items() if spans}

    def wiped(self) -> None:
        """The new store may be any node's, so no content certainly matches it."""
        self._contents.clear()
