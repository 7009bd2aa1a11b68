"""``ha-report-monotone``: a slave claims no more than its log holds, and never less than it claimed before.

The log's end is known from the slave's own trace where there is one, and always from the tap: what the connection's
first report said, and the frames that fitted since.

Left out: what the first report of a connection should be, see ``ha-mismatch-closes``. Source: HAService.HAClient,
currentReportedOffset.
"""

from ....judging.law import only
from ...event_types.ha import Report
from ...law import Law
from ...topology import NO_SLAVES


class HaReportMonotone(Law):
    id = "ha-report-monotone"
    promise = "On one connection reports never decrease, and none is above the slave's log end at that moment."
    source = "HAService.HAClient"
    needs = frozenset({"report", "frame"})

    def begin(self) -> None:
        self.last: dict[str | None, int] = {}

    @only(but=NO_SLAVES)
    def on_report(self, event: Report) -> None:
        node = event.node
        self.judged += 1
        offset, link = event.offset, event.link
        before = self.last.get(link, offset)
        if offset < before:
            self.violate(event, f"{link}: the report {offset} follows {before}")
        self.last[link] = offset
        received = self.known.streams.get(link or "", offset)
        own = self.known.logs.own_end(node)
        if own is not None and offset > own:
            self.violate(event, f"{link}: the slave reports {offset}, its log ends at {own}")
        elif offset > received:
            self.violate(event, f"{link}: the slave reports {offset}, it has received up to {received}")
