"""``ha-divergence-refused``: a slave whose first report is above the master's log end is refused, and told of.

It holds bytes that the master does not: pushing to it would hide that. It gets neither data nor heartbeats, its reports
acknowledge nothing, now or later, and the master says so (``diverged``, where the lab records it). This holds for every
connection that begins so, whatever the log's end becomes meanwhile. Nobody is named whose offset lies within the
master's log.

Left out: that it counts as no slave, see ``ack-unavailable-honest``; and a slave that the master has written past,
which nobody can see (a diverged slave, see ``logs``). Source: HAConnection.ReadSocketService.
"""

from ....history import Event
from ....kinds.client import Ok
from ...kinds.ha import Close, Diverged, Frame, Report
from ...known.deadlines import is_instant
from ...known.model import AHEAD
from ...law import Law
from ...places import MASTER


class HaDivergenceRefused(Law):
    id = "ha-divergence-refused"
    promise = (
        "A slave whose first report is above the master's log end gets no data, acknowledges nothing, and is named."
    )
    source = "HAConnection.ReadSocketService; apache/rocketmq issue 3349"
    needs = frozenset({"append", "report", "frame"})
    timed = True

    def begin(self) -> None:
        self.ahead: set[str | None] = set()
        self.served: set[str | None] = set()
        """Refused connections that got a frame all the same: the first one of each says it all."""
        self.untold: dict[str | None, tuple[Report, int]] = {}
        """First reports that were not told of yet, and how many incarnations of the master had ended then."""
        self.left: dict[str | None, int] = {}
        """When refused peers left that nobody was told of yet, ns."""
        self.telling = "diverged" in self.known.observes

    def on_report(self, event: Report) -> None:
        if event.side != "m":
            return
        if self.known.is_first(event) and self.known.hears(event) is AHEAD:
            self.judged += 1
            self.ahead.add(event.link)
            if self.telling:
                self.untold[event.link] = event, self.known.nodes.ended(MASTER)

    def on_diverged(self, event: Diverged) -> None:
        """The master says so; and it may say so of nobody else."""
        if is_instant(self.known, MASTER, self.left.get(event.link, event.t), event.t):
            self.untold.pop(event.link, None)
        start, offset = self.known.logs.starts.get(MASTER, 0), event.reported
        if event.master_end is not None and start <= offset <= event.master_end:
            self.violate(
                event,
                f"{event.link}: refused at {offset}, which lies in the master's log [{start}, {event.master_end}]",
                since=None,
            )

    def on_frame(self, event: Frame) -> None:
        if self.ahead and event.side == "m" and event.link in self.ahead - self.served:
            self.served.add(event.link)
            self.violate(
                event, f"{event.link}: [{event.lo}, {event.hi}) went to a slave that is ahead of the master", since=None
            )

    def on_ok(self, event: Ok) -> None:
        known = self.known
        if not self.ahead or event.f != "send" or event.status != "PUT_OK" or not event.waits:
            return
        covered = event.hi is not None and event.hi <= known.refused
        if known.needed and covered and not known.is_covered(event) and not known.rests_on_strangers(event):
            self.violate(
                event, f"{event.message} was acknowledged; only a refused slave had reported {event.hi}", since=None
            )

    def on_close(self, event: Close) -> None:
        """A refused peer left, or was thrown out: by then, or in a real-time lab at once, the master has said why."""
        if event.link in self.untold and event.side == "m":
            self.left[event.link] = event.t
            if not self.known.instant_ns:
                self._owed(event.link, event)

    def end(self, last: Event) -> None:
        for link in list(self.untold):
            self._owed(link, last)

    def _owed(self, link: str | None, now: Event) -> None:
        report, ended = self.untold.pop(link, (None, 0))
        if report is not None and ended == self.known.nodes.ended(MASTER):
            self.violate(
                report,
                f"{link}: nobody was told that the slave's log, at {report.hi}, is ahead of the master's",
                since=report.t,
                until=now.t,
            )
