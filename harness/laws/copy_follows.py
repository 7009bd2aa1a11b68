"""``copy-follows``: at rest, a copy holds only writes that its source holds, each at the source's position.

Checks:
- The final audit of a trial that converged. If the store has an order, a copy is a prefix of its source.
Abstains when:
- The copy lacks a write (``converges``).
Source: the meaning of replication.
"""

from __future__ import annotations

from ..event_types.machine import Mark
from ..event_types.store import Held, Scanned
from ..history import Event
from ..judging.law import DURABILITY, Law


class CopyFollows(Law):
    id = "copy-follows"
    kind = DURABILITY
    promise = "At rest, a copy holds only writes that its source holds, each at the source's position."
    source = "the meaning of replication"
    needs = frozenset({"mark", "held", "scanned"})

    def begin(self) -> None:
        self.at_rest = False
        self.found: dict[tuple[int, str], dict[str, int | None]] = {}
        """By reading and node: the position of each write."""
        self.audits: list[Scanned] = []

    def on_mark(self, event: Mark) -> None:
        self.at_rest = self.at_rest or event.f == "converged"

    def on_held(self, event: Held) -> None:
        if self.at_rest:
            self.found.setdefault((event.reading, event.node), {})[event.message] = event.place

    def on_scanned(self, event: Scanned) -> None:
        if self.at_rest and event.f == "final":
            self.audits.append(event)

    def end(self, last: Event) -> None:
        for source in (each for each in self.audits if each.role == "source"):
            held = self.found.get((source.reading, source.node), {})
            for copy in (each for each in self.audits if each.role == "copy"):
                self.judged += 1
                self._compare(copy, source.node, held)

    def _compare(self, copy: Scanned, source: str, held: dict[str, int | None]) -> None:
        for write, position in self.found.get((copy.reading, copy.node), {}).items():
            if write not in held:
                self.violate(copy, f"{copy.node} holds {write}, and {source} does not")
            elif held[write] != position:
                self.violate(copy, f"{copy.node} has {write} at place {position}, {source} at {held[write]}")
