"""``node-lives``: a node ends only by its environment, and it starts on its own store.

Checks:
- A node runs until it is killed, stopped, or its machine loses power: it does not crash or loop forever, on any store.
- It starts on the store that it left after an orderly stop, a kill or an honest power loss, and on an empty one.
Abstains when:
- The lab reports that the disk failed at that moment.
- For a start: a lying disk lost a part of the store, or an operator replaced it.
- The node runs and does not answer (``live-progress``).
Source: RocketMQ's BrokerStartup, which exits where BrokerController.initialize() cannot load the store.
"""

from ..event_types.node import Abort, Crash, Start, Stop, Wipe
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

    def begin(self) -> None:
        self.foreign_stores: set[str] = set()
        """Nodes whose store is an older image, or lost bytes to a lying disk: they may refuse it."""
        self.since: dict[str, int] = {}
        """When a node last started or ended, ns: an endless loop may have begun then."""

    def on_start(self, event: Start) -> None:
        self.judged += 1
        self.since[event.node] = event.t

    def on_stop(self, event: Stop) -> None:
        self.since[event.node] = event.t

    def on_crash(self, event: Crash) -> None:
        if event.status == "lied":
            self.foreign_stores.add(event.node)
        elif event.status in ("own", "stuck"):
            self._violate(event, event.status)
        self.since[event.node] = event.t

    def on_abort(self, event: Abort) -> None:
        self.judged += 1
        excused = event.status == "disk" or event.node in self.foreign_stores
        if event.f == "stuck" or not excused:
            self._violate(event, event.f or "ended")

    def on_wipe(self, event: Wipe) -> None:
        (self.foreign_stores.discard if event.f == "empty" else self.foreign_stores.add)(event.node)

    def _violate(self, event: Abort | Crash, how: str) -> None:
        since = self.since.get(event.node or "", 0) if how == "stuck" else None
        self.violate(event, f"{event.node} {_FAILED.get(how, how)}: {event.detail or 'no message'}", since)
