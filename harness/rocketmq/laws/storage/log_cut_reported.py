"""``log-cut-reported``: a recovery reports correctly how many whole records its truncation lost, and up to where.

Checks:
- After a crash, the broker's report equals the whole records, and the end of used bytes, that the store reader found
  behind the new log end before the start. Records with a NUL in topic or properties may count or not, as they are
  indistinguishable from damaged ones (decision 29).
Abstains when:
- The broker refuses the store.
- The lab is not the simulation: RocketMQ reports nothing, and a process reports in its output.
Source: the design (decision 29: recovery reports its truncation).
"""

from __future__ import annotations

from ....event_types.node import Abort
from ....judging.law import CONVENTION
from ....texts.content import payload
from ...event_types.log import Found, Left
from ...law import Law


class LogCutReported(Law):
    kind = CONVENTION
    needs = frozenset({"found", "left"})

    def begin(self) -> None:
        self.found: dict[str, Found] = {}

    def on_found(self, event: Found) -> None:
        self.found[event.node] = event

    def on_abort(self, event: Abort) -> None:
        self.found.pop(event.node, None)

    def on_left(self, event: Left) -> None:
        node, found, report = event.node, self.found.pop(event.node, None), payload(event.detail)
        if found is None or found.f == "orderly" or "lost" not in report:
            return
        self.judged += 1
        sure, every = report["behind"]
        lost, cut_from = report["lost"], report.get("cut_from")
        if not sure <= lost <= every:
            text = f"{node} reports that its truncation at {event.hi} lost {lost} whole records, but there were {sure}"
            self.violate(event, text)
        used = found.used if found.used > event.hi else None
        if cut_from != used:
            self.violate(event, f"{node} reports that its truncation at {event.hi} ends at {cut_from}; {used} is right")
