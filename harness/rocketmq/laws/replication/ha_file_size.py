"""``ha-file-size``: a slave whose mappedFileSizeCommitLog is not its master's stops, and writes nothing unreadable.

The wire does not tell that size, so the slave finds out by what does not fit its files. From then on it neither appends
nor reports nor connects again, until it is started anew: a connection that the slave itself closed, while nothing was
wrong with the pair, is its last one. And whatever it has stored is whole, up to what may be the beginning of a record.

Left out: pairs whose sizes are equal; that the slave says why; what a slave does that cannot know the borders of its
records, since it holds bytes of another history. Source: MappedFileQueue.rollNextFile; RocketMQ notices nothing.
"""

from ....history import MS
from ....judging.law import only
from ...event_types.ha import Close, Connect
from ...event_types.log import Audit
from ...law import Law
from ...settings import HOUSEKEEPING
from ...topology import HA_LINKS, MASTER, SLAVES

SETTING = "mappedFileSizeCommitLog"


class HaFileSize(Law):
    id = "ha-file-size"
    promise = "A slave whose files have another size than its master's stops copying and stores nothing unreadable."
    source = "MappedFileQueue; HAService.HAClient stores whatever comes"
    needs = frozenset({"config", "start", "connect", "close", "audit"})
    timed = True

    def begin(self) -> None:
        self.stopped: dict[tuple[str, int], str] = {}
        """Per slave and how many of its incarnations had ended: the connection that it closed by itself."""
        self.opened: dict[str | None, int] = {}
        """When connections of such slaves began, ns."""

    @only(node=SLAVES)
    def on_connect(self, event: Connect) -> None:
        slave = event.node
        if event.side != "s" or not self._differs(slave):
            return
        self.judged += 1
        self.opened[event.link] = event.t
        closed = self.stopped.get((slave, self.known.nodes.ended(slave)))
        if closed is not None and slave not in self.known.logs.diverged:
            self.violate(
                event,
                f"{slave} connects again after it closed {closed}: its {SETTING} is "
                f"{self.known.setting(slave, SETTING)}, the master's {self.known.setting(MASTER, SETTING)}",
                since=None,
            )

    @only(node=SLAVES)
    def on_close(self, event: Close) -> None:
        began, slave = self.opened.get(event.link), event.node
        if event.f != "local" or began is None:
            return
        # Silence is another reason: a fault makes it, or a master that refuses the first report.
        if event.t - began >= self.known.setting(slave, HOUSEKEEPING) * MS:
            return
        if self.known.disturbances.is_undisturbed(began, slave, MASTER, HA_LINKS[SLAVES.index(slave)]):
            self.stopped.setdefault((slave, self.known.nodes.ended(slave)), event.link)

    @only(node=SLAVES)
    def on_audit(self, event: Audit) -> None:
        node = event.node
        if not self._differs(node) or node in self.known.logs.diverged:
            return
        self.judged += 1
        # The end of a log in the middle of a record is no matter of files.
        if event.status == "broken" and event.whole_to is not None and event.whole_to + self._largest() < event.hi:
            self.violate(event, f"{node}'s log stops being whole at {event.whole_to}: {event.detail}", since=None)

    def _largest(self) -> int:
        """No record is larger than a file of the master's."""
        return self.known.setting(MASTER, SETTING)

    def _differs(self, node: str) -> bool:
        return self.known.setting(node, SETTING) != self.known.setting(MASTER, SETTING)
