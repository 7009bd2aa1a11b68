"""What laws about queues and index share: has a node dispatched and indexed all that its log holds?

It has where it says so, or where nothing had arrived for a second without a fault. Nobody can see how far an index
goes, so of a black box, which does not say it, only the second counts.
"""

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.client import Ok
from pairproof.harness.kinds.node import Crash, Start, Stop
from pairproof.harness.rocketmq.kinds.ha import Frame
from pairproof.harness.rocketmq.kinds.log import Append, Dispatch
from pairproof.harness.rocketmq.law import Law

REST_NS = 1_000 * MS


class Dispatching(Law):
    """Base of such laws. Bounded by the number of nodes."""

    def begin(self) -> None:
        self.blind = "append" not in self.known.observes
        self.reached: dict[str, int] = {}
        """How far a node says that it has dispatched, in its present life."""
        self.grown: dict[str, int] = {}
        """When a node's log grew, or the node was started, last, ns."""

    def on_append(self, event: Append | Start) -> None:
        self.grown[event.node] = event.t

    on_start = on_append

    def on_frame(self, event: Frame) -> None:
        """Where no appends are seen, a slave may have something to dispatch."""
        if self.blind and event.side == "s":
            self.grown[event.node] = event.t

    def on_ok(self, event: Ok) -> None:
        if self.blind and event.f == "send":
            self.grown[event.node] = event.t

    def on_dispatch(self, event: Dispatch) -> None:
        """Where only queues are seen, the index may not have it yet."""
        if not self.known.is_a_black_box(event.node):
            self.reached[event.node] = event.upto

    def on_crash(self, event: Crash | Stop) -> None:
        self.reached.pop(event.node, None)

    on_stop = on_crash

    def keeps_index(self, node: str) -> bool:
        return self.known.derived_under.indexed(node) is True

    def has_dispatched(self, event: Event, upto: int | None = None) -> bool:
        """Whether the event's node has, now: all that it holds, or its log up to an offset."""
        node, now = event.node or "", event.t
        trouble, end = self.known.trouble, self.known.ends.get(node) if upto is None else upto
        if end is not None and self.reached.get(node, -1) >= end:
            return True
        grown = self.grown.get(node, 0)
        rested = now - grown - trouble.still_ns(node, grown, now) > REST_NS
        return rested and trouble.is_calm(grown, now, node)
