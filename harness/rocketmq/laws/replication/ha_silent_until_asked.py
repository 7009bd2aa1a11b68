"""``ha-silent-until-asked``: the master pushes nothing on a connection before the peer's first report.

Checks:
- No frame precedes the first report of its connection.
Source: HAConnection.WriteSocketService, which waits for slaveRequestOffset.
"""

from ....judging.law import only
from ...event_types.ha import Connect, Frame
from ...law import Law
from ...topology import MASTER


class HaSilentUntilAsked(Law):
    needs = frozenset({"connect", "report", "frame"})

    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self.judged += 1

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        link = self.known.links.get(event.link)
        if link is not None and link.first is None and link.sent is None:
            self.violate(event, f"{event.link}: the master pushed [{event.lo}, {event.hi}) before the first report")
