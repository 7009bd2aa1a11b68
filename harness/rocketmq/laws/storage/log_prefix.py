"""``log-prefix``: a slave's log equals the master's, byte for byte, over the range that both hold.

Checks:
- The digests of both logs in the same audit, on the same grid.
Abstains when:
- One of the nodes is down: its torn tail is not served.
- The range of a diverged slave (see ``logs``) is above the common part of the two histories.
Source: RocketMQ's HA design: a slave's commit log is a byte copy (CommitLog.appendData).
"""

from ....history import Event
from ....judging.law import DURABILITY
from ...event_types.log import Chunk
from ...law import Law
from ...topology import MASTER


class LogPrefix(Law):
    kind = DURABILITY
    applies_with = "a slave that holds records"
    needs = frozenset({"chunk"})

    def begin(self) -> None:
        self.audit: int | None = None
        self.seen: dict[str, dict[int | None, Event]] = {}

    def on_chunk(self, event: Chunk) -> None:
        if event.audit != self.audit:
            self.audit = event.audit
            self.seen = {}
        node = event.node
        self.seen.setdefault(node, {})[event.lo] = event
        if node != MASTER:
            masters = self.seen.get(MASTER)
            if masters is not None:
                self._compare(event, masters.get(event.lo), node)
            return
        for slave, theirs in self.seen.items():
            if slave != MASTER:
                self._compare(event, theirs.get(event.lo), slave)

    def _compare(self, event: Chunk, other: Event | None, slave: str) -> None:
        if other is None or other.hi != event.hi:
            return
        common = self.known.logs.diverged.get(slave)
        if common is not None and (event.hi or 0) > common:
            return
        if slave not in self.known.up or MASTER not in self.known.up:
            return
        self.judged += 1
        if other.digest != event.digest:
            self.violate(event, f"[{event.lo}, {event.hi}) of {slave} differs from the master's log")
