"""``log-cut-reported``: what a recovery says that it cut is what lay there.

After a crash a broker says how many whole records lay behind its log's new end, and up to where there was anything.
The store reader has read the files before, and counts them itself. Records with a NUL in topic or properties may count
or not: nobody can tell them from records that lost a part (decision 29).

Left out: what is said of a store that is refused. RocketMQ says nothing of what it cuts, and a process's own account is
in its output: judged in the simulation only. Source: the design (decision 29: recovery says what it cut).
"""

from __future__ import annotations

from ....event_types.node import Abort
from ....judging.law import CONVENTION
from ....texts.content import payload
from ...event_types.log import Found, Left
from ...law import Law


class LogCutReported(Law):
    id = "log-cut-reported"
    kind = CONVENTION
    promise = "What a recovery says of a cut is true: how many whole records it lost, and up to where."
    source = "the design: recovery says what it cut"
    needs = frozenset({"found", "left"})

    def begin(self) -> None:
        self.found: dict[str, Found] = {}
        """Of nodes that are about to start."""

    def on_found(self, event: Found) -> None:
        self.found[event.node] = event

    def on_abort(self, event: Abort) -> None:
        self.found.pop(event.node, None)

    def on_left(self, event: Left) -> None:
        node, found, said = event.node, self.found.pop(event.node, None), payload(event.detail)
        if found is None or found.f == "orderly" or "lost" not in said:
            return
        self.judged += 1
        sure, every = said["behind"]
        lost, cut_from = said["lost"], said.get("cut_from")
        if not sure <= lost <= every:
            text = f"{node} says that its cut at {event.hi} lost {lost} whole records, and {sure} lay there"
            self.violate(event, text)
        used = found.used if found.used > event.hi else None
        if cut_from != used:
            self.violate(event, f"{node} says that its cut at {event.hi} ends at {cut_from}, where {used} is true")
