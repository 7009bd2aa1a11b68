"""``converges``: after all faults have ended, the system comes to rest and each copy holds all that its source holds.

Checks:
- The lab's report whether the system came to rest, within its limit for the target.
- The final readings.
Abstains when:
- A node is down without a fault (``node-lives``).
Source: the meaning of replication.
"""

from __future__ import annotations

from ..event_types.machine import Mark
from ..event_types.store import Held, Scanned
from ..history import Event
from ..judging.law import DURABILITY, Law


class Converges(Law):
    id = "converges"
    kind = DURABILITY
    promise = "After all faults have ended, the system comes to rest and each copy holds all that its source holds."
    source = "the meaning of replication"
    needs = frozenset({"mark", "held", "scanned"})
    timed = True

    def begin(self) -> None:
        self.healed: int | None = None
        self.settled: Mark | None = None
        self.found: dict[str, set[str]] = {}
        self.readings: list[Scanned] = []

    def on_mark(self, event: Mark) -> None:
        if event.f == "heal":
            self.healed = event.t
        elif event.f in ("converged", "unsettled"):
            self.settled = event

    def on_held(self, event: Held) -> None:
        if self.settled is not None:
            self.found.setdefault(event.node, set()).add(event.message)

    def on_scanned(self, event: Scanned) -> None:
        if event.f == "final":
            self.readings.append(event)

    def end(self, last: Event) -> None:
        settled = self.settled
        if self.healed is None or settled is None or self.known.gone:
            return
        self.judged += 1
        if settled.f == "unsettled":
            took = (settled.t - self.healed) // 1_000_000
            self.violate(settled, f"the nodes had not come to rest {took} ms after the last fault", since=self.healed)
            return
        sources = [each.node for each in self.readings if each.role == "source"]
        for copy in self.readings:
            for source in sources if copy.role == "copy" else ():
                lacking = sorted(self.found.get(source, set()) - self.found.get(copy.node, set()))
                if lacking:
                    what = f"{copy.node} lacks {len(lacking)} of what {source} holds, such as {lacking[0]}"
                    self.violate(copy, what, since=None)
