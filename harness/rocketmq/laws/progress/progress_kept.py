"""``progress-kept``: what a broker says of a group's progress is what was last committed to it.

Judged where a broker shows a group's progress, in answer to a query or in its table: it must be the last commit that it
confirmed, or one that was under way beside that or since; on a slave also what a sync may have brought since. A smaller
commit counts as a larger one does: a group that was sent back must not skip what follows.

Left out: brokers that were killed or stopped and have confirmed no commit since, see ``progress-persisted``; what a
machine's crash left of a table. Source: ConsumerOffsetManager.commitOffset, which overwrites.
"""

from ....history import Event
from ...known.registers import NONE
from .shown_progress import ShownProgress


class ProgressKept(ShownProgress):
    id = "progress-kept"
    promise = "A broker reports as a group's progress the last commit to that broker, larger or smaller than before."
    source = "ConsumerOffsetManager.commitOffset and queryOffset"
    needs = frozenset({"invoke", "ok", "crash", "table"})

    def look(self, event: Event) -> None:
        for each in self.known.consumption.observations(event):
            if each.possible is None or each.register.restored:
                continue
            self.judged += 1
            if not each.is_possible():
                due = " or ".join("nothing" if value == NONE else str(value) for value in sorted(each.possible))
                self.violate(
                    event, f"{each.group} committed {due} of {each.queue} to {event.node}, which says {each.shown()}"
                )  # fmt: skip
