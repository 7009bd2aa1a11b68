"""``progress-persisted``: a commit older than the persist period survives kill -9 of the master.

Checks:
- After a kill or stop of the master, until it confirms another commit, the progress in its answer or table is one that
  its table may have held at its last write or later. Without a trace of writes, an undisturbed node writes each
  flushConsumerOffsetInterval (first 10 s after its start).
- An orderly stop of an undisturbed broker writes the table.
Abstains when:
- The broker is a slave: its sync overwrites the table.
- The machine lost power, and the broker does not flush its tables; otherwise the last write that the disk certainly
  had counts.
- The store was replaced.
Source: BrokerController.initialize (consumerOffsetManager.persist every flushConsumerOffsetInterval), ConfigManager.
"""

from ....history import Event
from ....judging.law import DURABILITY
from ...known.registers import NONE
from ...law import MASTER_ENDS
from ...topology import MASTER
from .shown_progress import ShownProgress


class ProgressPersisted(ShownProgress):
    kind = DURABILITY
    needs = frozenset({"invoke", "ok", "crash", "table"})
    awaits = MASTER_ENDS

    def check_shown(self, event: Event) -> None:
        if event.node != MASTER:
            return
        for each in self.known.consumption.observations(event):
            if not each.register.restored or each.possible is None or NONE in each.possible:
                continue
            self.judged += 1
            if not each.is_possible():
                written = " or ".join(map(str, sorted(each.possible)))
                what = f"{each.group} had committed {written} of {each.queue} long enough before the master went down"
                self.violate(event, f"{what}; it came back with {each.shown()}")
