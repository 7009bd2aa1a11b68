"""How far a node has dispatched its log: what its queues and its key index must have, and what its readers may see.

A node has dispatched all that its log holds where it says so, or where nothing had arrived for a second without a
fault. Nobody can see how far an index goes, so of a black box, which does not say it, only the second counts.

Bounded by the steps in which nodes dispatch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...event_types.node import Crash, Start, Stop
from ...history import MS, Event
from ..event_types.log import Dispatch

if TYPE_CHECKING:
    from .model import Known

REST_NS = 1_000 * MS


class Step(NamedTuple):
    """How far a node had dispatched its log, and since when, ns."""

    upto: int
    since: int


class Dispatched:
    def __init__(self, known: Known) -> None:
        self._known = known
        self.reached: dict[str, int] = {}
        """How far a node says that it has dispatched, in its present incarnation."""
        self.steps: dict[tuple[str, int], list[Step]] = {}
        """By node and how many of its incarnations had ended: how far it had come, in order."""
        self.grown: dict[str, int] = {}
        """When a node's log grew, or the node was started, last, ns; where no appends are seen, when it may have."""

    # What laws ask.

    def shown(self, node: str) -> int | None:
        """Up to where readers may see a node's log; it dispatches all that its log holds before it serves."""
        return self.reached.get(node, self._known.logs.recovered.get(node))

    def has_all(self, event: Event, upto: int | None = None) -> bool:
        """Whether the event's node has dispatched, now, all that it holds, or its log up to an offset."""
        known, node, now = self._known, event.node or "", event.t
        end = known.logs.ends.get(node) if upto is None else upto
        if end is not None and self.reached.get(node, -1) >= end and not known.is_a_black_box(node):
            return True
        grown = self.grown.get(node, 0)
        rested = now - grown - known.disturbances.still_ns(node, grown, now) > REST_NS
        return rested and known.disturbances.is_calm(grown, now, node)

    def present(self, node: str) -> list[Step]:
        """How far a node has come, step by step, since it was started."""
        return self.steps.get(self._incarnation(node), [])

    def _incarnation(self, node: str) -> tuple[str, int]:
        return node, self._known.nodes.ended(node)

    # What the judge reports.

    def dispatch(self, event: Dispatch) -> None:
        self.reached[event.node] = event.upto
        self.steps.setdefault(self._incarnation(event.node), []).append(Step(event.upto, event.t))

    def started(self, event: Start) -> None:
        """A node may have dispatched before it says that it is up; what it said before a cut counts no more."""
        if self.reached.get(event.node, 0) > (event.hi or 0):
            del self.reached[event.node]
        self.grown[event.node] = event.t
        self.steps.pop(self._incarnation(event.node), None)

    def ended(self, event: Crash | Stop) -> None:
        self.reached.pop(event.node, None)
