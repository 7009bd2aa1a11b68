"""What is known of HA connections by both of their ends: what was reported on each, and what may be believed of it.

A first report is *valid* when it is 0 or lies within the master's log; a later one on a connection that began so, when
it is not above the master's log end. Bounded by the connections and reports of one trial. Source: HAConnection.
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
"""Above the master's log end when it arrived."""
BELOW = "below"
"""Before the master's log start, or negative."""
REFUSED = "refused"
"""Made on a connection whose first report was not valid."""


class Links(known.Known):
    """The part of the model that follows them."""

    logs: Logs
    dispatched: Dispatched
    _blind: bool

    def _know_links(self) -> None:
        self.links: dict[str, Link] = {}
        self.slave_link: dict[str, str] = {}
        """The connection that a slave opened last."""
        self.streams: dict[str, int] = {}
        """Per connection: where the slave's log ends by what it first reported and then received."""
        self.claimed: dict[str, int] = {}
        """What a slave reported last."""
        self.reported: dict[str, int] = {}
        """The same of its present incarnation."""
        self.received: dict[str, int] = {}
        """Where a slave's log can end, by what it has received."""
        self.mismatched: dict[str, Frame] = {}
        """By connection: the first frame that did not go on where the slave's log ended."""
        self.available = 0
        """Open connections on which a valid report was made."""
        self.available_changed = (-1, 0)
        """``seq`` and time (ns) of the event since which there have been some, or none."""
        self.pushed, self.pushed_at = 0, 0
        """The highest valid report of the master's present life (push2SlaveMaxOffset), and when it arrived, ns."""
        self.advances: list[tuple[int, int]] = []
        """``seq`` and time (ns) of the reports to the master that say more than all valid ones before; where time is
        real all, since two slaves' reports may have reached it in the other order."""
        self.ahead = self.refused = -1
        """The highest report above the master's end, and on a refused connection, in its present life."""
        self._begins: dict[str, int] = {}
        """Per connection: where the slave's log began at its last report."""
        self.coverage = Coverage()
        self._heard_seq, self._heard = -1, VALID

    # What laws ask.

    def hears(self, report: Report) -> str:
        """VALID, AHEAD, BELOW or REFUSED: what a report that now reaches the master is to it."""
        if report.seq != self._heard_seq:
            self._heard_seq = report.seq
            self._heard = self._classify(report)
        return self._heard

    def _classify(self, report: Report) -> str:
        link, offset = self.links.get(report.link or ""), report.offset or 0
        end = self.logs.ends.get(MASTER, offset)
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
        """Whether the master has had no report on this connection before."""
        link = self.links.get(report.link)
        return link is None or link.first is None

    # What the judge tells.

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
        """A frame left the master, or a slave received it: its log goes on if the frame fits."""
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
                    # There its log begins, even with a heartbeat.
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
        heard = self.hears(event)
        link = self._link(event)
        if heard is VALID:
            self._believe(link, label, offset, event)
        elif offset > self.logs.ends.get(MASTER, offset):
            self.ahead = max(self.ahead, offset)
        if not link.valid:
            self.refused = max(self.refused, offset)
        if link.first is None:
            link.first = offset
            link.ahead = event if heard is AHEAD else None

    def _link(self, event: Frame | Report) -> Link:
        link = self.links.get(event.link)
        if link is None:
            link = self.links[event.link] = Link(event.node, self.logs.incarnation, event.t)
        return link

    def _left_slave(self, node: str, label: str, offset: int) -> None:
        if label not in self.streams:
            self.streams[label] = offset
            if not offset and self.logs.own_end(node) is None:
                # It has no log, so the next frame decides where that begins.
                self.logs.starts.pop(node, None)
        if node != ROGUE:
            self.claimed[node] = self.reported[node] = offset
            self.received.setdefault(node, offset)
            # Kept per connection: a report may reach the master when the slave lives another life already.
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
