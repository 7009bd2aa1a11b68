"""``ha-frame-finished``: a frame that left in pieces is finished before anything else leaves.

Judged wherever a piece of a frame was seen to leave: a header behind a piece must name the offset at which the stream
goes on, the whole frame must carry what a store reader finds in the master's log at that place (``source``), and a
stream that is no frames any more is broken. Nor does an unfinished frame stand still on a link that nothing troubles:
not for :data:`STUCK_NS`.

Left out: frames that left in one piece, see ``ha-contiguous``. Source: HAConnection.WriteSocketService, lastWriteOver.
"""

from ....history import MS, Event
from ....judging.law import only
from ....kinds.node import Crash, Stop
from ... import places
from ...kinds.ha import Close, Frame, Partial
from ...kinds.log import Source
from ...law import Law
from ...places import MASTER

STUCK_NS = 10_000 * MS
"""More than any link still needs when it is mended, less than the interval after which a silent peer is dropped."""


class Writer:
    """The master's end of a connection."""

    __slots__ = ("following", "pieces", "since")

    def __init__(self) -> None:
        self.following: int | None = None
        """Where the last frame ended."""
        self.pieces = 0
        """Bytes of an unfinished frame."""
        self.since = 0
        """When that got on last."""


class HaFrameFinished(Law):
    id = "ha-frame-finished"
    promise = "Once a header's first byte is out, the whole of exactly that frame follows before anything else."
    source = "HAConnection.WriteSocketService"
    needs = frozenset({"frame", "partial", "close"})
    timed = True

    def begin(self) -> None:
        self.writers: dict[str | None, Writer] = {}
        self.finished: Event | None = None
        """A frame that left in pieces, until the store is read."""

    @only("out")
    def on_partial(self, event: Partial) -> None:
        if event.side != "m":
            return
        writer = self.writers.setdefault(event.link, Writer())
        if (event.detail or "").startswith("broken"):
            self.judged += 1
            self.violate(event, f"{event.link}: the stream stops being frames ({event.detail})", since=None)
        elif event.size and event.size != writer.pieces:
            writer.pieces, writer.since = event.size, event.t
            self._follows(event, writer)

    def on_frame(self, event: Frame) -> None:
        if event.side != "m":
            return
        writer = self.writers.get(event.link)
        if writer is None:
            writer = self.writers[event.link] = Writer()
        elif writer.pieces:
            self.judged += 1
            writer.pieces = 0
            self.finished = event
            self._follows(event, writer)
        writer.following = event.hi

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

    def on_close(self, event: Close) -> None:
        if event.side == "m":
            writer = self.writers.pop(event.link, None)
            if writer is not None and writer.pieces:
                self._stood_still(event, event.link, writer)

    def on_crash(self, event: Crash | Stop) -> None:
        if event.node == MASTER:
            self.writers.clear()
            return
        # Where its machine has lost power the connection stands, and nobody is there to take the rest.
        for link, writer in self.writers.items():
            known = self.known.links.get(link or "")
            if known is not None and known.peer == event.node:
                writer.pieces = 0

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for link, writer in self.writers.items():
            if writer.pieces:
                self._stood_still(last, link, writer)

    def _follows(self, event: Frame | Partial, writer: Writer) -> None:
        if event.lo is not None and writer.following is not None and event.lo != writer.following:
            what = f"{event.link}: a header names {event.lo}, the stream goes on with {writer.following}"
            self.violate(event, what, since=None)
            writer.following = None

    def _stood_still(self, event: Event, link: str | None, writer: Writer) -> None:
        since = event.t - STUCK_NS
        known = self.known.links.get(link or "")
        if writer.since > since or known is None or known.peer not in places.SLAVES:
            return
        way = places.HA_LINKS[places.SLAVES.index(known.peer)]
        if self.known.trouble.is_undisturbed(since, way, MASTER, known.peer):
            self.judged += 1
            self.violate(event, f"{link}: {writer.pieces} bytes of a frame left, and the rest never did", since=since)
