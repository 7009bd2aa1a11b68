"""Which records were seen at an offset of a queue: at one node, in one *content* of its log.

Brokers may hold different messages at one offset, and one broker after another, from the moment that a log is cut below
what it held or replaced. So a node's log gets a new content each time that this may have happened, which begins with
the records that the cut left. A record is seen where a pull delivers it from the incarnation that was asked, or a store
reader finds it. Bounded by the records of one trial, and by its cuts.
"""

from __future__ import annotations

from typing import NamedTuple

from ...event_types.client import Deliver
from ...event_types.node import Start
from ..event_types.log import Record


class Span(NamedTuple):
    """[lo, hi) of a log."""

    lo: int
    hi: int


Content = dict[tuple[str | None, int | None], set[Span]]
"""By queue and offset."""


class Positions:
    def __init__(self) -> None:
        self._contents: dict[str | None, Content] = {}

    def content(self, node: str | None) -> Content:
        """The present content of a node's log, to which later sightings are added."""
        return self._contents.setdefault(node, {})

    def seen(self, event: Deliver | Record) -> None:
        if event.queue_offset is not None and event.lo is not None and event.hi is not None:
            self.content(event.node).setdefault((event.queue, event.queue_offset), set()).add(Span(event.lo, event.hi))

    def started(self, event: Start, before: int) -> None:
        """A log is recovered that was known to end at ``before``. An unknown end leaves nothing of its content."""
        end, content = event.hi or 0, self.content(event.node)
        left = {place: {each for each in spans if each.hi <= end} for place, spans in content.items()}
        if end < before or left != content:
            self._contents[event.node] = {place: spans for place, spans in left.items() if spans}

    def wiped(self) -> None:
        """The new store may be any node's, so no content is sure to agree with it."""
        self._contents.clear()
