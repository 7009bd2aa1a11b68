"""``ha-report-monotone``: on one connection reports never decrease, and none is above the slave's log end at that
moment.

Checks:
- Each report is at least the connection's last one.
- It is at most the log end in the slave's trace, if there is one, and the first report plus the frames that fitted
  since.
Abstains when:
- It is the connection's first report (see ``ha-mismatch-closes``).
Source: HAService.HAClient, currentReportedOffset.
"""

from ....judging.law import only
from ...event_types.ha import Report
from ...law import Law
from ...topology import NO_SLAVES


class HaReportMonotone(Law):
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
