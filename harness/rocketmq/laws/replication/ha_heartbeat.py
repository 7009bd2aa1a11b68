"""``ha-heartbeat``: an idle link is not silent: from the first report on both ends speak as often as configured.

The master sends a frame, at least an empty one, every haSendHeartbeatInterval (and a poll), and an empty one names the
offset with which the stream goes on; the slave sends its report. A refused connection is owed nothing. Where only
flushed bytes are pushed, neither is a slave that asked for bytes which are not flushed, until they are. Nor does the
master beat much sooner: no empty frame leaves within half an interval of the last frame, or of the accept. Nor does the
slave: no report says within half an interval what the last one has said.

Left out: the slave's first report, see ``ha-report-prompt``; whether a beat comes too soon in real-time labs, since a
tap whose peer reads slowly sees it late, and of those that a recorder read together.
Source: HAConnection.WriteSocketService and HAService.HAClient, which look at lastWriteTimestamp.
"""

from ....history import MS, Event
from ....judging.law import CONVENTION, only
from ...event_types.ha import Close, Connect, Frame, Partial, Report
from ...event_types.log import Flush
from ...known.deadlines import Deadline, Deadlines, configured_ns
from ...known.ha_links import VALID
from ...law import Law
from ...topology import MASTER, ROGUE

End = tuple[str | None, str | None]
"""(connection, side)"""


class HaHeartbeat(Law):
    id = "ha-heartbeat"
    kind = CONVENTION
    promise = (
        "From the first report on, an idle master sends (next offset, 0) and an idle slave its report, each at least "
        "every haSendHeartbeatInterval (and a poll), and not much sooner."
    )
    source = "HAConnection.WriteSocketService, HAService.HAClient"
    needs = frozenset({"config", "report", "frame", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.beats = Deadlines[End](self, self._silent)
        self.next: dict[str | None, int] = {}
        """Per connection: the offset with which the stream goes on."""
        self.left: dict[str | None, int] = {}
        """Per connection: when the master accepted it, or when something last left the master on it, ns."""
        self.reported: dict[str | None, tuple[int, int]] = {}
        """Per connection: when the slave last reported, ns, and what."""

    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self.left[event.link] = event.t

    def on_report(self, event: Report) -> None:
        """A report left a slave; or it reached the master, which begins to owe something with the first."""
        if event.side == "s":
            if event.node != ROGUE:
                self._spoke(event, event.node)
                last, told = self.reported.get(event.link, (None, None))
                self.reported[event.link] = event.t, event.offset
                if told == event.offset:
                    self._check_early(event, event.node, last)
            return
        if self.known.is_first(event) and self.known.validity(event) is VALID:
            self._begin((event.link, "m"), MASTER, event.t)
            if event.offset:
                self.next[event.link] = event.offset

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        last, self.left[event.link] = self.left.get(event.link), event.t
        if (event.link, "m") not in self.beats:
            return
        self._spoke(event, MASTER)
        if event.lo == event.hi:
            self._check_early(event, MASTER, last)
        following = self.next.get(event.link)
        if event.lo == event.hi and following is not None and event.lo != following:
            what = f"{event.link}: a heartbeat names {event.lo}, the stream goes on with {following}"
            self.violate(event, what, since=None)
        self.next[event.link] = event.hi

    def on_partial(self, event: Partial) -> None:
        if event.f == "out":
            self.beats.hold(event, (event.link, event.side))

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        """The master may push more, where only flushed bytes leave it."""
        if not self.known.pushes_flushed:
            return
        before = self.known.logs.flushed.get(MASTER, 0)
        for (link, side), due in self.beats.items():
            if side == "m" and before < self.next.get(link, 0) <= event.upto:
                due.since = event.t

    def on_close(self, event: Close) -> None:
        if event.side == "m":
            self.left.pop(event.link, None)
        else:
            self.reported.pop(event.link, None)
        self.beats.close(event, (event.link, event.side))

    def end(self, last: Event) -> None:
        self.beats.close_all(last)

    def _begin(self, end: End, node: str, t: int) -> None:
        self.beats.begin(end, t, configured_ns(self.known, node, "haSendHeartbeatInterval"), node=node)

    def _spoke(self, event: Frame | Report, node: str) -> None:
        end = event.link, event.side
        if self.beats.renew(event, end):
            self.judged += 1
        else:
            self._begin(end, node, event.t)

    def _silent(self, event: Event, end: End, due: Deadline) -> None:
        link = end[0]
        held_back = self.next.get(link, 0) > self.known.logs.flushed.get(MASTER, 0)
        if due.node == MASTER and held_back and self.known.pushes_flushed:
            return
        silent, bound = (event.t - due.since) // MS, due.bound // MS
        what = f"{link}: {due.node} was silent for {silent} ms; a heartbeat is due within {bound} ms"
        self.violate(event, what, since=due.since)

    def _check_early(self, beat: Frame | Report, node: str, last: int | None) -> None:
        interval = self.known.setting(node, "haSendHeartbeatInterval")
        if last is None or self.known.instant_ns or not 0 < beat.t - last < interval * MS // 2:
            return
        passed = (beat.t - last) // MS
        what, before = ("heartbeat", "frame") if isinstance(beat, Frame) else ("report with nothing new", "one")
        text = f"{beat.link}: a {what} {passed} ms behind the last {before}; one is due after {interval} ms"
        self.violate(beat, text, since=last)
