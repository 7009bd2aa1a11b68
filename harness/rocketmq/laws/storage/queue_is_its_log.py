"""``queue-is-its-log``: the queues and the key index of a broker are those that its own log gives.

Each audit of a running node, also the master, derives queues and index from the log.

Checks:
- No entry differs from its record (offset, size, tags code or delivery time). No key hash leads to a record without the
  key. Index files have RocketMQ's format: headers tell first and last message, used slots and entries.
- No record lacks its entry or keys once the node must have dispatched it (see ``dispatched``).
- No queue continues after the log's last record of it.
Abstains when:
- A black box crashed: its index may lack or keep entries, and its queues may hold entries behind their ends.
- A lying disk has damaged the store, the slave diverged (see ``logs``), or the log begins before a promoted slave's.
- For delivery times: the store was dispatched with several values of messageDelayLevel.
Source: DefaultMessageStore.ReputMessageService, which builds queues and index from the log; ConsumeQueue,
IndexService.load, CommitLog.recoverAbnormally.
"""

from ....judging.law import DURABILITY
from ...contract import LIED, WIPE
from ...event_types.log import Derived
from ...known.circumstances import DIVERGED, LEVELS_CHANGED, LONGER
from ...known.derived_under import DELAYED
from ...law import Law


class QueueIsItsLog(Law):
    kind = DURABILITY
    needs = frozenset({"derived"})
    timed = True

    def on_derived(self, event: Derived) -> None:
        node, known = event.node, self.known
        if node not in known.up or self.abstains(event, DIVERGED, LONGER):
            return
        if LIED in known.stores.suffered(node):
            return
        if event.f == "index" and not known.keeps_index(node):
            return
        is_delayed = event.status == "other" and (event.detail or "").startswith(DELAYED)
        if is_delayed and self.abstains(event, LEVELS_CHANGED):
            return
        if event.compared:
            self.judged += 1
        if event.status != "same" and not self._is_excused(event):
            since = known.dispatched.grown.get(node, 0) if event.status == "lacks" else None
            self.violate(event, f"{node}: {event.detail}", since=since)

    def _is_excused(self, event: Derived) -> bool:
        known = self.known
        black_box = known.is_a_black_box(event.node) and not known.stores.suffered(event.node) <= {WIPE}
        if event.status == "lacks":
            return (black_box and event.f == "index") or not known.dispatched.has_all(event, event.hi)
        return black_box and (event.f == "index" or event.status == "behind")
