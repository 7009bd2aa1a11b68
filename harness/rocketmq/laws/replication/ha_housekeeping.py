"""``ha-housekeeping``: who has been silent for longer than haHousekeepingInterval is dropped, and never earlier.

Both ends keep house. Silence is time without a byte, measured at the end that listens; one poll is added. A close of an
end's own, a while after the last byte, with time left before the interval and for no other reason that shows in the
history (a peer that was refused or named as diverged, bytes that the own socket did not take, a pause, the node's end,
room for another peer on a port that has :data:`MANY`) is taken for one for silence.

Left out: closes right after bytes came, which answer those. A broker on its way out closes its connections up to
:data:`LEAVING_NS` before anybody sees that it ended. Source: HAConnection.ReadSocketService and HAService.HAClient
(which in 4.9 looks at its own writes and so never notices a silent master).
"""

from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.ha import Close, Connect, Diverged, Frame, Partial, Report
from ...known.deadlines import Deadline, Deadlines, configured_ns, is_far_too_late
from ...law import Law
from ...topology import MASTER, ROGUE

LEAVING_NS = 10_000 * MS
MANY = 8
"""Beside so many other peers a master may drop one: no pair has so many slaves, so most of them are none."""

End = tuple[str | None, str | None]
"""(connection, side)"""


class HaHousekeeping(Law):
    id = "ha-housekeeping"
    kind = CONVENTION
    promise = "A peer that is silent for longer than haHousekeepingInterval (and a poll) is dropped, and never earlier."
    source = "HAConnection.ReadSocketService, HAService.HAClient"
    needs = frozenset({"config", "connect", "close", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.silence = Deadlines[End](self, self._kept_too_long)
        self.blocked: set[End] = set()
        """Ends whose socket did not take all that they sent."""
        self.named: set[str | None] = set()
        """Connections whose peer the master named as one that it cannot serve."""
        self.early: list[tuple[str, Event, str, int]] = []
        """Closes without a reason so far: node, event, text, and when the peer was last heard, ns."""

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
        self.named.add(event.link)

    def on_close(self, event: Close) -> None:
        """An end is gone: for silence, or for another reason?"""
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
        self.silence.close_all(last)
        for node, event, text, heard in self.early:
            # What a node closed on its way out, it closed for that.
            if not self.known.nodes.ended_within(node, event.t, LEAVING_NS):
                self.violate(event, text, since=heard)

    def _kept_too_long(self, event: Event, end: End, due: Deadline) -> None:
        silent, bound = (event.t - due.since) // MS, due.bound // MS
        far = is_far_too_late(self.known, due.node, due.since, event.t, due.bound)
        self.violate(
            event,
            f"{end[0]}: {due.node} kept a peer that was silent for {silent} ms; {bound} ms are enough",
            since=None if far else due.since,
        )

    def _is_early(self, close: Close, due: Deadline) -> bool:
        known, silent = self.known, close.t - due.since
        interval = known.setting(due.node, "haHousekeepingInterval") * MS
        if not known.healthy_ns < silent < interval - known.instant_ns or (close.link, close.side) in self.blocked:
            return False
        if close.side == "m":
            link = known.links.get(close.link or "")
            if close.link in self.named or link is None or (link.first is not None and not link.valid):
                return False
            if sum(side == "m" for _, side in self.silence) >= MANY:
                return False
        return not known.disturbances.unavailable_ns(due.node, due.since, close.t)
