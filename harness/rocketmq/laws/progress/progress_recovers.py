"""``progress-recovers``: when the master returns, no group skips a message, and it repeats at most progress that only a
slave had.

Checks:
- Where a returned master first assigns a queue to a group, the start is at most the offset after the group's last
  message, and at least the progress that the master had when it went down (its last commit; after a kill, the last one
  written).
Abstains when:
- A slave answers (see ``deliver-at-least-once``), or the consumer chooses, as no broker has progress of the group.
- The master lost a part of its log, or its table in a power loss; a log lost its oldest files.
- offsetCheckInSlave is set (not applicable).
Source: ConsumerOffsetManager of the master; SlaveSynchronize never brings a slave's offsets to it.
"""

from ....event_types.client import Assign
from ...known.consumption import PAIR
from ...known.registers import NONE
from ...topology import MASTER
from ..delivery.never_moved import NeverMoved


class ProgressRecovers(NeverMoved):
    needs = frozenset({"invoke", "ok", "deliver", "assign", "start", "crash"})

    def begin(self) -> None:
        self.taken: dict[tuple[str, str], int] = {}
        """By reader and queue, how many incarnations of the master had ended when it assigned the queue first."""

    def on_assign(self, event: Assign) -> None:
        known = self.known.consumption
        if event.status != "on" or event.node not in (None, *PAIR):
            return
        key, ended = (known.reader_of(event.process, event.group), event.queue), self.known.nodes.ended(MASTER)
        before, consumed = self.taken.setdefault(key, ended), known.consumed_by(event)
        answer, start = known.answer_to(event.process, event.queue), event.offset
        if before == ended or consumed is None or answer is None or answer.node != MASTER or answer.offset is None:
            return
        self.taken[key] = ended
        if known.lost_from is not None or self.known.stores.expired:
            return
        self.judged += 1
        what = f"the master is back, and {event.group} resumes {event.queue} at {start}"
        if start > consumed.front:
            self.violate(event, f"{what}; it has received nothing from {consumed.front} on")
        elif answer.possible is not None and start < min(answer.possible) and NONE not in answer.possible:
            self.violate(event, f"{what}; the master had {min(answer.possible)}")
