"""How far a node has dispatched its log: the required entries of its queues and its key index, and the readable
messages.

A node has dispatched its whole log if it reports so, or if nothing arrived for a second without a fault. The extent of
an index is not observable, so for a black box, which does not report it, only the second condition counts.

Bounded by the nodes' dispatch steps.
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
        """The reported dispatch of a node's current incarnation."""
        self.steps: dict[tuple[str, int], list[Step]] = {}
        """By node and number of ended incarnations: the dispatched offsets, in order."""
        self.grown: dict[str, int] = {}
        """The last growth of a node's log, or its last start, ns; without recorded appends, the last possible
        growth.
        """

    def shown(self, node: str) -> int | None:
        """The end of the readable log of a node, which dispatches its whole log before it serves."""
        return self.reached.get(node, self._known.logs.recovered.get(node))

    def has_all(self, event: Event, upto: int | None = None) -> bool:
        """Whether the event's node has dispatched its whole log, or its log up to an offset."""
        known, node, now = self._known, event.node or "", event.t
        end = known.logs.ends.get(node) if upto is None else upto
        if end is not None and self.reached.get(node, -1) >= end and not known.is_a_black_box(node):
            return True
        grown = self.grown.get(node, 0)
        rested = now - grown - known.disturbances.unavailable_ns(node, grown, now) > REST_NS + known.pool_ns(node)
        return rested and known.disturbances.undisturbed_and_punctual(grown, now, node)

    def present(self, node: str) -> list[Step]:
        """The dispatch steps of a node since it was started."""
        return self.steps.get(self._incarnation(node), [])

    def _incarnation(self, node: str) -> tuple[str, int]:
        return node, self._known.nodes.ended(node)

    def dispatch(self, event: Dispatch) -> None:
        self.reached[event.node] = event.upto
        self.steps.setdefault(self._incarnation(event.node), []).append(Step(event.upto, event.t))

    def started(self, event: Start) -> None:
        """A node may have dispatched before it reports its start; reports before a truncation are void."""
        if self.reached.get(event.node, 0) > (event.hi or 0):
            del self.reached[event.node]
        self.grown[event.node] = event.t
        self.steps.pop(self._incarnation(event.node), None)

    def ended(self, event: Crash | Stop) -> None:
        self.reached.pop(event.node, None)
