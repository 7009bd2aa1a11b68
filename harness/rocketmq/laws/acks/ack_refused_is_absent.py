"""``ack-refused-is-absent``: a failed send leaves no message in any store, and no client receives it.

A send fails if a code refuses it, or if it never left its client.

Checks:
- The master appends no such message, and no store has a record of it, before the refusal or after it: a store's image
  may bring it back.
- No client receives it after the refusal.
Abstains when:
- The answer is UNKNOWN_ERROR, or SYSTEM_ERROR with that remark: RocketMQ gave up waiting for a message that is stored.
- The call timed out (``info``).
Source: SendMessageProcessor.handlePutMessageResult.
"""

from ....event_types.client import SENDS, Deliver, Fail, Try
from ....history import Event
from ....judging.law import DURABILITY, EventFilter, only
from ...event_types.log import Append, Record
from ...law import Law
from ...topology import MASTER

UNKNOWN_ERROR = "UNKNOWN_ERROR"


def leaves_open(fail: Fail | Try) -> bool:
    """Whether the message of this failed send may be stored all the same."""
    return UNKNOWN_ERROR in (fail.status or "") or UNKNOWN_ERROR in (fail.detail or "")


class AckRefusedIsAbsent(Law):
    kind = DURABILITY
    needs = frozenset({"fail", "record"})
    awaits = {"fail": EventFilter(frozenset(SENDS))}

    def begin(self) -> None:
        self.refused: dict[str | None, str | None] = {}

    @only(*SENDS)
    def on_fail(self, event: Fail) -> None:
        if leaves_open(event):
            return
        self.judged += 1
        self.refused[event.message] = event.status
        known = self.known
        if known.logs.put(event.message) is not None:
            self._check(event, f"was appended by {MASTER}")
        for node, listing in known.audits.last.items():
            if any(each.message == event.message for each in listing.records):
                self._check(event, f"is in the store of {node}")

    @only("put")
    def on_append(self, event: Append) -> None:
        self._check(event, f"was appended by {event.node}")

    def on_record(self, event: Record) -> None:
        self._check(event, f"is in the store of {event.node}")

    def on_deliver(self, event: Deliver) -> None:
        self._check(event, f"was delivered by {event.node}")

    def _check(self, event: Event, where: str) -> None:
        if event.message is not None and event.message in self.refused:
            self.violate(event, f"{event.message} was refused ({self.refused.pop(event.message)}), and {where}")
