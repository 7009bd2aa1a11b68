"""HA connections from both ends: the reports on each, and which of them are valid.

A first report is *valid* if it is 0 or lies within the master's log; a later one on a connection with a valid first
report, if it is not above the master's log end. Bounded by the connections and reports of one trial. Source:
HAConnection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...history import Event
from ...judging import known
from ..event_types.ha import Close, Connect, Frame, Report
from ..topology import MASTER, ROGUE
from .coverage import Coverage
from .ha_link import Link

if TYPE_CHECKING:
    from .dispatched import Dispatched
    from .logs import Logs


VALID = "valid"
AHEAD = "ahead"
"""Above the master's log end on arrival."""
BELOW = "below"
"""Before the master's log start, or negative."""
REFUSED = "refused"
"""Made on a connection whose first report was not valid."""


class Links(known.Known):
    logs: Logs
    dispatched: Dispatched
    _blind: bool

    def _init_links(self) -> None:
        self.links: dict[str, Link] = {}
        self.slave_link: dict[str, str] = {}
        self.streams: dict[str, int] = {}
        """By connection: the slave's log end, from its first report and its received frames."""
        self.claimed: dict[str, int] = {}
        """A slave's last report."""
        self.reported: dict[str, int] = {}
        """The last report of a slave's current incarnation."""
        self.received: dict[str, int] = {}
        """The largest possible log end of a slave, from its received frames."""
        self.mismatched: dict[str, Frame] = {}
        """By connection: the first frame that did not continue at the slave's log end."""
        self.available = 0
        """Open connections with a valid report."""
        self.available_changed = (-1, 0)
        """``seq`` and time (ns) of the event since which there have been some, or none."""
        self.pushed, self.pushed_at = 0, 0
        """The highest valid report to the master's current incarnation (push2SlaveMaxOffset), and its arrival, ns."""
        self.advances: list[tuple[int, int]] = []
        """``seq`` and time (ns) of the reports to the master that exceed all earlier valid ones; in real time all
        reports, since two slaves' reports may have arrived in the other order.
        """
        self.ahead = self.refused = -1
        """The highest report above the master's end, and on a refused connection, to its current incarnation."""
        self._begins: dict[str, int] = {}
        """By connection: the beginning of the slave's log at its last report."""
        self.coverage = Coverage()
        self._class_seq, self._class = -1, VALID

    def validity(self, report: Report) -> str:
        """VALID, AHEAD, BELOW or REFUSED: the class of a report that now reaches the master."""
        if report.seq != self._class_seq:
            self._class_seq = report.seq
            self._class = self._classify(report)
        return self._class

    def _classify(self, report: Report) -> str:
        link, offset = self.links.get(report.link or ""), report.offset or 0
        end = self.logs.readable_end(MASTER, offset)
        least = 0
        if link is None or link.first is None:
            if offset:
                least = self.logs.starts.get(MASTER, 0)
        elif not link.valid:
            return REFUSED
        if offset > end:
            return AHEAD
        return VALID if offset >= least else BELOW

    def is_first(self, report: Report) -> bool:
        link = self.links.get(report.link)
        return link is None or link.first is None

    def on_connect(self, event: Connect) -> None:
        label, peer = event.link, event.node
        if event.side == "m":
            self.links[label] = Link(peer, self.logs.incarnation, event.t)
        elif peer != ROGUE:
            self.slave_link[peer] = label

    def on_close(self, event: Close) -> None:
        link = self.links.get(event.link)
        if link is not None and event.side == "m":
            if link.open:
                link.closed = event.t
            self._drop(link, event)

    def _drop(self, link: Link, event: Event) -> None:
        if link.open and link.valid:
            self.available -= 1
            if not self.available:
                self.available_changed = event.seq, event.t
        link.open = False

    def on_frame(self, event: Frame) -> None:
        """A frame left the master, or a slave received it: its log continues if the frame fits."""
        if event.side == "m":
            link = self._link(event)
            link.sent = event.hi
            if link.began is None and link.first is not None:
                link.began = event
        else:
            streams, label = self.streams, event.link
            if event.lo != event.hi:
                self.logs.changed[event.node] = event
            if self._blind:
                # A slave may have something to dispatch.
                self.dispatched.grown[event.node] = event.t
            end = streams.get(label)
            if end == event.lo or end == 0:
                if end == 0:
                    # Its log begins there, even with a heartbeat.
                    self.logs.starts.setdefault(event.node, event.lo)
                streams[label] = event.hi
                if label not in self.mismatched:
                    self.received[event.node] = event.hi
            elif end is not None and event.node != ROGUE:
                self.mismatched.setdefault(label, event)

    def on_report(self, event: Report) -> None:
        label, offset = event.link, event.offset
        if event.side == "s":
            self._left_slave(event.node, label, offset)
            return
        if offset > self.pushed or self.instant_ns:
            self.advances.append((event.seq, event.t))
        class_ = self.validity(event)
        link = self._link(event)
        if class_ is VALID:
            self._believe(link, label, offset, event)
        elif offset > self.logs.readable_end(MASTER, offset):
            self.ahead = max(self.ahead, offset)
        if not link.valid:
            self.refused = max(self.refused, offset)
        if link.first is None:
            link.first = offset
            link.ahead = event if class_ is AHEAD else None

    def _link(self, event: Frame | Report) -> Link:
        link = self.links.get(event.link)
        if link is None:
            link = self.links[event.link] = Link(event.node, self.logs.incarnation, event.t)
        return link

    def _left_slave(self, node: str, label: str, offset: int) -> None:
        if label not in self.streams:
            self.streams[label] = offset
            if not offset and self.logs.own_end(node) is None:
                # It has no log, so the next frame decides where it begins.
                self.logs.starts.pop(node, None)
        if node != ROGUE:
            self.claimed[node] = self.reported[node] = offset
            self.received.setdefault(node, offset)
            # By connection, since a report may reach the master after the slave's next start.
            self._begins[label] = self.logs.copied_from(node)

    def _believe(self, link: Link, label: str, offset: int, event: Event) -> None:
        if not link.valid:
            link.valid = True
            self.available += 1
            if self.available == 1:
                self.available_changed = event.seq, event.t
        if offset > self.pushed:
            self.pushed, self.pushed_at = offset, event.t
        reach = offset
        logs = self.logs
        if link.peer in logs.traced and link.peer not in logs.diverged:
            reach = min(offset, logs.appended.get(link.peer, -1))
        elif link.peer == ROGUE:
            self.coverage.claimed(label, offset)
            return
        begin = self._begins.get(label)
        self.coverage.reported(link.peer, logs.starts.get(link.peer, 0) if begin is None else begin, reach)
