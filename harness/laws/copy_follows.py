"""``copy-follows``: once the system has come to rest, a copy holds nothing that its source does not.

Where the store has an order, each write stands at the copy where it stands at the source; so a copy is a prefix of it.
Judged by the final audit of a trial that converged. Left out: what a copy lacks, see ``converges``.
Source: what replication means.
"""

from __future__ import annotations

from ..event_types.machine import Mark
from ..event_types.store import Held, Scanned
from ..history import Event
from ..judging.known import Known
from ..judging.law import DURABILITY, Law


class CopyFollows(Law):
    id = "copy-follows"
    kind = DURABILITY
    promise = "When the system is at rest a copy holds nothing that its source does not hold, and at the same place."
    source = "the meaning of replication"
    needs = frozenset({"mark", "held", "scanned"})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.at_rest = False
        self.found: dict[tuple[int, str], dict[str, int | None]] = {}
        """By reading and node: each write and its place."""
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
        """Compare each copy with the source."""
        for source in (each for each in self.audits if each.role == "source"):
            held = self.found.get((source.reading, source.node), {})
            for copy in (each for each in self.audits if each.role == "copy"):
                self.judged += 1
                self._compare(copy, source.node, held)

    def _compare(self, copy: Scanned, source: str, held: dict[str, int | None]) -> None:
        for write, place in self.found.get((copy.reading, copy.node), {}).items():
            if write not in held:
                self.violate(copy, f"{copy.node} holds {write}, and {source} does not")
            elif held[write] != place:
                self.violate(copy, f"{copy.node} has {write} at place {place}, {source} at {held[write]}")
