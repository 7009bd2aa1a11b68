"""``ha-frame-finished``: a frame that left in pieces is finished before anything else leaves.

Judged wherever a piece of a frame was seen to leave: a header behind a piece must name the offset at which the stream
goes on, the whole frame must carry what a store reader finds in the master's log at that place (``source``), and a
stream that is no frames any more is broken. Nor does an unfinished frame stand still on a link that nothing troubles:
not for :data:`STUCK_NS`.

Left out: frames that left in one piece, see ``ha-contiguous``. Source: HAConnection.WriteSocketService, lastWriteOver.
"""

from ....history import MS, Event
from ....judging.law import EventFilter, only
from ... import topology
from ...event_types.ha import Close, Frame, Partial
from ...event_types.log import Source
from ...law import Law
from ...topology import MASTER

STUCK_NS = 10_000 * MS
"""More than any link still needs when it is mended, less than the interval after which a silent peer is dropped."""


class Writer:
    """The master's end of a connection on which a frame left in pieces."""

    __slots__ = ("is_out", "pieces", "since")

    def __init__(self) -> None:
        self.pieces = 0
        """Bytes of an unfinished frame."""
        self.since = 0
        """When that got on last."""
        self.is_out = False
        """Whether its headers have named another offset than the one with which the stream goes on."""


class HaFrameFinished(Law):
    id = "ha-frame-finished"
    promise = "Once a header's first byte is out, the whole of exactly that frame follows before anything else."
    source = "HAConnection.WriteSocketService"
    needs = frozenset({"frame", "partial", "close"})
    timed = True
    awaits = {"partial": EventFilter(frozenset({"out"}), frozenset({MASTER}))}

    def begin(self) -> None:
        self.writers: dict[str, Writer] = {}
        self.finished: Event | None = None
        """A frame that left in pieces, until the store is read."""

    @only("out", node=MASTER)
    def on_partial(self, event: Partial) -> None:
        if (event.detail or "").startswith("broken"):
            self.judged += 1
            self.violate(event, f"{event.link}: the stream stops being frames ({event.detail})", since=None)
            return
        writer = self.writers.setdefault(event.link, Writer())
        if event.size and event.size != writer.pieces:
            writer.pieces, writer.since = event.size, event.t
            self._follows(event, writer)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        writer = self.writers.get(event.link)
        if writer is not None:
            if self._is_unfinished(event.link, writer):
                self.judged += 1
                self.finished = event
                self._follows(event, writer)
            del self.writers[event.link]

    def on_source(self, event: Source) -> None:
        frame, self.finished = self.finished, None
        if frame is None or (frame.link, frame.lo, frame.hi) != (event.link, event.lo, event.hi):
            return
        if frame.digest != event.digest:
            self.violate(
                event,
                f"{frame.link}: the frame [{frame.lo}, {frame.hi}) left in pieces, which are not the master's log",
                since=None,
            )

    @only(node=MASTER)
    def on_close(self, event: Close) -> None:
        if (writer := self.writers.pop(event.link, None)) is not None:
            self._stood_still(event, event.link, writer)

    def end(self, last: Event) -> None:
        for link, writer in self.writers.items():
            self._stood_still(last, link, writer)

    def _is_unfinished(self, label: str, writer: Writer) -> bool:
        """Whether somebody is to send the rest, and somebody is there to take it: where a slave's machine has lost
        power its connection stands."""
        link = self.known.links.get(label)
        if link is None or not link.open:
            return link is None
        return writer.pieces > 0 and self.known.nodes.ended_at.get(link.peer, -1) < writer.since

    def _follows(self, event: Frame | Partial, writer: Writer) -> None:
        link = self.known.links.get(event.link)
        following = None if link is None or writer.is_out else link.sent
        if event.lo is not None and following is not None and event.lo != following:
            what = f"{event.link}: a header names {event.lo}, the stream goes on with {following}"
            self.violate(event, what, since=None)
            writer.is_out = True

    def _stood_still(self, event: Event, label: str, writer: Writer) -> None:
        since, link = event.t - STUCK_NS, self.known.links.get(label)
        if writer.since > since or link is None or link.peer not in topology.SLAVES:
            return
        way = topology.HA_LINKS[topology.SLAVES.index(link.peer)]
        if self._is_unfinished(label, writer) and self.known.disturbances.is_undisturbed(since, way, MASTER, link.peer):
            self.judged += 1
            what = f"{label}: {writer.pieces} bytes of a frame left, and the rest never did"
            self.violate(event, what, since=since)
