"""``ha-report-prompt``: a slave reports after each append, and otherwise at least every haSendHeartbeatInterval (and a
poll).

Checks:
- Reports come at least every haSendHeartbeatInterval (and a poll), the first one so long after the connect.
- A report that covers a frame which continued the log comes within a poll of the frame.
Source: HAService.HAClient: isTimeToReportOffset, reportSlaveMaxOffsetPlus after each dispatched frame.
"""

from ....history import MS, Event
from ....judging.law import CONVENTION, only
from ...event_types.ha import Close, Connect, Frame, Partial, Report
from ...known.deadlines import POLL_NS, Deadline, Deadlines, configured_ns
from ...law import Law
from ...topology import NO_SLAVES, ROGUE


class HaReportPrompt(Law):
    kind = CONVENTION
    needs = frozenset({"config", "connect", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.reports = Deadlines[str](self, self._silent)
        self.frames = Deadlines[str](self, self._unreported)
        self.received: dict[str, list[tuple[int, int]]] = {}
        """By connection: end and time of each frame that no report covers yet."""

    def on_connect(self, event: Connect) -> None:
        node = event.node
        if event.side == "s" and node != ROGUE:
            bound = configured_ns(self.known, node, "haSendHeartbeatInterval")
            self.reports.begin(event.link, event.t, bound, node=node)
            self.received[event.link] = []

    @only(but=NO_SLAVES)
    def on_frame(self, event: Frame) -> None:
        if event.link not in self.reports:
            return
        end, hi = self.known.streams.get(event.link), event.hi
        if end is not None and (event.lo == end or end == 0) and hi > end:
            self.received[event.link].append((hi, event.t))
            if event.link not in self.frames and not self.reports[event.link].is_held:
                self._expect_report(event, event.t)

    @only(but=NO_SLAVES)
    def on_report(self, event: Report) -> None:
        link = event.link
        if link not in self.reports:
            return
        self.judged += 1
        was_held = self.reports[link].is_held
        self.reports.renew(event, link)
        self.frames.close(event, link)
        left = [(hi, event.t if was_held else t) for hi, t in self.received[link] if hi > event.offset]
        self.received[link] = left
        if left:
            self._expect_report(event, left[0][1])

    def _expect_report(self, event: Frame | Report, since: int) -> None:
        node = self.reports[event.link].node
        self.frames.begin(event.link, since, POLL_NS + self.known.healthy_ns, node=node)

    @only("out", but=NO_SLAVES)
    def on_partial(self, event: Partial) -> None:
        self.reports.hold(event, event.link)
        self.frames.hold(event, event.link)

    @only(but=NO_SLAVES)
    def on_close(self, event: Close) -> None:
        self.reports.close(event, event.link)
        self.frames.close(event, event.link)

    def _silent(self, event: Event, link: str, due: Deadline) -> None:
        self.frames.pop(link, None)
        silent = (event.t - due.since) // MS
        what = f"{link}: no report for {silent} ms; one is due within {due.bound // MS} ms"
        self.violate(event, what, since=due.since)

    def _unreported(self, event: Event, link: str, due: Deadline) -> None:
        what = (
            f"{link}: a frame up to {self.received[link][0][0]} was not reported for {(event.t - due.since) // MS} ms"
        )
        self.violate(event, what, since=due.since)
