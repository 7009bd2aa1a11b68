"""``progress-on-pull``: a pull that carries a commit stores it on a master, and never on a slave.

Judged where a broker shows a group's progress, in answer to a query or in its table. On the master: if the last commit
that it confirmed rode on a pull, its progress must be that one's, or one that was under way beside it. On a slave: it
must not be one that reached this slave on a pull and that nobody committed in any other way, since then no sync and no
commit can have brought it.

Left out: the master after it went down, see ``progress-persisted``; pulls that were refused, which may have committed
or not. Source: PullMessageProcessor (hasCommitOffsetFlag, brokerRole).
"""

from ....history import Event
from ...topology import MASTER
from .shown_progress import ShownProgress


class ProgressOnPull(ShownProgress):
    id = "progress-on-pull"
    promise = "A commit that rides on a pull is stored by a master, never by a slave."
    source = "PullMessageProcessor.processRequest"
    needs = frozenset({"invoke", "ok", "table"})

    def look(self, event: Event) -> None:
        node = event.node or ""
        if node != MASTER:
            self._look_at_slave(event, node)
            return
        for each in self.known.consumption.observations(event):
            if each.register.carried and each.possible is not None:
                self.judged += 1
                if not each.is_possible():
                    due = " or ".join(map(str, sorted(each.possible)))
                    self.violate(
                        event, f"a pull carried {each.group}'s progress in {each.queue} to the master: {due}, and "
                        f"its table says {each.shown()}"
                    )  # fmt: skip

    def _look_at_slave(self, event: Event, node: str) -> None:
        known = self.known.consumption
        for (where, group, queue), offsets in known.ignored.items():
            seen = known.shows(event, group, queue) if where == node else None
            if seen is None:
                continue
            self.judged += 1
            if seen > 0 and seen in offsets and seen not in known.committed.get((group, queue), ()):
                self.violate(event, f"{node} stored {group}'s progress in {queue}, {seen}, which only a pull carried")
