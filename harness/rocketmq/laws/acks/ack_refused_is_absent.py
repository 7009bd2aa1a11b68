"""``ack-refused-is-absent``: a send that failed left no message: not in a store, not with a reader.

A send fails when it was refused with a code that says so, or never left its client. Seen as an append of the master or
a record in any store, before the refusal or after it, since an image of a store may bring it back; or as a delivery
after it.

Left out: UNKNOWN_ERROR, which RocketMQ sends as SYSTEM_ERROR with that remark when it gave up waiting for a message
that *is* stored; calls that timed out, which are ``info``. Source: SendMessageProcessor's table of statuses.
"""

from ....event_types.client import SENDS, Deliver, Fail, Try
from ....history import Event
from ....judging.law import DURABILITY, EventFilter, only
from ...event_types.log import Append, Record
from ...law import Law
from ...topology import MASTER

UNKNOWN_ERROR = "UNKNOWN_ERROR"


def leaves_open(fail: Fail | Try) -> bool:
    """Whether a send that failed so may be stored all the same."""
    return UNKNOWN_ERROR in (fail.status or "") or UNKNOWN_ERROR in (fail.detail or "")


class AckRefusedIsAbsent(Law):
    id = "ack-refused-is-absent"
    kind = DURABILITY
    promise = "A send that failed leaves no message in any store, and no client receives it."
    source = "SendMessageProcessor.handlePutMessageResult"
    needs = frozenset({"fail", "record"})
    awaits = {"fail": EventFilter(frozenset(SENDS))}

    def begin(self) -> None:
        self.refused: dict[str | None, str | None] = {}
        """Messages that nobody should see, and what their senders were told."""

    @only(*SENDS)
    def on_fail(self, event: Fail) -> None:
        if leaves_open(event):
            return
        self.judged += 1
        self.refused[event.message] = event.status
        known = self.known
        if known.logs.put(event.message) is not None:
            self._see(event, f"was appended by {MASTER}")
        for node, listing in known.audits.last.items():
            if any(each.message == event.message for each in listing.records):
                self._see(event, f"is in the store of {node}")

    @only("put")
    def on_append(self, event: Append) -> None:
        self._see(event, f"was appended by {event.node}")

    def on_record(self, event: Record) -> None:
        self._see(event, f"is in the store of {event.node}")

    def on_deliver(self, event: Deliver) -> None:
        self._see(event, f"was delivered by {event.node}")

    def _see(self, event: Event, where: str) -> None:
        if event.message is not None and event.message in self.refused:
            self.violate(event, f"{event.message} was refused ({self.refused.pop(event.message)}), and {where}")
