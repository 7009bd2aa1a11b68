"""``progress-kept``: a broker reports as a group's progress the last commit to that broker, larger or smaller than
before.

Checks:
- The progress in a broker's answer or table is the last commit that it confirmed, or one in flight beside or after
  that; on a slave also progress that a sync may have copied since.
- A smaller commit overwrites a larger one: a group that was reset must not skip messages.
Abstains when:
- The broker was killed or stopped and has confirmed no commit since (see ``progress-persisted``).
- A machine crash may have damaged the table.
Source: ConsumerOffsetManager.commitOffset, which overwrites, and queryOffset.
"""

from ....history import Event
from ...known.registers import NONE
from .shown_progress import ShownProgress


class ProgressKept(ShownProgress):
    needs = frozenset({"invoke", "ok", "crash", "table"})

    def check_shown(self, event: Event) -> None:
        for each in self.known.consumption.observations(event):
            if each.possible is None or each.register.restored:
                continue
            self.judged += 1
            if not each.is_possible():
                allowed = " or ".join("nothing" if value == NONE else str(value) for value in sorted(each.possible))
                what = f"{each.group} committed {allowed} of {each.queue} to {event.node}"
                self.violate(event, f"{what}, which reports {each.shown()}")
