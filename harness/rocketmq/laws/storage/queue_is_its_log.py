"""``queue-is-its-log``: a broker's queues and key index, the master's too, are what its own log gives.

At every audit a store reader derives queues and index from the log that it read, and compares. No entry may be another
than its record gives (offset, size, tags code or time of delivery), and no hash of a key may lead to a record that does
not have it, nor may an index file have another form than RocketMQ gives it. No record may lack its entry or its keys,
once the node must have dispatched it (see ``dispatching``). No queue may go on
behind the last record that the log has of it. Judged while the node runs.

Left out, since RocketMQ leaves that so: of a black box that crashed, what its index lacks or still has (index files
that are newer than its checkpoint are dropped, and dispatch begins at the checkpoint's log file), and what its queues
hold behind their ends (a cut moves a position, and erases nothing). Left out of every broker: stores that a lying disk
has spoiled; logs that begin before that of a slave which was promoted, and slaves in class rollback (see ``known``).
Source: ReputMessageService, ConsumeQueue, IndexService.load, CommitLog.recoverAbnormally.
"""

from pairproof.harness.kinds.node import Crash, Stop, Wipe
from pairproof.harness.law import DURABILITY
from pairproof.harness.rocketmq.kinds.log import Derived
from pairproof.harness.rocketmq.laws.storage.dispatching import Dispatching


class QueueIsItsLog(Dispatching):
    id = "queue-is-its-log"
    kind = DURABILITY
    promise = "The queues and the key index of a broker are what its own log gives."
    source = "DefaultMessageStore.ReputMessageService: consume queues and index are built from the log"
    needs = frozenset({"derived"})
    timed = True

    def begin(self) -> None:
        super().begin()
        self.crashed: set[str] = set()
        self.spoiled: set[str] = set()
        """Nodes whose store is not their own work."""

    def on_crash(self, event: Crash | Stop) -> None:
        super().on_crash(event)
        if event.kind == "crash":
            self.crashed.add(event.node)
            if event.status == "lied":
                self.spoiled.add(event.node)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        self.spoiled.discard(event.node)
        if event.f == "empty":
            self.crashed.discard(event.node)

    def on_derived(self, event: Derived) -> None:
        node, known = event.node, self.known
        if node not in known.up or node in self.spoiled or node in known.rolled or known.is_longer(node):
            return
        if event.f == "index" and not self.keeps_index(node):
            return
        if event.compared:
            self.judged += 1
        if event.status != "same" and not self._is_excused(event):
            since = self.grown.get(node, 0) if event.status == "lacks" else None
            self.violate(event, f"{node}: {event.detail}", since=since)

    def _is_excused(self, event: Derived) -> bool:
        black_box = self.known.is_a_black_box(event.node) and event.node in self.crashed
        if event.status == "lacks":
            return (black_box and event.f == "index") or not self.has_dispatched(event, event.hi)
        return black_box and (event.f == "index" or event.status == "behind")
