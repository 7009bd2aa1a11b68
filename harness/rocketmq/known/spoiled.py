"""Which nodes run on queues and an index of which a lying disk has lost a part, and cannot know it.

A disk lied; its node was stopped in an orderly way, and then power failed. The next start finds no trace of a crash and
derives nothing again: what queues and index lack, they go on lacking. A start after a crash makes them from the log.
"""

from __future__ import annotations

from pairproof.harness.kinds.base import OfNode
from pairproof.harness.kinds.node import Wipe


class Spoiled:
    """Told of every crash (or stop), start and wipe; bounded by the number of nodes."""

    def __init__(self) -> None:
        self._lied: set[str] = set()
        """Nodes that have not started since their disk turned out to have lied."""
        self.nodes: set[str] = set()

    def __contains__(self, node: object) -> bool:
        return node in self.nodes

    def crashed(self, event: OfNode) -> None:
        if event.status == "lied":
            self._lied.add(event.node)

    def started(self, event: OfNode) -> None:
        node = event.node
        if event.f == "abnormal":
            self.nodes.discard(node)
        elif node in self._lied:
            self.nodes.add(node)
        self._lied.discard(node)

    def wiped(self, event: Wipe) -> None:
        self._lied.discard(event.node)
        self.nodes.discard(event.node)
