"""``progress-as-committed``: a broker's progress for a group is an offset that was committed.

Checks:
- Each offset in a broker's table, for a group with consumers in the history, was committed for this group and queue, at
  any time and to any broker of the pair. So a pull without a commit, or a query, stores no progress.
Abstains when:
- No consumer of the group is in the history.
Source: PullMessageProcessor.processRequest (hasCommitOffsetFlag), ConsumerOffsetManager.commitOffset, SlaveSynchronize.
"""

from ....event_types.client import Consumer
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.registers import offsets_of
from ...law import Law


class ProgressAsCommitted(Law):
    needs = frozenset({"invoke", "consumer", "table"})

    def begin(self) -> None:
        self.groups: set[str] = set()

    def on_consumer(self, event: Consumer) -> None:
        self.groups.add(event.group)

    @only("offsets")
    def on_table(self, event: Table) -> None:
        for (group, queue), offset in offsets_of(event.detail or "{}").items():
            if group not in self.groups:
                continue
            self.judged += 1
            if offset not in self._committed(group, queue):
                self.violate(event, f"{event.node} has {group} at {offset} of {queue}, which was never committed")

    def _committed(self, group: str, queue: str) -> set[int]:
        known = self.known.consumption
        carried = (each for (_, *of), each in known.ignored.items() if of == [group, queue])
        return set().union(known.committed.get((group, queue), ()), *carried)
