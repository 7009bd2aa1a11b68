"""Incarnations of nodes: the start, the end, and the kind of end.

An incarnation begins with a node's ``start`` and ends with its ``crash`` or ``stop``, or with the next ``start`` if its
end was not observed. Bounded by the number of nodes.
"""

from __future__ import annotations

from typing import NamedTuple

from ...event_types.node import Crash, Start, Stop
from ...history import Event
from ..contract import LIED

MAX_END = 2**63 - 1
STOP, PROCESS, MACHINE = "stop", "process", "machine"
FATES = (STOP, PROCESS, MACHINE, LIED)
"""Kinds of end, mildest first: orderly, of the process, of the machine, or of the machine with the loss of data that
the disk had called durable.
"""


class Span(NamedTuple):
    """Bytes of a log."""

    lo: int
    hi: int


class Nodes:
    def __init__(self, up: set[str]) -> None:
        """``up``: running nodes, updated after each event."""
        self.started_at: dict[str, int] = {}
        self.ended_at: dict[str, int] = {}
        self.lost_power_at: dict[str, int] = {}
        self.down: dict[str, Crash | Stop] = {}
        self._up = up
        self._ends: dict[str, list[int]] = {}
        self._fates: dict[str, str] = {}

    def ended(self, node: str) -> int:
        """The number of a node's ended incarnations, which changes exactly when an answer of the node may be in
        flight
        """
        return len(self._ends.get(node, ()))

    def ended_within(self, node: str, since: int, ns: int) -> bool:
        return any(since <= end <= since + ns for end in self._ends.get(node, ()))

    def end_of(self, node: str, incarnation: int) -> int | None:
        """The end of the incarnation that followed ``incarnation`` ended ones, ns; None if it has not ended."""
        return self._ends[node][incarnation] if incarnation < self.ended(node) else None

    def is_down_since(self, node: str, event: Event) -> bool:
        """Whether a node was down at this event already, and has been since."""
        end = self.down.get(node)
        return end is not None and end.seq < event.seq

    def lost_power(self, node: str) -> bool:
        """Whether a node's machine crashed since the node's last start."""
        return self._fates.get(node) in (MACHINE, LIED)

    def left(self, event: Start) -> Span:
        """The range of a node's log that its start certainly left. If a recovered end is unknown, a power loss may have
        taken everything, and anything else took nothing.
        """
        has_lost = self.lost_power(event.node)
        hi = event.hi if event.hi is not None else 0 if has_lost else MAX_END
        return Span(event.lo or 0, hi) if has_lost else Span(0, hi)

    def fate(self, node: str) -> str | None:
        """The worst end of a node that is down, since it ran: one of :data:`FATES`. None if its end was not
        observed.
        """
        return self._fates.get(node)

    def last_start(self, node: str) -> int:
        """The last start of the node, ns; 0 before the first."""
        return self.started_at.get(node, 0)

    def start(self, event: Start) -> None:
        node = event.node
        if node in self._up:
            self._end(node, event.t)
        self.down.pop(node, None)
        self.started_at[node] = event.t
        self._fates.pop(node, None)

    def end(self, event: Crash | Stop) -> None:
        self._end(event.node, event.t)
        if event.f == MACHINE:
            self.lost_power_at[event.node] = event.t
        self.down.setdefault(event.node, event)
        how = STOP if event.kind == "stop" else LIED if event.status == LIED else event.f or MACHINE
        self._fates[event.node] = max(how, self._fates.get(event.node, how), key=FATES.index)

    def _end(self, node: str, t: int) -> None:
        self.ended_at[node] = t
        self._ends.setdefault(node, []).append(t)
