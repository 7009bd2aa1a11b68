"""``transact-noted``: the master notes each commit and rollback that it takes, with the queue offset of its half
message.

Checks:
- In the master's final audit, RMQ_SYS_TRANS_OP_HALF_TOPIC has one message for each commit and rollback that was
  answered as done, with tag ``d`` and the half message's queue offset, in digits, as body. Else a broker would ask the
  producer about an ended transaction, or forget a pending one.
Abstains when:
- The commit was taken while the disk was full: the commit itself counts.
- The version is 5.0 or later: it notes several offsets at once.
- The master lost a part of its log.
Source: TransactionalMessageBridge.putOpMessage, TransactionalMessageServiceImpl.deletePrepareMessage.
"""

from __future__ import annotations

from collections import Counter

from ....event_types.machine import Fault
from ....history import digest
from ....judging.law import only
from ....texts.content import payload
from ...event_types.log import Audit
from ...settings import version
from ...topology import MASTER
from .transacted import Transacted

NOTES = "RMQ_SYS_TRANS_OP_HALF_TOPIC/"
TAG = "d"
GATHERS = (5,)
"""The first version that notes several ends at once."""


class TransactNoted(Transacted):
    needs = frozenset({"config", "decide", "start", "record", "audit"})

    def begin(self) -> None:
        self.was_full = False

    @only("disk_full")
    def on_fault(self, event: Fault) -> None:
        self.was_full = True

    @only("final", node=MASTER)
    def on_audit(self, event: Audit) -> None:
        notes = [each for each in self.known.audits.records(event) if (each.queue or "").startswith(NOTES)]
        whole = event.whole_to in (None, event.hi) and event.hi
        if self.excused or not whole or not (self.asked or notes) or self._gathers():
            return
        self.judged += 1
        asked = Counter(each.event.queue_offset for each in self.asked)
        taken = Counter(each.event.queue_offset for each in self.asked if each.taken is not None)
        offsets = {digest(str(offset).encode()): offset for offset in asked}
        noted: Counter[int] = Counter()
        for note in notes:
            held = payload(note.detail)
            offset = offsets.get(held.get("body", 0))
            if offset is None or held.get("tags") != TAG:
                tag = f", tagged {held.get('tags')}" if held.get("tags") != TAG else ""
                self.violate(note, f"the note at {note.lo} is of no half message that was ended{tag}", since=None)
            else:
                noted[offset] += 1
        for offset, most in asked.items():
            least = 0 if self.was_full else taken[offset]
            if not least <= noted[offset] <= most:
                ends = f"{taken[offset]} of {most} ends were taken"
                text = f"half message {offset} is noted {noted[offset]} times as ended; {ends}"
                self.violate(event, text, since=None)

    def _gathers(self) -> bool:
        return version(self.known.config.get(MASTER, {})) >= GATHERS
