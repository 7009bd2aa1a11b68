"""``ack-timeout-honest``: FLUSH_SLAVE_TIMEOUT comes only after the whole wait, and the message is stored.

The wait is slaveTimeout, counted from the append (from the send where no append was seen); reports that do not reach
the message never shorten it. Stored: its append was seen, or a store reader finds its record, unless the master's
machine crashed since.

Left out: answers that come too late, which only ``ack-bounded`` could judge. Source: properties 6 and 7; RocketMQ up to
4.5.2 counts wake-ups instead of time.
"""

from __future__ import annotations

from pairproof.harness.history import Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import MASTER, Ledger

MS = 1_000_000


class AckTimeoutHonest(Law):
    """See the module."""

    id = "ack-timeout-honest"
    promise = "FLUSH_SLAVE_TIMEOUT only after slaveTimeout from the append, and the message is stored on the master."
    source = "HAService.GroupTransferService, CommitLog.submitReplicaRequest"
    needs = frozenset({"config", "invoke", "ok"})
    key = "message"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.began: dict[str | None, int] = {}
        self.appended: set[str | None] = set()
        self.unproven: dict[str | None, Event] = {}
        self.audited = False
        self.power_lost_ns = -1

    def on_invoke(self, event: Event) -> None:
        """A send began."""
        if event.f == "send":
            self.began[event.message] = event.t

    def on_append(self, event: Event) -> None:
        """The wait begins."""
        if event.message is not None:
            self.began[event.message] = event.t
            self.appended.add(event.message)

    def on_ok(self, event: Event) -> None:
        """A send was answered."""
        if event.status != "FLUSH_SLAVE_TIMEOUT" or event.f != "send":
            return
        self.judged += 1
        began_ns = self.began.get(event.message, 0)
        # An answer may have been under way while a power loss took the message.
        if event.message not in self.appended and began_ns > self.power_lost_ns:
            self.unproven[event.message] = event
        wait_ms = self.ledger.setting(MASTER, "slaveTimeout")
        waited_ms = (event.t - began_ns) / MS
        if waited_ms < wait_ms:
            self.violate(event, f"{event.message} timed out after {waited_ms:.3f} ms, slaveTimeout is {wait_ms} ms")

    def on_crash(self, event: Event) -> None:
        """A power loss may take what was stored."""
        if event.node == MASTER and event.f == "machine":
            self.unproven.clear()
            self.power_lost_ns = event.t

    def on_record(self, event: Event) -> None:
        """It is there."""
        if self.unproven and event.node == MASTER:
            self.unproven.pop(event.message, None)

    def on_audit(self, event: Event) -> None:
        """Whoever reads the whole log at the end sees every message; of a broken one the rest cannot be read."""
        self.audited = self.audited or (event.node == MASTER and event.f == "final" and event.status == "whole")

    def end(self, last: Event) -> None:
        """Answered as stored, and not there."""
        if self.audited:
            for message, answer in self.unproven.items():
                self.violate(answer, f"{message} was answered as stored, the master's log does not hold it")
