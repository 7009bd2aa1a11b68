"""``ha-contiguous``: frames of a connection follow each other without gap or overlap, and their bytes are the master's.

Checks:
- Each frame, heartbeats included, starts where the last one ended.
- Its bytes are those at this offset in the master's log (``source`` events; without one, only offsets are compared).
Source: HAConnection.WriteSocketService, nextTransferFromWhere.
"""

from ....history import Event
from ....judging.law import only
from ...event_types.ha import Frame
from ...event_types.log import Source
from ...law import Law
from ...topology import MASTER


class HaContiguous(Law):
    needs = frozenset({"frame"})

    def begin(self) -> None:
        self.pushed: Event | None = None

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        link = self.known.links.get(event.link)
        if link is not None and link.sent is not None:
            self.judged += 1
            if event.lo != link.sent:
                self.violate(event, f"{event.link}: a frame starts at {event.lo}, the last one ended at {link.sent}")
        self.pushed = event

    def on_source(self, event: Source) -> None:
        pushed = self.pushed
        if pushed is None or pushed.lo != event.lo or pushed.hi != event.hi:
            return
        self.pushed = None
        self.judged += 1
        if pushed.digest != event.digest:
            self.violate(event, f"{pushed.link}: the bytes pushed as [{pushed.lo}, {pushed.hi}) are not the master's")
