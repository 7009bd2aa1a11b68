"""``ha-mismatch-closes``: a frame that does not start where the slave's log ends is never appended.

The slave closes that connection and asks again from its own end: the next connection's first report is exactly that.
An empty slave takes whatever offset comes first. Judged from the tap alone where the slave leaves no trace: then a
first report must lie between what this life of the slave last reported and what it can have received.

Frames that came together with a mismatching one and fitted may still be appended and reported. Where the close is not
seen at once, a report later than one poll of the HA thread says that the slave went on.

Left out: where an empty slave's first file starts. Source: HAService.HAClient.dispatchReadRequest.
"""

from ....history import Event
from ....kinds.node import Crash, Stop, Wipe
from ...kinds.ha import Close, Connect, Frame, Report
from ...kinds.log import Append
from ...known.deadlines import POLL_NS, is_late
from ...known.model import HOSTILE
from ...law import Law


class HaMismatchCloses(Law):
    id = "ha-mismatch-closes"
    promise = (
        "A slave does not append a frame that does not start at its log end: it closes the connection and asks from "
        "its own end."
    )
    source = "HAService.HAClient.dispatchReadRequest"
    needs = frozenset({"report", "frame"})
    timed = True

    def begin(self) -> None:
        self.mismatched: dict[str | None, Frame] = {}
        self.received: dict[str, int] = {}
        """Per slave: the end that its log can have, by what it received."""
        self.reported: dict[tuple[str, int], int] = {}
        """Per slave and how many of its incarnations had ended: its last report."""

    def on_frame(self, event: Frame) -> None:
        node = event.node
        if event.side != "s" or node == HOSTILE:
            return
        end = self.known.streams.get(event.link)
        if end is None or event.link in self.mismatched:
            return
        if event.lo == end or end == 0:
            self.received[node] = event.hi
        else:
            self.judged += 1
            self.mismatched[event.link] = event

    def on_report(self, event: Report) -> None:
        node = event.node
        if event.side != "s" or node == HOSTILE:
            return
        offset, end = event.offset, self.known.streams.get(event.link)
        if end is None:
            self._first_report(event, node, offset)
        elif event.link in self.mismatched and (offset > end or self._is_late(self.mismatched[event.link], event.t)):
            frame = self.mismatched.pop(event.link)
            # A report beyond the log's end is wrong at any time.
            since = None if offset > end else frame.t
            self.violate(
                event,
                f"{event.link}: the slave reports {offset} after a frame at {frame.lo}, where its log ended at {end}",
                since=since,
            )
        self.reported[node, self.known.nodes.ended(node)] = offset

    def _is_late(self, frame: Frame, t: int) -> bool:
        """Whether a slave should have closed by ``t``."""
        return is_late(self.known, frame.node, frame.t, t, POLL_NS)

    def _first_report(self, event: Report, node: str, offset: int) -> None:
        own = self.known.logs.own_end(node)
        if own is not None:
            self.judged += 1
            if offset != own:
                self.violate(event, f"{event.link}: the slave asks from {offset}, its log ends at {own}", since=None)
            return
        most = self.received.get(node)
        if most is None:
            self.received[node] = offset
            return
        self.judged += 1
        least = self.reported.get((node, self.known.nodes.ended(node)), 0)
        if not least <= offset <= most:
            self.violate(
                event,
                f"{event.link}: the slave asks from {offset}, it had reported {least} and received {most}",
                since=None,
            )

    def on_append(self, event: Append) -> None:
        """A slave's log grew: not by what did not fit."""
        if not self.mismatched:
            return
        link = self.known.slave_link.get(event.node)
        frame = self.mismatched.get(link)
        end = self.known.streams.get(link or "")
        if frame is not None and end is not None and event.node == frame.node and event.hi > end:
            del self.mismatched[link]
            what = f"{link}: the slave appended a frame at {frame.lo}, where its log ended at {end}"
            self.violate(event, what, since=None)

    def on_connect(self, event: Connect) -> None:
        """A slave has one connection at a time: a new one says that the old one is gone."""
        if self.mismatched and event.side == "s":
            self._forgive(event.node)

    def on_close(self, event: Close) -> None:
        if self.mismatched and event.side == "s":
            self.mismatched.pop(event.link, None)

    def on_crash(self, event: Crash | Stop) -> None:
        """A dead slave owes nothing."""
        self._forgive(event.node)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        """A new store: nothing is known of it."""
        self.received.pop(event.node, None)

    def _forgive(self, node: str | None) -> None:
        for link in [link for link, frame in self.mismatched.items() if frame.node == node]:
            del self.mismatched[link]

    def end(self, last: Event) -> None:
        for link, frame in self.mismatched.items():
            if self._is_late(frame, last.t):
                what = f"{link}: the slave kept the connection after a frame at {frame.lo} did not fit"
                self.violate(frame, what, since=frame.t, until=last.t)
