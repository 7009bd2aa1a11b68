"""``log-records-whole``: up to its end a recovered log is whole, valid records and fillers.

Judged by what a store reader says of a node right after that node's restart, of the master at the end, and of a slave
at the end if its log ends where the master's does (a running slave may rightly hold half a record).

Left out: what a diverged slave holds above the point up to which the two histories are one: where they meet,
record borders are lost, also once such a slave has become the master; the last store of a node that is down by
itself. Source: CommitLog's record check in recovery: magic, size, CRC; and that each record knows its own offset.
"""

from ....event_types.node import Wipe
from ....history import Event
from ....judging.law import DURABILITY, only
from ...event_types.log import Audit
from ...law import Law
from ...topology import MASTER


class LogRecordsWhole(Law):
    id = "log-records-whole"
    kind = DURABILITY
    promise = "Up to its end a recovered log is whole, valid records and fillers."
    source = "CommitLog.checkMessageAndReturnSize, CommitLog.recoverNormally"
    needs = frozenset({"audit"})

    def begin(self) -> None:
        self.joint: int | None = None
        """Where two histories meet in the log of a slave that became the master, and so in all that copy it."""

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.joint = self.known.logs.diverged.get(event.detail or "")

    def on_audit(self, event: Audit) -> None:
        if event.f != "final" and self._is_fresh(event.node):
            self._judge(event, event.node)

    def _is_fresh(self, node: str) -> bool:
        """Whether a node holds what it has recovered, and nothing else yet."""
        changed = self.known.logs.changed.get(node)
        return changed is not None and changed.kind in ("start", "cut")

    def end(self, last: Event) -> None:
        final = {node: each.read for node, each in self.known.audits.final.items() if each.read is not None}
        master = final.get(MASTER)
        for node, audit in final.items():
            if node in self.known.gone:
                # It may not even have recovered.
                continue
            if node == MASTER or (master is not None and master.hi == audit.hi):
                self._judge(audit, node)

    def _judge(self, audit: Audit, node: str) -> None:
        broken = audit.status == "broken"
        common = self.known.logs.diverged.get(node, self.joint)
        if common is not None and (not broken or audit.whole_to is None or audit.whole_to >= common):
            return
        self.judged += 1
        if broken:
            self.violate(audit, f"{node}'s log stops being whole at {audit.whole_to}: {audit.detail}")
