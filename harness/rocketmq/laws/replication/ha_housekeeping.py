"""``ha-housekeeping``: a peer that is silent for longer than haHousekeepingInterval (and a poll) is dropped, and never
earlier.

Silence is time without a received byte, at either end, plus one poll.

Checks:
- No end keeps a silent peer for longer.
- A local close during a silence shorter than the interval has another reason in the history: a peer that was refused or
  reported as diverged, a blocked own socket, a pause, the node's end, or a full port (``MANY`` peers).
Abstains when:
- Bytes came just before: the close answers them.
- The broker ended within ``LEAVING_NS`` after the close.
Source: HAConnection.ReadSocketService and HAService.HAClient (which in 4.9 checks its own writes and so never detects a
silent master).
"""

from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.ha import Close, Connect, Diverged, Frame, Partial, Report
from ...known.deadlines import Deadline, Deadlines, configured_ns, is_far_too_late
from ...law import Law
from ...topology import MASTER, ROGUE

LEAVING_NS = 10_000 * MS
MANY = 8
"""Peers beside which a master may drop one: no pair has so many slaves."""

End = tuple[str | None, str | None]


class HaHousekeeping(Law):
    kind = CONVENTION
    needs = frozenset({"config", "connect", "close", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.silence = Deadlines[End](self, self._kept_too_long)
        self.blocked: set[End] = set()
        self.reported_diverged: set[str | None] = set()
        self.early: list[tuple[str, Event, str, int]] = []
        """Closes without a reason so far: node, event, text, and time of the peer's last byte, ns."""

    def on_connect(self, event: Connect) -> None:
        node = MASTER if event.side == "m" else event.node
        if node != ROGUE:
            bound = configured_ns(self.known, node, "haHousekeepingInterval")
            self.silence.begin((event.link, event.side), event.t, bound, node=node)

    def on_report(self, event: Report) -> None:
        if event.side == "m":
            self.judged += self.silence.renew(event, (event.link, "m"))
        else:
            self.blocked.discard((event.link, "s"))

    def on_frame(self, event: Frame) -> None:
        if event.side == "s":
            self.judged += self.silence.renew(event, (event.link, "s"))
        else:
            self.blocked.discard((event.link, "m"))

    def on_partial(self, event: Partial) -> None:
        end = event.link, event.side
        if event.f == "in":
            self.judged += self.silence.renew(event, end)
        else:
            self.blocked.add(end)

    def on_diverged(self, event: Diverged) -> None:
        self.reported_diverged.add(event.link)

    def on_close(self, event: Close) -> None:
        end = event.link, event.side
        due = self.silence.get(end)
        if due is None:
            return
        self.judged += 1
        self.silence.close(event, end)
        if event.f == "local" and self._is_early(event, due):
            silent = (event.t - due.since) // MS
            text = f"{event.link}: {due.node} dropped its peer after {silent} ms of silence, for no other reason"
            self.early.append((due.node, event, text, due.since))

    def end(self, last: Event) -> None:
        super().end(last)
        for node, event, text, received_at in self.early:
            if not self.known.nodes.ended_within(node, event.t, LEAVING_NS):
                self.violate(event, text, since=received_at)

    def _kept_too_long(self, event: Event, end: End, due: Deadline) -> None:
        silent, bound = (event.t - due.since) // MS, due.bound // MS
        far = is_far_too_late(self.known, due.node, due.since, event.t, due.bound)
        what = f"{end[0]}: {due.node} kept a peer that was silent for {silent} ms; {bound} ms are enough"
        self.violate(event, what, since=None if far else due.since)

    def _is_early(self, close: Close, due: Deadline) -> bool:
        known, silent = self.known, close.t - due.since
        interval = known.setting(due.node, "haHousekeepingInterval") * MS
        if not known.healthy_ns < silent < interval - known.instant_ns or (close.link, close.side) in self.blocked:
            return False
        if close.side == "m":
            link = known.links.get(close.link or "")
            if close.link in self.reported_diverged or link is None or (link.first is not None and not link.valid):
                return False
            if sum(side == "m" for _, side in self.silence) >= MANY:
                return False
        return not known.disturbances.unavailable_ns(due.node, due.since, close.t)
