"""``progress-persisted``: a commit older than the persist period survives kill -9 of the master.

Judged where the master shows a group's progress, in answer to a query or in its table, after it was killed or stopped
and before another commit is confirmed. It must be one that its table may have held at its last write or later: that
write is known from the node's own trace, or from flushConsumerOffsetInterval (first 10 s after the start) if nothing
was wrong with the node for that long. A broker that is stopped in an orderly way writes its table, if nothing else is
wrong with it.

Left out: slaves, whose tables their sync overwrites; machines that lose power, since nobody promises that the table was
on the disk; replaced stores. Source: BrokerController (consumerOffsetManager.persist), ConfigManager.
"""

from ....history import Event
from ....judging.law import DURABILITY, EventFilter
from ...known.registers import NONE
from ...topology import MASTER
from .shown_progress import ShownProgress


class ProgressPersisted(ShownProgress):
    id = "progress-persisted"
    kind = DURABILITY
    promise = "A commit older than the persist period survives kill -9 of the master."
    source = "BrokerController.initialize: consumerOffsetManager.persist every flushConsumerOffsetInterval"
    needs = frozenset({"invoke", "ok", "crash", "table"})
    awaits = dict.fromkeys(("crash", "stop"), EventFilter(nodes=frozenset((MASTER,))))

    def look(self, event: Event) -> None:
        if event.node != MASTER:
            return
        for each in self.known.consumption.observations(event):
            if not each.register.restored or each.possible is None or NONE in each.possible:
                continue
            self.judged += 1
            if not each.is_possible():
                written = " or ".join(map(str, sorted(each.possible)))
                self.violate(
                    event, f"{each.group} had committed {written} of {each.queue} long enough before the master went "
                    f"down; it came back with {each.shown()}"
                )  # fmt: skip
