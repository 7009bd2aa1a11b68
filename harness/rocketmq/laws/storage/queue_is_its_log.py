"""``queue-is-its-log``: a broker's queues and key index, the master's too, are what its own log gives.

At every audit a store reader derives queues and index from the log that it read, and compares. No entry may be another
than its record gives (offset, size, tags code or time of delivery), and no hash of a key may lead to a record that does
not have it, nor may an index file have another form than RocketMQ gives it. No record may lack its entry or its keys,
once the node must have dispatched it (see ``dispatched``). No queue may go on
behind the last record that the log has of it. Judged while the node runs.

Left out, since RocketMQ leaves that so: of a black box that crashed, what its index lacks or still has (index files
that are newer than its checkpoint are dropped, and dispatch begins at the checkpoint's log file), and what its queues
hold behind their ends (a cut moves a position, and erases nothing). Left out of every broker: stores that a lying disk
has spoiled; logs that begin before that of a slave which was promoted, and diverged slaves (see ``logs``); delivery
times in a store that was dispatched under several values of messageDelayLevel.
Source: ReputMessageService, ConsumeQueue, IndexService.load, CommitLog.recoverAbnormally.
"""

from ....judging.law import DURABILITY
from ...contract import LIED, WIPE
from ...event_types.log import Derived
from ...known.circumstances import DIVERGED, LEVELS_CHANGED, LONGER
from ...known.derived_under import DELAYED
from ...law import Law


class QueueIsItsLog(Law):
    id = "queue-is-its-log"
    kind = DURABILITY
    promise = "The queues and the key index of a broker are what its own log gives."
    source = "DefaultMessageStore.ReputMessageService: consume queues and index are built from the log"
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
