"""``ha-frame-finished``: once a frame's first byte is sent, exactly the rest of that frame follows before anything
else.

Checks:
- The header of a frame that was sent in pieces names the offset at which the stream continues, and the whole frame is
  the master's log there (``source``).
- The stream remains a sequence of frames.
- An unfinished frame makes progress within ``STUCK_NS`` on an undisturbed link.
Abstains when:
- The frame was sent whole (see ``ha-contiguous``).
Source: HAConnection.WriteSocketService, lastWriteOver.
"""

from dataclasses import dataclass

from ....history import MS, Event
from ....judging.law import EventFilter, only
from ... import topology
from ...event_types.ha import Close, Frame, Partial
from ...event_types.log import Source
from ...law import Law
from ...topology import MASTER

STUCK_NS = 10_000 * MS
"""More than a healed link needs, less than the interval after which a silent peer is dropped."""


@dataclass(slots=True, eq=False)
class Writer:
    """The master's end of a connection with a partly sent frame."""

    pieces: int = 0
    since: int = 0
    """When these last grew, ns."""
    is_violated: bool = False


class HaFrameFinished(Law):
    needs = frozenset({"frame", "partial", "close"})
    timed = True
    awaits = {"partial": EventFilter(frozenset({"out"}), frozenset({MASTER}))}

    def begin(self) -> None:
        self.writers: dict[str, Writer] = {}
        self.finished: Event | None = None

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        if (event.detail or "").startswith("broken"):
            self.judged += 1
            self.violate(event, f"{event.link}: the stream is no longer frames ({event.detail})", since=None)
            return
        writer = self.writers.setdefault(event.link, Writer())
        if event.size and event.size != writer.pieces:
            writer.pieces, writer.since = event.size, event.t
            self._check_header(event, writer)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        writer = self.writers.get(event.link)
        if writer is not None:
            if self._is_unfinished(event.link, writer):
                self.judged += 1
                self.finished = event
                self._check_header(event, writer)
            del self.writers[event.link]

    def on_source(self, event: Source) -> None:
        frame, self.finished = self.finished, None
        if frame is None or (frame.link, frame.lo, frame.hi) != (event.link, event.lo, event.hi):
            return
        if frame.digest != event.digest:
            what = f"{frame.link}: the frame [{frame.lo}, {frame.hi}) was sent in pieces"
            self.violate(event, f"{what}, which are not the master's log", since=None)

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        if (writer := self.writers.pop(event.link, None)) is not None:
            self._check_stuck(event, event.link, writer)

    def end(self, last: Event) -> None:
        for link, writer in self.writers.items():
            self._check_stuck(last, link, writer)

    def _is_unfinished(self, label: str, writer: Writer) -> bool:
        """Whether the rest must still be sent, to a running slave: a power loss leaves the connection open."""
        link = self.known.links.get(label)
        if link is None or not link.open:
            return link is None
        return writer.pieces > 0 and self.known.nodes.ended_at.get(link.peer, -1) < writer.since

    def _check_header(self, event: Frame | Partial, writer: Writer) -> None:
        link = self.known.links.get(event.link)
        following = None if link is None or writer.is_violated else link.sent
        if event.lo is not None and following is not None and event.lo != following:
            what = f"{event.link}: a header names {event.lo}, the stream continues at {following}"
            self.violate(event, what, since=None)
            writer.is_violated = True

    def _check_stuck(self, event: Event, label: str, writer: Writer) -> None:
        since, link = event.t - STUCK_NS, self.known.links.get(label)
        if writer.since > since or link is None or link.peer not in topology.SLAVES:
            return
        way = topology.ha_link(link.peer)
        if self._is_unfinished(label, writer) and self.known.disturbances.is_undisturbed(since, way, MASTER, link.peer):
            self.judged += 1
            what = f"{label}: {writer.pieces} bytes of a frame were sent, and the rest never was"
            self.violate(event, what, since=since)
