"""``ha-silent-until-asked``: the master pushes nothing on a connection before the peer's first report.

Checks:
- No frame precedes the first report of its connection.
Source: HAConnection.WriteSocketService, which waits for slaveRequestOffset.
"""

from ....judging.law import only
from ...event_types.ha import Connect, Frame, Report
from ...law import Law
from ...topology import MASTER


class HaSilentUntilAsked(Law):
    needs = frozenset({"connect", "report", "frame"})

    def begin(self) -> None:
        self.silent: set[str | None] = set()

    def on_connect(self, event: Connect) -> None:
        if event.side == "m":
            self.judged += 1
            self.silent.add(event.link)

    @only(node=MASTER)
    def on_report(self, event: Report) -> None:
        self.silent.discard(event.link)

    @only(node=MASTER)
    def on_frame(self, event: Frame) -> None:
        if event.link in self.silent:
            self.silent.discard(event.link)
            self.violate(event, f"{event.link}: the master pushed [{event.lo}, {event.hi}) before the first report")
