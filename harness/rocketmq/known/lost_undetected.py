"""Nodes whose store lost a part through a lying disk, and where no recovery has detected it.

A disk lied; its node was stopped in an orderly way, and then power failed. The next start finds no trace of a crash and
derives nothing again, so queues and index stay incomplete. A start after a crash rebuilds them from the log. Until the
node starts, its log may end inside a record.
"""

from __future__ import annotations

from ...event_types.node import Crash, Start, Stop, Wipe


class LostUndetected:
    """Bounded by the number of nodes."""

    def __init__(self) -> None:
        self._lied: set[str] = set()
        """Nodes that have not started since their disk lied."""
        self.nodes: set[str] = set()
        self.ran = False
        """Whether a node ever ran with such queues: queue offsets may be assigned twice, also on copies."""

    def __contains__(self, node: object) -> bool:
        return node in self.nodes or node in self._lied

    def crashed(self, event: Crash | Stop) -> None:
        if event.status == "lied":
            self._lied.add(event.node)

    def started(self, event: Start) -> None:
        if event.f != "abnormal" and event.node in self:
            self.nodes.add(event.node)
            self.ran = True
        else:
            self.nodes.discard(event.node)
        self._lied.discard(event.node)

    def wiped(self, event: Wipe) -> None:
        self._lied.discard(event.node)
        self.nodes.discard(event.node)
