"""``ha-divergence-refused``: a slave whose first report is above the master's log end gets no data, acknowledges
nothing, and is reported.

It holds bytes that the master lacks; replication would hide that.

Checks:
- Such a connection gets neither data nor heartbeats, and its reports acknowledge nothing, even after the log has grown.
- The master reports it (``diverged``, if the lab records that), before it closes the connection.
- The master reports no slave whose offset lies within its log.
Abstains when:
- The master has already written past the slave's end: the divergence cannot be detected.
Source: HAConnection.ReadSocketService; apache/rocketmq issue 3349.
"""

from ....event_types.client import Ok
from ....history import Event
from ....judging.law import only
from ...event_types.ha import Diverged
from ...known.deadlines import is_instant
from ...law import Law
from ...topology import MASTER


class HaDivergenceRefused(Law):
    needs = frozenset({"append", "report", "frame"})
    timed = True

    def begin(self) -> None:
        self.reported: set[str | None] = set()

    def on_diverged(self, event: Diverged) -> None:
        link = self.known.links.get(event.link or "")
        closed = None if link is None else link.closed
        in_time = closed is None or (self.known.instant_ns and is_instant(self.known, MASTER, closed, event.t))
        if in_time:
            self.reported.add(event.link)
        start, offset = self.known.logs.starts.get(MASTER, 0), event.reported
        if event.master_end is not None and start <= offset <= event.master_end:
            what = f"{event.link}: refused at {offset}, which lies in the master's log [{start}, {event.master_end}]"
            self.violate(event, what, since=None)

    @only("send")
    def on_ok(self, event: Ok) -> None:
        known = self.known
        if event.hi is None or event.hi > known.refused or event.status != "PUT_OK" or not event.waits:
            return
        is_ahead = any(link.ahead is not None for link in known.links.values())
        if is_ahead and known.needed and not known.is_covered(event) and not known.rests_on_rogues(event):
            self.violate(
                event, f"{event.message} was acknowledged; only a refused slave had reported {event.hi}", since=None
            )

    def end(self, last: Event) -> None:
        for label, link in self.known.links.items():
            report, frame = link.ahead, link.began
            if report is None:
                continue
            self.judged += 1
            if frame is not None:
                what = f"{label}: [{frame.lo}, {frame.hi}) went to a slave that is ahead of the master"
                self.violate(frame, what, since=None)
            # Whether the peer left, was dropped or is still there: the master must have reported it.
            is_due = link.closed is not None or (link.open and link.incarnation == self.known.logs.incarnation)
            if "diverged" in self.known.observes and is_due and label not in self.reported:
                text = f"{label}: the master did not report that the slave, at {report.hi}, is ahead of the master"
                self.violate(report, text, since=report.t, until=last.t if link.closed is None else link.closed)
