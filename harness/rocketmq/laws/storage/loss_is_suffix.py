"""``loss-is-suffix``: what a slave lacks of its master's messages is what lies behind its log's end, and nothing else.

Wherever a store reader lists a running slave's records, each message that the master had written between the log's
start and its end must be among them, at its own place. So a master that is lost for good takes a suffix with it, never
a hole. The master's messages are known from its appends, from its own records, and, where no appends are seen, from the
answers to sends.

Left out: what a diverged slave (see ``logs``) holds above the point up to which the two histories are one.
Source: the design of asynchronous replication: one log, copied in order.
"""

from ....event_types.client import Ok
from ....event_types.node import Start, Wipe
from ....judging.law import DURABILITY, only
from ...contract import STORED
from ...event_types.log import Append, Audit, Record
from ...known.circumstances import EARLIER_INCARNATION
from ...law import Law
from ...topology import MASTER

Place = tuple[int, int]


class LossIsSuffix(Law):
    id = "loss-is-suffix"
    kind = DURABILITY
    promise = "From its log start on, a slave lacks exactly those of the master's messages that end after its log end."
    source = "HAService: a slave's log is one piece of its master's"
    applies_with = "a slave that holds records"
    needs = frozenset({"record", "audit"})

    def begin(self) -> None:
        self.written: dict[str | None, Place] = {}
        """The master's messages, where they lie."""
        self.blind = "append" not in self.known.observes

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        if event.message is not None:
            self.written[event.message] = (event.lo, event.hi)

    @only("send")
    def on_ok(self, event: Ok) -> None:
        """A send was answered; if the master crashed meanwhile, something else may lie there by now."""
        if not self.blind or event.status not in STORED or event.lo is None or event.hi is None:
            return
        if not self.abstains(event, EARLIER_INCARNATION):
            self.written[event.message] = (event.lo, event.hi)

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        """Another store of the master's: what it holds will be read."""
        self.written = {}

    @only(node=MASTER)
    def on_start(self, event: Start) -> None:
        """Recovery took what lies above the log's new end; where nobody says where that is, all that power kept."""
        if event.hi is None and not self.known.nodes.lost_power(MASTER):
            return
        end = event.hi or 0
        self.written = {message: place for message, place in self.written.items() if place[1] <= end}

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
                self.violate(
                    event._replace(message=message),
                    f"{node}'s log reaches from {start} to {event.hi} and lacks {message} at [{lo}, {hi})",
                )
