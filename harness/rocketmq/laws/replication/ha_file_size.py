"""``ha-file-size``: a slave whose log files differ in size from its master's stops copying and stores nothing
unreadable.

The protocol does not transmit this size, so the slave detects it when a frame does not fit its files.

Checks:
- A connection that the slave closed while the pair was undisturbed is the last one of its incarnation.
- Its stored log is whole, except for a final partial record.
Abstains when:
- The sizes are equal.
- The slave diverged, and cannot find the boundaries of its records.
Source: MappedFileQueue.rollNextFile; HAService.HAClient, which stores every frame. RocketMQ does not detect this.
"""

from ....history import MS
from ....judging.law import only
from ...event_types.ha import Close, Connect
from ...event_types.log import Audit
from ...law import Law
from ...settings import HOUSEKEEPING
from ...topology import MASTER, SLAVES, ha_link

SETTING = "mappedFileSizeCommitLog"


class HaFileSize(Law):
    needs = frozenset({"config", "start", "connect", "close", "audit"})
    timed = True

    def begin(self) -> None:
        self.stopped: dict[tuple[str, int], str] = {}
        """By slave and its number of ended incarnations: the connection that it closed itself."""
        self.opened: dict[str | None, int] = {}

    @only(node=SLAVES)
    def on_connect(self, event: Connect) -> None:
        slave = event.node
        if event.side != "s" or not self._differs(slave):
            return
        self.judged += 1
        self.opened[event.link] = event.t
        closed = self.stopped.get((slave, self.known.nodes.ended(slave)))
        if closed is not None and slave not in self.known.logs.diverged:
            own, masters = self.known.setting(slave, SETTING), self.known.setting(MASTER, SETTING)
            what = f"{slave} connects again after it closed {closed}"
            self.violate(event, f"{what}: its {SETTING} is {own}, the master's {masters}", since=None)

    @only(node=SLAVES)
    def on_close(self, event: Close) -> None:
        began, slave = self.opened.get(event.link), event.node
        if event.f != "local" or began is None:
            return
        # A silent master is another reason: because of a fault, or a refused first report.
        if event.t - began >= self.known.setting(slave, HOUSEKEEPING) * MS:
            return
        if self.known.disturbances.is_undisturbed(began, slave, MASTER, ha_link(slave)):
            self.stopped.setdefault((slave, self.known.nodes.ended(slave)), event.link)

    @only(node=SLAVES)
    def on_audit(self, event: Audit) -> None:
        node = event.node
        if not self._differs(node) or node in self.known.logs.diverged:
            return
        self.judged += 1
        # A partial last record is allowed.
        largest = self.known.setting(MASTER, SETTING)
        if event.status == "broken" and event.whole_to is not None and event.whole_to + largest < event.hi:
            self.violate(event, f"{node}'s log is whole only up to {event.whole_to}: {event.detail}", since=None)

    def _differs(self, node: str) -> bool:
        return self.known.setting(node, SETTING) != self.known.setting(MASTER, SETTING)
