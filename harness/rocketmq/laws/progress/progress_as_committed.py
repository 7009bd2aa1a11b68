"""``progress-as-committed``: a broker knows of a group's progress what somebody committed, and nothing else.

Judged by every table of offsets that is read, for groups whose consumers the history knows: each offset that it has of
such a group in a queue is one that was committed for the group there, at some time, at one of the pair's brokers. So a
pull without a commit leaves no progress behind, nor does a question for it.

Left out: which of the commits it must be, see the other laws of progress. Source: PullMessageProcessor
(hasCommitOffsetFlag), ConsumerOffsetManager.commitOffset, SlaveSynchronize.
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from ....event_types.client import Consumer
from ....judging.law import only
from ...event_types.metadata import Table
from ...law import Law

Offsets = tuple[tuple[str, str, int], ...]
"""Group, queue and offset."""


class ProgressAsCommitted(Law):
    id = "progress-as-committed"
    promise = "The progress that a broker knows of a group is one that was committed."
    source = "PullMessageProcessor.processRequest: hasCommitOffsetFlag; ConsumerOffsetManager"
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
                self.violate(event, f"{event.node} has {group} at {offset} of {queue}, which nobody committed")

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
