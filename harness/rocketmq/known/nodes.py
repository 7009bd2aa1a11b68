"""Incarnations of nodes: when each was started, when it ended, and how.

An incarnation begins with a node's ``start`` and ends with its ``crash`` or ``stop``, or with the next ``start`` where
nobody saw it end. Bounded by the number of nodes.
"""

from __future__ import annotations

from ...event_types.node import Crash, Start, Stop
from ...history import Event
from ..contract import LIED

STOP, PROCESS, MACHINE = "stop", "process", "machine"
FATES = (STOP, PROCESS, MACHINE, LIED)
"""How an incarnation may end, mildest first: in an orderly way, with its process, with its machine, or so and with what
its disk had called durable."""


class Nodes:
    def __init__(self) -> None:
        self.started_at: dict[str, int] = {}
        """When a node's last incarnation was started, ns."""
        self.ended_at: dict[str, int] = {}
        """When a node's last incarnation to end ended, ns."""
        self.lost_power_at: dict[str, int] = {}
        """When a node's machine last crashed, ns."""
        self.down: dict[str, Crash | Stop] = {}
        """Nodes that are down, and what ended their last incarnation."""
        self._up: set[str] = set()
        self._ends: dict[str, list[int]] = {}
        self._fates: dict[str, str] = {}

    # What laws ask.

    def ended(self, node: str) -> int:
        """How many incarnations of a node have ended: it changes exactly when an answer of the node may be in flight
        from an incarnation that is no more."""
        return len(self._ends.get(node, ()))

    def ended_within(self, node: str, since: int, ns: int) -> bool:
        """Whether an incarnation ended so soon after ``since`` (ns)."""
        return any(since <= end <= since + ns for end in self._ends.get(node, ()))

    def end_of(self, node: str, incarnation: int) -> int | None:
        """When the incarnation ended before which so many had, ns; None if it has not."""
        return self._ends[node][incarnation] if incarnation < self.ended(node) else None

    def is_up(self, node: str) -> bool:
        return node in self._up

    def is_down_since(self, node: str, event: Event) -> bool:
        """Whether a node was down at this event already, and has been ever since."""
        end = self.down.get(node)
        return end is not None and end.seq < event.seq

    def lost_power(self, node: str) -> bool:
        """Whether a node's machine crashed since the node was started last."""
        return self._fates.get(node) in (MACHINE, LIED)

    def fate(self, node: str) -> str | None:
        """The worst that has befallen a node that is down, since it ran: one of :data:`FATES`. None if nobody saw it
        end."""
        return self._fates.get(node)

    def born(self, node: str) -> int:
        """When the node was started last, ns; 0 if it was not."""
        return self.started_at.get(node, 0)

    # What the judge reports.

    def start(self, event: Start) -> None:
        node = event.node
        if node in self._up:
            self._end(node, event.t)
        self._up.add(node)
        self.down.pop(node, None)
        self.started_at[node] = event.t
        self._fates.pop(node, None)

    def end(self, event: Crash | Stop) -> None:
        self._end(event.node, event.t)
        if event.f == MACHINE:
            self.lost_power_at[event.node] = event.t
        self._up.discard(event.node)
        self.down.setdefault(event.node, event)
        how = STOP if event.kind == "stop" else LIED if event.status == LIED else event.f or MACHINE
        self._fates[event.node] = max(how, self._fates.get(event.node, how), key=FATES.index)

    def _end(self, node: str, t: int) -> None:
        self.ended_at[node] = t
        self._ends.setdefault(node, []).append(t)
