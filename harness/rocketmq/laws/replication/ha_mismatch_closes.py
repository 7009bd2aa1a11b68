"""``ha-mismatch-closes``: a slave does not append a frame that does not start at its log end: it closes the connection
and asks from its own end.

Checks:
- The frame is not appended, and the slave closes or sends no report later than one poll of the HA thread.
- The next connection's first report is the slave's log end; without a trace, it lies between this incarnation's last
  report and the received bytes.
- Fitting frames that came together with the mismatching one may still be appended and reported.
Abstains when:
- The slave is empty: it accepts any first offset.
Source: HAService.HAClient.dispatchReadRequest.
"""

from ....history import Event
from ....judging.law import only
from ...event_types.ha import Close, Frame, Report
from ...known.deadlines import POLL_NS, is_late
from ...law import Law
from ...topology import NO_SLAVES


class HaMismatchCloses(Law):
    needs = frozenset({"report", "frame"})
    timed = True

    def begin(self) -> None:
        self.checked: set[str] = set()

    @only(but=NO_SLAVES)
    def on_report(self, event: Report) -> None:
        node = event.node
        offset, end = event.offset, self.known.streams.get(event.link)
        if end is None:
            self._first_report(event, node, offset)
            return
        self._check_grown(event, event.link)
        frame = self._mismatched(event.link)
        if frame is not None and (offset > end or self._is_late(frame, event.t)):
            self.checked.add(event.link)
            # A report above the log end is wrong at any time.
            since = None if offset > end else frame.t
            what = f"{event.link}: the slave reports {offset} after a frame at {frame.lo}, where its log ended at {end}"
            self.violate(event, what, since=since)

    def _mismatched(self, label: str) -> Frame | None:
        """The frame because of which the present incarnation must close its newest connection."""
        frame = None if label in self.checked else self.known.mismatched.get(label)
        if frame is None or self.known.slave_link.get(frame.node) != label:
            return None
        return frame if self.known.nodes.ended_at.get(frame.node, -1) < frame.t else None

    def _is_late(self, frame: Frame, t: int) -> bool:
        return is_late(self.known, frame.node, frame.t, t, POLL_NS)

    def _first_report(self, event: Report, node: str, offset: int) -> None:
        own = self.known.logs.own_end(node)
        if own is not None:
            self.judged += 1
            if offset != own:
                self.violate(event, f"{event.link}: the slave asks from {offset}, its log ends at {own}", since=None)
            return
        most = self.known.received.get(node)
        if most is None:
            return
        self.judged += 1
        least = self.known.reported.get(node, 0)
        if not least <= offset <= most:
            what = f"{event.link}: the slave asks from {offset}, it had reported {least} and received {most}"
            self.violate(event, what, since=None)

    def _check_grown(self, event: Event, link: str) -> None:
        frame, end = self._mismatched(link), self.known.streams.get(link, 0)
        if frame is not None and (self.known.logs.own_end(frame.node) or 0) > end:
            self.checked.add(link)
            what = f"{link}: the slave appended a frame at {frame.lo}, where its log ended at {end}"
            self.violate(event, what, since=None)

    @only(but=NO_SLAVES)
    def on_close(self, event: Close) -> None:
        self._check_grown(event, event.link)
        self.checked.add(event.link)

    def end(self, last: Event) -> None:
        self.judged += len(self.known.mismatched)
        for link in self.known.mismatched:
            self._check_grown(last, link)
            frame = self._mismatched(link)
            if frame is not None and self._is_late(frame, last.t):
                what = f"{link}: the slave kept the connection after a frame at {frame.lo} did not fit"
                self.violate(frame, what, since=frame.t, until=last.t)
