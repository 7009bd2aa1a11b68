"""``ha-housekeeping``: who has been silent for longer than haHousekeepingInterval is dropped, and never earlier.

Both ends keep house. Silence is time without a byte, measured at the end that listens; one poll is added. A close of an
end's own, a while after the last byte, with time left before the interval and for no other reason that shows in the
history (a peer that was refused or named as diverged, bytes that the own socket did not take, a pause, the node's end,
room for another peer on a port that has :data:`MANY`) is taken for one for silence.

Left out: closes right after bytes came, which answer those. A broker on its way out closes its connections up to
:data:`LEAVING_NS` before anybody sees that it ended. Source: HAConnection.ReadSocketService and HAService.HAClient
(which in 4.9 looks at its own writes and so never notices a silent master).
"""

from pairproof.harness.history import MS, Event
from pairproof.harness.kinds.node import Crash, Stop
from pairproof.harness.law import CONVENTION
from pairproof.harness.rocketmq.kinds.ha import Close, Connect, Diverged, Frame, Partial, Report
from pairproof.harness.rocketmq.known.deadlines import configured_ns, is_far_too_late, is_late
from pairproof.harness.rocketmq.known.model import HOSTILE
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.places import MASTER

LEAVING_NS = 10_000 * MS
MANY = 8
"""Beside so many other peers a master may drop one: no pair has so many slaves, so most of them are none."""

End = tuple[str | None, str | None]
"""(connection, side)"""


class Listener:
    """One end that waits for its peer."""

    __slots__ = ("blocked", "bound", "heard", "interval", "node")

    def __init__(self, node: str, heard: int, interval: int, bound: int) -> None:
        self.node = node
        self.heard = heard
        self.interval = interval
        self.bound = bound
        self.blocked = False


class HaHousekeeping(Law):
    id = "ha-housekeeping"
    kind = CONVENTION
    promise = "A peer that is silent for longer than haHousekeepingInterval (and a poll) is dropped, and never earlier."
    source = "HAConnection.ReadSocketService, HAService.HAClient"
    needs = frozenset({"config", "connect", "close", "report", "frame", "partial"})
    timed = True

    def begin(self) -> None:
        self.listeners: dict[End, Listener] = {}
        self.named: set[str | None] = set()
        """Connections whose peer the master named as one that it cannot serve."""
        self.early: list[tuple[str, Event, str, int]] = []
        """Closes without a reason so far: node, event, text, and when the peer was last heard, ns."""

    def on_connect(self, event: Connect) -> None:
        node = MASTER if event.side == "m" else event.node
        if node != HOSTILE:
            bound = configured_ns(self.known, node, "haHousekeepingInterval")
            interval = self.known.setting(node, "haHousekeepingInterval") * MS
            self.listeners[event.link, event.side] = Listener(node, event.t, interval, bound)

    def on_report(self, event: Report) -> None:
        if event.side == "m":
            self._heard(event, (event.link, "m"))
        else:
            self._sent((event.link, "s"))

    def on_frame(self, event: Frame) -> None:
        if event.side == "s":
            self._heard(event, (event.link, "s"))
        else:
            self._sent((event.link, "m"))

    def on_partial(self, event: Partial) -> None:
        end = event.link, event.side
        if event.f == "in":
            self._heard(event, end)
        elif end in self.listeners:
            self.listeners[end].blocked = True

    def on_diverged(self, event: Diverged) -> None:
        self.named.add(event.link)

    def on_close(self, event: Close) -> None:
        """An end is gone: for silence, or for another reason?"""
        end = event.link, event.side
        listener = self.listeners.pop(end, None)
        if listener is None:
            return
        self.judged += 1
        if (
            not self._kept_too_long(event, event.link, listener)
            and event.f == "local"
            and self._is_early(event, listener)
        ):
            silent = (event.t - listener.heard) // MS
            text = f"{event.link}: {listener.node} dropped its peer after {silent} ms of silence, for no other reason"
            self.early.append((listener.node, event, text, listener.heard))

    def on_crash(self, event: Crash | Stop) -> None:
        """All of a node's ends are gone; what it closed on its way out, it closed for that."""
        self.early = [each for each in self.early if each[0] != event.node or event.t - each[1].t > LEAVING_NS]
        for end in [end for end, each in self.listeners.items() if each.node == event.node]:
            self._kept_too_long(event, end[0], self.listeners.pop(end))

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for (link, _), listener in self.listeners.items():
            self._kept_too_long(last, link, listener)
        for _, event, text, heard in self.early:
            self.violate(event, text, since=heard)

    def _heard(self, event: Frame | Partial | Report, end: End) -> None:
        listener = self.listeners.get(end)
        if listener is not None:
            self._kept_too_long(event, event.link, listener)
            listener.heard = event.t

    def _sent(self, end: End) -> None:
        listener = self.listeners.get(end)
        if listener is not None:
            listener.blocked = False

    def _kept_too_long(self, event: Event, link: str | None, listener: Listener) -> bool:
        what = self.known, listener.node, listener.heard, event.t, listener.bound
        late = is_late(*what)
        if late:
            silent, bound = (event.t - listener.heard) // MS, listener.bound // MS
            self.violate(
                event,
                f"{link}: {listener.node} kept a peer that was silent for {silent} ms; {bound} ms are enough",
                since=None if is_far_too_late(*what) else listener.heard,
            )
        return late

    def _is_early(self, close: Close, listener: Listener) -> bool:
        known, silent = self.known, close.t - listener.heard
        if not known.healthy_ns < silent < listener.interval - known.instant_ns or listener.blocked:
            return False
        if close.side == "m":
            link = known.links.get(close.link or "")
            if close.link in self.named or link is None or (link.first is not None and not link.valid):
                return False
            if sum(side == "m" for _, side in self.listeners) >= MANY:
                return False
        return not known.trouble.still_ns(listener.node, listener.heard, close.t)
