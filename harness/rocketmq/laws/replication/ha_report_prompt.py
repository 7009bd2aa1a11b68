"""``ha-report-prompt``: a slave says how far its log reaches after each append, and otherwise as often as configured.

The first report comes within haSendHeartbeatInterval (and a poll) of the connection, further ones as often, and one
that covers a whole frame which continued its log within a poll of the frame.

Left out: what the reports say, see ``ha-report-monotone``. Source: HAService.HAClient: isTimeToReportOffset,
reportSlaveMaxOffsetPlus after each dispatched frame.
"""

from collections import deque

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.node import Crash, Stop
from pairproof.harness.law import CONVENTION
from pairproof.harness.rocketmq.kinds.ha import Close, Connect, Frame, Partial, Report
from pairproof.harness.rocketmq.known.model import HOSTILE
from pairproof.harness.rocketmq.known.waits import POLL_NS, Speaker, configured_ns, is_late
from pairproof.harness.rocketmq.law import Law


class Reporter(Speaker):
    """A slave's end."""

    __slots__ = ("received",)

    def __init__(self, node: str, since: int, bound: int) -> None:
        super().__init__(node, since, bound)
        self.received: deque[tuple[int, int]] = deque()
        """Frames that no report covers: where they end, and when they came."""


class HaReportPrompt(Law):
    id = "ha-report-prompt"
    kind = CONVENTION
    promise = "A slave reports after each append, and otherwise at least every haSendHeartbeatInterval (and a poll)."
    source = "HAService.HAClient"
    needs = frozenset({"config", "connect", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.reporters: dict[str | None, Reporter] = {}

    def on_connect(self, event: Connect) -> None:
        node = event.node
        if event.side == "s" and node != HOSTILE:
            bound = configured_ns(self.known, node, "haSendHeartbeatInterval")
            self.reporters[event.link] = Reporter(node, event.t, bound)

    def on_frame(self, event: Frame) -> None:
        if event.side != "s" or event.link not in self.reporters:
            return
        end, hi = self.known.streams.get(event.link), event.hi
        if end is not None and (event.lo == end or end == 0) and hi > end:
            self.reporters[event.link].received.append((hi, event.t))

    def on_report(self, event: Report) -> None:
        if event.side != "s" or event.link not in self.reporters:
            return
        self.judged += 1
        reporter = self.reporters[event.link]
        self._check(event, reporter)
        received, offset = reporter.received, event.offset
        while received and received[0][0] <= offset:
            received.popleft()
        if reporter.blocked:
            reporter.received = deque((hi, event.t) for hi, _ in received)
        reporter.spoke(event.t)

    def on_partial(self, event: Partial) -> None:
        reporter = self.reporters.get(event.link) if event.side == "s" and event.f == "out" else None
        if reporter is not None:
            self._check(event, reporter)
            reporter.blocked = True

    def on_close(self, event: Close) -> None:
        if event.side == "s":
            self._leave(event, event.link)

    def on_crash(self, event: Crash | Stop) -> None:
        for link in [link for link, each in self.reporters.items() if each.node == event.node]:
            self._leave(event, link)

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for link in list(self.reporters):
            self._leave(last, link)

    def _leave(self, event: Event, link: str | None) -> None:
        reporter = self.reporters.pop(link, None)
        if reporter is not None:
            self._check(event, reporter, link)

    def _check(self, event: Event, reporter: Reporter, link: str | None = None) -> None:
        link, known = link or event.link, self.known
        if reporter.is_overdue(known, event.t):
            silent = (event.t - reporter.since) // MS
            what = f"{link}: no report for {silent} ms; one is due within {reporter.bound // MS} ms"
            self.violate(event, what, since=reporter.since)
        elif reporter.received and not reporter.blocked:
            hi, since = reporter.received[0]
            if is_late(known, reporter.node, since, event.t, POLL_NS + known.healthy_ns):
                what = f"{link}: a frame up to {hi} was not reported for {(event.t - since) // MS} ms"
                self.violate(event, what, since=since)
