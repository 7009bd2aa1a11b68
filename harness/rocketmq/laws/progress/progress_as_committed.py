"""``progress-as-committed``: a broker's progress for a group is an offset that was committed.

Checks:
- Each offset in a broker's table, for a group with consumers in the history, was committed for this group and queue, at
  any time and to any broker of the pair. So a pull without a commit, or a query, stores no progress.
Abstains when:
- No consumer of the group is in the history.
Source: PullMessageProcessor.processRequest (hasCommitOffsetFlag), ConsumerOffsetManager.commitOffset, SlaveSynchronize.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from ....event_types.client import Consumer
from ....judging.law import only
from ...event_types.metadata import Table
from ...law import Law

Offsets = tuple[tuple[str, str, int], ...]


class ProgressAsCommitted(Law):
    needs = frozenset({"invoke", "consumer", "table"})

    def begin(self) -> None:
        self.groups: set[str] = set()

    def on_consumer(self, event: Consumer) -> None:
        if event.group is not None:
            self.groups.add(event.group)

    @only("offsets")
    def on_table(self, event: Table) -> None:
        for group, queue, offset in _offsets(event.detail or "{}"):
            if group not in self.groups:
                continue
            self.judged += 1
            if offset not in self._committed(group, queue):
                self.violate(event, f"{event.node} has {group} at {offset} of {queue}, which was never committed")

    def _committed(self, group: str, queue: str) -> set[int]:
        known = self.known.consumption
        carried = (each for (_, *of), each in known.ignored.items() if of == [group, queue])
        return set().union(known.committed.get((group, queue), ()), *carried)


@lru_cache(maxsize=256)
def _offsets(detail: str) -> Offsets:
    table: Mapping[str, Mapping[str, int]] = json.loads(detail)
    found = []
    for name, queues in table.items():
        topic, _, group = name.partition("@")
        found += [(group, f"{topic}/{number}", offset) for number, offset in queues.items()]
    return tuple(found)
