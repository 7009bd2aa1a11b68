"""``log-records-whole``: up to its end a recovered log is whole, valid records and fillers.

Checks:
- The store reader's result right after a node's restart; at the end of the trial, for the master, and for a slave whose
  log ends where the master's does (a running slave may hold a partial record).
Abstains when:
- A diverged slave holds the bytes above the common part of the two histories, as record boundaries are lost where they
  meet; also after such a slave became the master.
- The node is down by itself.
Source: CommitLog.recoverNormally, checkMessageAndReturnSize: magic, size, CRC, and the record's own offset.
"""

from ....event_types.node import Wipe
from ....history import Event
from ....judging.law import DURABILITY, only
from ...event_types.log import Audit
from ...law import Law
from ...topology import MASTER


class LogRecordsWhole(Law):
    kind = DURABILITY
    needs = frozenset({"audit"})

    def begin(self) -> None:
        self.joint: int | None = None
        """The offset where two histories meet in the log of a promoted slave, and in its copies."""

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.joint = self.known.logs.diverged.get(event.detail or "")

    def on_audit(self, event: Audit) -> None:
        if event.f != "final" and self._is_fresh(event.node):
            self._judge(event, event.node)

    def _is_fresh(self, node: str) -> bool:
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
            self.violate(audit, f"{node}'s log is whole only up to {audit.whole_to}: {audit.detail}")
