"""``ha-heartbeat``: from the first report on, an idle master sends (next offset, 0) and an idle slave its report, each
at least every haSendHeartbeatInterval (and a poll), and not much sooner.

Checks:
- The master sends a frame at least every haSendHeartbeatInterval (and a poll); an empty one names the offset at which
  the stream continues. The slave sends its report as often.
- No empty frame leaves within half an interval after the last frame or the accept, and no unchanged report within half
  an interval after the last one.
Abstains when:
- The connection was refused, or only flushed bytes are pushed and the slave waits for unflushed ones.
- It is the slave's first report (see ``ha-report-prompt``).
- For early heartbeats: the lab is a real-time one, whose tap may see the last frame late, or reads both together.
Source: HAConnection.WriteSocketService and HAService.HAClient (lastWriteTimestamp).
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


class HaHeartbeat(Law):
    kind = CONVENTION
    needs = frozenset({"config", "report", "frame", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.beats = Deadlines[End](self, self._silent)
        self.left: dict[str | None, int] = {}
        """By connection: when the master accepted it or last sent a frame, ns."""
        self.reported: dict[str | None, tuple[int, int]] = {}
        """By connection: time (ns) and offset of the slave's last report."""

    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self.left[event.link] = event.t

    def on_report(self, event: Report) -> None:
        """Side s: a slave sent it. Side m: the master received it, and must send heartbeats from the first one on."""
        if event.side == "s":
            if event.node != ROGUE:
                self._sent(event, event.node)
                last, offset = self.reported.get(event.link, (None, None))
                self.reported[event.link] = event.t, event.offset
                if offset == event.offset:
                    self._check_early(event, event.node, last)
            return
        if self.known.is_first(event) and self.known.validity(event) is VALID:
            self._begin((event.link, "m"), MASTER, event.t)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        last, self.left[event.link] = self.left.get(event.link), event.t
        if (event.link, "m") not in self.beats:
            return
        self._sent(event, MASTER)
        if event.lo == event.hi:
            self._check_early(event, MASTER, last)
        following = self.known.links[event.link].following
        if event.lo == event.hi and following is not None and event.lo != following:
            what = f"{event.link}: a heartbeat names {event.lo}, the stream continues at {following}"
            self.violate(event, what, since=None)

    def on_partial(self, event: Partial) -> None:
        if event.f == "out":
            self.beats.hold(event, (event.link, event.side))

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        """Restart the deadline if the flush lets the master push more."""
        if not self.known.pushes_flushed:
            return
        before = self.known.logs.flushed.get(MASTER, 0)
        for (link, side), due in self.beats.items():
            if side == "m" and before < self._following(link) <= event.upto:
                due.since = event.t

    def on_close(self, event: Close) -> None:
        if event.side == "m":
            self.left.pop(event.link, None)
        else:
            self.reported.pop(event.link, None)
        self.beats.close(event, (event.link, event.side))

    def _begin(self, end: End, node: str, t: int) -> None:
        self.beats.begin(end, t, configured_ns(self.known, node, "haSendHeartbeatInterval"), node=node)

    def _sent(self, event: Frame | Report, node: str) -> None:
        end = event.link, event.side
        if self.beats.renew(event, end):
            self.judged += 1
        else:
            self._begin(end, node, event.t)

    def _silent(self, event: Event, end: End, due: Deadline) -> None:
        link = end[0]
        held_back = self._following(link) > self.known.logs.flushed.get(MASTER, 0)
        if due.node == MASTER and held_back and self.known.pushes_flushed:
            return
        silent, bound = (event.t - due.since) // MS, due.bound // MS
        what = f"{link}: {due.node} was silent for {silent} ms; a heartbeat is due within {bound} ms"
        self.violate(event, what, since=due.since)

    def _following(self, label: str | None) -> int:
        link = self.known.links.get(label or "")
        return 0 if link is None else link.following or 0

    def _check_early(self, beat: Frame | Report, node: str, last: int | None) -> None:
        interval = self.known.setting(node, "haSendHeartbeatInterval")
        if last is None or self.known.instant_ns or not 0 < beat.t - last < interval * MS // 2:
            return
        passed = (beat.t - last) // MS
        what, before = ("heartbeat", "frame") if isinstance(beat, Frame) else ("report with nothing new", "one")
        text = f"{beat.link}: a {what} {passed} ms after the last {before}; one is due after {interval} ms"
        self.violate(beat, text, since=last)
