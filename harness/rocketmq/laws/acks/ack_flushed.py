"""``ack-flushed``: under SYNC_FLUSH, a waiting send gets PUT_OK only after the master's log is flushed to the send's
end.

Checks:
- In the master's trace, a flush reached the message's end before the client received the answer, in the incarnation
  that appended the message.
Abstains when:
- A disk lies about flushes (``contract``).
- A power loss takes the message all the same (``log-flushed-survives``).
Source: CommitLog.GroupCommitService.
"""

from ....event_types.client import Ok
from ....judging.law import DURABILITY, only
from ...event_types.log import Append, Flush
from ...law import Law
from ...topology import MASTER


class AckFlushed(Law):
    kind = DURABILITY
    applies_with = "flushDiskType=SYNC_FLUSH"
    needs = frozenset({"config", "append", "flush", "ok"})

    def begin(self) -> None:
        self.dirty: dict[str | None, tuple[int, int]] = {}
        """Messages that no flush has reached: their end in the log, and the master's incarnation that appended them."""
        self.seen: set[str | None] = set()

    def applies(self) -> bool:
        return self.known.sync_flush

    @only("put", node=MASTER)
    def on_append(self, event: Append) -> None:
        if self.known.sync_flush and event.message not in self.seen:
            self.seen.add(event.message)
            self.dirty[event.message] = event.hi, self.known.logs.incarnation

    @only(node=MASTER)
    def on_flush(self, event: Flush) -> None:
        if self.dirty:
            upto, incarnation = event.upto, self.known.logs.incarnation
            self.dirty = {which: each for which, each in self.dirty.items() if each[0] > upto or each[1] != incarnation}

    @only("send")
    def on_ok(self, event: Ok) -> None:
        if event.status != "PUT_OK" or not event.waits or not self.known.sync_flush:
            return
        self.judged += 1
        if event.message in self.dirty:
            self.violate(event, f"{event.message} was acknowledged; no flush had reached its end, {event.hi}")
