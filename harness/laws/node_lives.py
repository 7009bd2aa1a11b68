"""``node-lives``: nobody but its environment ends a node, and it starts on its own store.

A started node runs until it is killed, stopped, or its machine loses power: it does not crash by itself, and it does
not loop for ever. However it ended, it comes up again on the store that it left. Two things excuse a node. The first is
a disk that fails at that moment, as the lab says: the node may end, and need not start. The second is a store that is
not the node's own work: a lying disk lost a part of it, or an operator put it there. The node need not start on such a
store, but once it runs it may not crash. The node may not refuse a store that it closed in order, nor one that a kill
or an honest power loss interrupted.

An emptied store is as good as new. Left out: nodes that run and do not answer, see ``live-progress``. Source: the
design; BrokerStartup exits where BrokerController.initialize() is false, which is where a store cannot be loaded.
"""

from ..event_types.node import Abort, Crash, Start, Stop, Wipe
from ..judging.known import Known
from ..judging.law import Law

_FAILED = {
    "own": "ended by itself", "stuck": "went on without end",
    "refused": "refused its own store", "ended": "did not come up on its own store",
}  # fmt: skip


class NodeLives(Law):
    id = "node-lives"
    promise = "A node neither crashes by itself nor loops forever, and it starts on its own store."
    source = "in RocketMQ: BrokerStartup.start, BrokerController.initialize"
    needs = frozenset({"start", "crash", "abort"})
    timed = True

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.lost_undetected: set[str] = set()
        """Nodes whose stores are not their own work any more."""
        self.since: dict[str, int] = {}
        """When a node came up last, or went down, ns: for so long it may have gone on without end."""

    def on_start(self, event: Start) -> None:
        self.judged += 1
        self.since[event.node] = event.t

    def on_stop(self, event: Stop) -> None:
        self.since[event.node] = event.t

    def on_crash(self, event: Crash) -> None:
        if event.status == "lied":
            self.lost_undetected.add(event.node)
        elif event.status in ("own", "stuck"):
            self._violate(event, event.status)
        self.since[event.node] = event.t

    def on_abort(self, event: Abort) -> None:
        self.judged += 1
        excused = event.status == "disk" or event.node in self.lost_undetected
        if event.f == "stuck" or not excused:
            self._violate(event, event.f or "ended")

    def on_wipe(self, event: Wipe) -> None:
        (self.lost_undetected.discard if event.f == "empty" else self.lost_undetected.add)(event.node)

    def _violate(self, event: Abort | Crash, how: str) -> None:
        since = self.since.get(event.node or "", 0) if how == "stuck" else None
        self.violate(event, f"{event.node} {_FAILED.get(how, how)}: {event.detail or 'it said nothing'}", since)
