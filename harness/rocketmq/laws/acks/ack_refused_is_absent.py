"""``ack-refused-is-absent``: a send that failed left no message: not in a store, not with a reader.

A send fails when it was refused with a code that says so, or never left its client. Seen as an append of the master, a
record in any store, or a delivery; before the refusal or after it, since an image of a store may bring it back.

Left out: UNKNOWN_ERROR, which RocketMQ sends as SYSTEM_ERROR with that remark when it gave up waiting for a message
that *is* stored; calls that timed out, which are ``info``. Source: SendMessageProcessor's table of statuses.
"""

from ....history import Event
from ....judging.law import DURABILITY, only
from ....kinds.client import SENDS, Deliver, Fail, Try
from ...kinds.log import Append, Record
from ...law import Law

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

    def begin(self) -> None:
        self.seen: dict[str | None, str] = {}
        """Messages that are somewhere, and where."""
        self.refused: dict[str | None, str | None] = {}
        """Messages that nobody should see, and what their senders were told."""

    @only(*SENDS)
    def on_fail(self, event: Fail) -> None:
        if leaves_open(event):
            return
        self.judged += 1
        self.refused[event.message] = event.status
        if event.message in self.seen:
            self._accuse(event, self.seen[event.message])

    def on_append(self, event: Append) -> None:
        self._see(event, f"was appended by {event.node}")

    def on_record(self, event: Record) -> None:
        self._see(event, f"is in the store of {event.node}")

    def on_deliver(self, event: Deliver) -> None:
        self._see(event, f"was delivered by {event.node}")

    def _see(self, event: Append | Deliver | Record, where: str) -> None:
        message = event.message
        if message is None:
            return
        self.seen.setdefault(message, where)
        if message in self.refused:
            self._accuse(event, where)

    def _accuse(self, event: Event, where: str) -> None:
        self.violate(event, f"{event.message} was refused ({self.refused.pop(event.message)}), and {where}")
