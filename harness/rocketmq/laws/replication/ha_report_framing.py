"""``ha-report-framing``: what a slave sends is a row of 8-byte cells, also where its socket takes a cell in pieces.

After a piece comes its rest, or a close. A slave that begins a new cell instead is out of phase from there on, and so
are the values: from the first cell in pieces on each must be one that this slave can mean, which is no less than its
last report and no more than its log can hold. On a connection whose first cell came in pieces that is the log's end.

Left out: connections whose cells all left whole, see ``ha-report-monotone``. Source: HAService.HAClient,
reportSlaveMaxOffset, which tries three times and then closes.
"""

from ....judging.law import EventFilter, only
from ...event_types.ha import Partial, Report
from ...law import Law
from ...topology import NO_SLAVES


class HaReportFraming(Law):
    id = "ha-report-framing"
    promise = "Reports are consecutive 8-byte cells: only its rest or a close follows a piece of one."
    source = "HAService.HAClient.reportSlaveMaxOffset"
    needs = frozenset({"report", "frame", "partial"})
    awaits = {"partial": EventFilter(frozenset({"out"}), but=frozenset(NO_SLAVES))}

    def begin(self) -> None:
        self.cut: set[str | None] = set()
        """Connections on which a cell has left in pieces."""

    @only("out", but=NO_SLAVES)
    def on_partial(self, event: Partial) -> None:
        if event.size:
            self.cut.add(event.link)

    @only(but=NO_SLAVES)
    def on_report(self, event: Report) -> None:
        """Eight bytes that should be a cell."""
        if event.link not in self.cut:
            return
        self.judged += 1
        offset, (least, most) = event.offset, self._possible(event)
        if offset < least or (most is not None and offset > most):
            # What follows is out of phase as well, and says nothing new.
            self.cut.discard(event.link)
            bounds = f"at least {least}" + ("" if most is None else f" and at most {most}")
            self.violate(event, f"{event.link}: behind a piece of a cell 8 bytes read {offset}; {bounds} is right")

    def _possible(self, event: Report) -> tuple[int, int | None]:
        known, node = self.known, event.node or ""
        received, own = known.streams.get(event.link or ""), known.logs.own_end(node)
        if received is None:
            return (0, None) if own is None else (own, own)
        return known.claimed.get(node, 0), received if own is None else min(received, own)
