"""``ha-report-framing``: reports are consecutive 8-byte cells: a partial report is followed only by its remainder or a
close.

Checks:
- From the first cell in pieces on, each 8 bytes are a possible report: at least the slave's last one, at most its log
  end. As a connection's first report they are the log end. A new cell instead of the remainder would shift all later
  ones.
Abstains when:
- All cells of the connection were sent whole (see ``ha-report-monotone``).
Source: HAService.HAClient.reportSlaveMaxOffset, which tries three times and then closes.
"""

from ....judging.law import EventFilter, only
from ...event_types.ha import Partial, Report
from ...law import Law
from ...topology import NO_SLAVES


class HaReportFraming(Law):
    needs = frozenset({"report", "frame", "partial"})
    awaits = {"partial": EventFilter(frozenset({"out"}), but=frozenset(NO_SLAVES))}

    def begin(self) -> None:
        self.partial: set[str | None] = set()

    @only("out", but=NO_SLAVES)
    def on_partial(self, event: Partial) -> None:
        if event.size:
            self.partial.add(event.link)

    @only(but=NO_SLAVES)
    def on_report(self, event: Report) -> None:
        if event.link not in self.partial:
            return
        self.judged += 1
        offset, (least, most) = event.offset, self._possible(event)
        if offset < least or (most is not None and offset > most):
            # Later cells are shifted, too: one violation is enough.
            self.partial.discard(event.link)
            bounds = f"at least {least}" + ("" if most is None else f" and at most {most}")
            self.violate(event, f"{event.link}: after a partial report 8 bytes read {offset}; {bounds} is right")

    def _possible(self, event: Report) -> tuple[int, int | None]:
        known, node = self.known, event.node or ""
        received, own = known.streams.get(event.link or ""), known.logs.own_end(node)
        if received is None:
            return (0, None) if own is None else (own, own)
        return known.claimed.get(node, 0), received if own is None else min(received, own)
