"""``progress-recovers``: when the master returns no group skips a message, and it repeats only what a slave alone knew.

Judged where a group first takes a queue again by the word of a master that had been down since the group last did: it
must not go on behind the last message that it received, and not before the least progress that the master may have
known when it went down (its last commit, or after a kill the last that it had written). What only the slave had been
told lies between the two, and may be repeated.

Left out: where a slave answers, see ``deliver-at-least-once``; where the consumer itself chooses, since no broker knows
the group; a master that lost a part of its log, or of which a power loss took the knowledge; logs whose oldest files
are gone. Not applicable with offsetCheckInSlave. Source: ConsumerOffsetManager, SlaveSynchronize.
"""

from ....event_types.client import Assign
from ...known.consumption import PAIR
from ...known.registers import NONE
from ...topology import MASTER
from ..delivery.never_moved import NeverMoved


class ProgressRecovers(NeverMoved):
    id = "progress-recovers"
    promise = (
        "When the master returns, no group skips a message, and it repeats at most the progress that only a slave knew."
    )
    source = "ConsumerOffsetManager of the master; SlaveSynchronize never brings a slave's offsets to it"
    needs = frozenset({"invoke", "ok", "deliver", "assign", "start", "crash"})

    def begin(self) -> None:
        self.taken: dict[tuple[str, str], int] = {}
        """By reader and queue: how many incarnations of the master had ended when it was taken first, or by the word of
        one that had returned."""

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
        if known.lost_from is not None or known.expired:
            return
        self.judged += 1
        what = f"the master is back, and {event.group} goes on in {event.queue} at {start}"
        if start > consumed.front:
            self.violate(event, f"{what}; it has received nothing from {consumed.front} on")
        elif answer.possible is not None and start < min(answer.possible) and NONE not in answer.possible:
            self.violate(event, f"{what}; the master had known of {min(answer.possible)}")
