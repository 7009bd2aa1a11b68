"""``ha-report-prompt``: a slave says how far its log reaches after each append, and otherwise as often as configured.

The first report comes within haSendHeartbeatInterval (and a poll) of the connection, further ones as often, and one
that covers a whole frame which continued its log within a poll of the frame.

Left out: what the reports say, see ``ha-report-monotone``. Source: HAService.HAClient: isTimeToReportOffset,
reportSlaveMaxOffsetPlus after each dispatched frame.
"""

from ....history import MS, Event
from ....judging.law import CONVENTION, only
from ...event_types.ha import Close, Connect, Frame, Partial, Report
from ...known.deadlines import POLL_NS, Deadline, Deadlines, configured_ns
from ...law import Law
from ...topology import NO_SLAVES, ROGUE


class HaReportPrompt(Law):
    id = "ha-report-prompt"
    kind = CONVENTION
    promise = "A slave reports after each append, and otherwise at least every haSendHeartbeatInterval (and a poll)."
    source = "HAService.HAClient"
    needs = frozenset({"config", "connect", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.reports = Deadlines[str](self, self._silent)
        self.frames = Deadlines[str](self, self._unreported)
        self.received: dict[str, list[tuple[int, int]]] = {}
        """Frames that no report covers: where they end, and when they came."""

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
                self._owe(event, event.t)

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
            self._owe(event, left[0][1])

    def _owe(self, event: Frame | Report, since: int) -> None:
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

    def end(self, last: Event) -> None:
        self.reports.close_all(last)
        self.frames.close_all(last)

    def _silent(self, event: Event, link: str, due: Deadline) -> None:
        # One who says nothing at all says nothing of frames either.
        self.frames.pop(link, None)
        silent = (event.t - due.since) // MS
        what = f"{link}: no report for {silent} ms; one is due within {due.bound // MS} ms"
        self.violate(event, what, since=due.since)

    def _unreported(self, event: Event, link: str, due: Deadline) -> None:
        what = (
            f"{link}: a frame up to {self.received[link][0][0]} was not reported for {(event.t - due.since) // MS} ms"
        )
        self.violate(event, what, since=due.since)
