"""``progress-recovers``: when the master returns no group skips a message, and it repeats only what a slave alone knew.

Judged where a group first takes a queue again by the word of a master that had been down since the group last did: it
must not go on behind the last message that it received, and not before the least progress that the master may have
known when it went down (its last commit, or after a kill the last that it had written). What only the slave had been
told lies between the two, and may be repeated.

Left out: where a slave answers, see ``deliver-at-least-once``; where the consumer itself chooses, since no broker knows
the group; a master that lost a part of its log, or of which a power loss took the knowledge; logs whose oldest files
are gone. Not applicable with offsetCheckInSlave. Source: ConsumerOffsetManager, SlaveSynchronize.
"""

from ....judging.law import only
from ....kinds.client import Assign
from ....kinds.node import Crash, Start, Stop
from ...known.registers import NONE
from ...law import Law
from ...places import MASTER


class ProgressRecovers(Law):
    id = "progress-recovers"
    promise = (
        "When the master returns, no group skips a message, and it repeats at most the progress that only a slave knew."
    )
    source = "ConsumerOffsetManager of the master; SlaveSynchronize never brings a slave's offsets to it"
    needs = frozenset({"invoke", "ok", "deliver", "assign", "start", "crash"})

    def begin(self) -> None:
        self.before: set[tuple[str, str]] = set()
        """Readers and queues that were known when the master went down."""
        self.due: set[tuple[str, str]] = set()
        """Those that have not been taken again since it returned."""

    @only(node=MASTER)
    def on_crash(self, event: Crash | Stop) -> None:
        self.before |= {key for key, each in self.known.consumption.consumed.items() if each.first is not None}

    on_stop = on_crash

    def on_start(self, event: Start) -> None:
        self.applicable = not self.known.consumption.corrects_on_slaves()
        if event.node == MASTER:
            self.due, self.before = self.before, set()

    def on_assign(self, event: Assign) -> None:
        known = self.known.consumption
        consumed = known.consumed_by(event)
        if event.status != "on" or consumed is None or (consumed.reader, consumed.queue) not in self.due:
            return
        answer, start = known.answer_to(event.process, consumed.queue), event.offset
        if answer is None or answer.node != MASTER or answer.offset is None:
            return
        self.due.discard((consumed.reader, consumed.queue))
        if known.lost_from is not None or known.expired:
            return
        self.judged += 1
        what = f"the master is back, and {event.group} goes on in {event.queue} at {start}"
        if start > consumed.front:
            self.violate(event, f"{what}; it has received nothing from {consumed.front} on")
        elif answer.possible is not None and start < min(answer.possible) and NONE not in answer.possible:
            self.violate(event, f"{what}; the master had known of {min(answer.possible)}")
