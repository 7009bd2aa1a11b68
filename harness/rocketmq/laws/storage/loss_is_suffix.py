"""``loss-is-suffix``: from its log start on, a slave lacks exactly the master's messages that end after its log end.

So the loss of a master loses a suffix, never a hole.

Checks:
- Each audit of a running slave lists every message that the master had written between the slave's log start and end,
  at the same offset. The master's appends and records, or without a trace its answers to sends, give these messages.
Abstains when:
- A diverged slave (see ``logs``) holds the range above the common part of the two histories.
Source: the design of asynchronous replication: a slave's log is one contiguous range of its master's (HAService).
"""

from ....event_types.client import Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ...contract import STORED
from ...event_types.log import Append, Audit, Record
from ...known.circumstances import EARLIER_INCARNATION
from ...law import Law
from ...topology import MASTER

Range = tuple[int, int]


class LossIsSuffix(Law):
    kind = DURABILITY
    applies_with = "a slave that holds records"
    needs = frozenset({"record", "audit"})

    def begin(self) -> None:
        self.written: dict[str | None, Range] = {}
        self.blind = "append" not in self.known.observes

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        if event.message is not None:
            self.written[event.message] = (event.lo, event.hi)

    @only("send")
    def on_ok(self, event: Ok) -> None:
        if not self.blind or event.status not in STORED or event.lo is None or event.hi is None:
            return
        if not self.abstains(event, EARLIER_INCARNATION):
            self.written[event.message] = (event.lo, event.hi)

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self.written = {}

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        """Recovery removed records above the new log end."""
        end = self.known.nodes.left(event).hi
        self.written = {message: found for message, found in self.written.items() if found[1] <= end}

    @only(node=MASTER)
    def on_record(self, event: Record) -> None:
        self.written[event.message] = (event.lo, event.hi)

    def on_audit(self, event: Audit) -> None:
        node = event.node
        if node == MASTER or event.f == "compare" or event.hi is None or node not in self.known.up:
            return
        found = {(each.message, each.lo) for each in self.known.audits.records(event)}
        start = event.lo
        end = min(self.known.logs.common(node, event.hi), self.known.logs.diverged.get(node, event.hi))
        for message, (lo, hi) in self.written.items():
            if lo < start or hi > end:
                continue
            self.judged += 1
            if (message, lo) not in found:
                what = f"{node}'s log reaches from {start} to {event.hi} and lacks {message} at [{lo}, {hi})"
                self.violate(event._replace(message=message), what)
