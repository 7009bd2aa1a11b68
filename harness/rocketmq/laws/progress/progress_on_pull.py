"""``progress-on-pull``: a commit that a pull carries is stored by a master, never by a slave.

Checks:
- If a pull carried the last commit that the master confirmed, the progress in its answer or table is this commit, or
  one in flight beside it.
- A slave reports no offset that only pulls have carried to it: no sync and no commit can have brought it.
Abstains when:
- The master went down since (see ``progress-persisted``).
- The pull was refused: it may have committed or not.
Source: PullMessageProcessor.processRequest (hasCommitOffsetFlag, brokerRole).
"""

from ....history import Event
from ...topology import MASTER
from .shown_progress import ShownProgress


class ProgressOnPull(ShownProgress):
    needs = frozenset({"invoke", "ok", "table"})

    def check_shown(self, event: Event) -> None:
        node = event.node or ""
        if node != MASTER:
            self._check_slave(event, node)
            return
        for each in self.known.consumption.observations(event):
            if each.register.carried and each.possible is not None:
                self.judged += 1
                if not each.is_possible():
                    allowed = " or ".join(map(str, sorted(each.possible)))
                    what = f"a pull carried {each.group}'s progress in {each.queue} to the master: {allowed}"
                    self.violate(event, f"{what}, and its table has {each.shown()}")

    def _check_slave(self, event: Event, node: str) -> None:
        known = self.known.consumption
        for (broker, group, queue), offsets in known.ignored.items():
            seen = known.shows(event, group, queue) if broker == node else None
            if seen is None:
                continue
            self.judged += 1
            if seen > 0 and seen in offsets and seen not in known.committed.get((group, queue), ()):
                self.violate(event, f"{node} stored {group}'s progress in {queue}, {seen}, which only a pull carried")
