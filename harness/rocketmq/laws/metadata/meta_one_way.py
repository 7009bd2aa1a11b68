"""``meta-one-way``: nothing flows from a slave's tables to its master's.

Checks each reading of the master's tables for

- progress of a group in a queue that clients tried to commit at a slave, and that no commit can have brought to the
  master in any of its incarnations;
- topics and groups that an administrator tried to create at a slave and never at the master, and that no client used.

Abstains from what both were asked to store, at whatever time, and from data versions. A slave that becomes the master
brings its own tables. Source: SlaveSynchronize: a slave only asks.
"""

from ....judging.law import only
from ....kinds.client import Consumer, Invoke
from ....kinds.node import Wipe
from ... import places
from ...kinds.metadata import Table
from ...known.metadata import (
    ADMIN,
    GROUPS,
    OFFSETS,
    TOPICS,
    MetadataLaw,
    Name,
    holds,
    topic_of,
)
from ...known.stores import promotes
from ...places import MASTER


class MetaOneWay(MetadataLaw):
    id = "meta-one-way"
    promise = "No entry of a slave's tables flows into its master's."
    source = "SlaveSynchronize.syncAll: a slave asks, and tells nothing"
    needs = frozenset({"config", "invoke", "table"})

    def begin(self) -> None:
        super().begin()
        self.progress: dict[tuple[str, str, int], str] = {}
        """Group, queue and offset of commits at a slave, and at which."""
        self.named: dict[Name, str] = {}
        """Topics and groups that somebody tried to create at a slave, and at which."""
        self.used: set[Name] = set()
        """Topics and groups that somebody used, or created at the master."""

    def on_invoke(self, event: Invoke) -> None:
        if event.group is not None:
            self.used.add((GROUPS, event.group))
        if event.f == "commit":
            if event.node in places.SLAVES:
                place = event.group or "", event.queue or "", event.queue_offset or 0
                self.progress.setdefault(place, event.node)
        elif event.f not in ADMIN:
            self.used.add((TOPICS, topic_of(event.queue)))
        elif event.node in self.slaves:
            self.named.setdefault((ADMIN[event.f], event.message or ""), event.node)
        else:
            self.used.add((ADMIN[event.f], event.message or ""))

    def on_consumer(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group))

    def on_wipe(self, event: Wipe) -> None:
        if promotes(event):
            self.used.update(self.named)
            self.named.clear()

    @only(node=MASTER)
    def on_table(self, event: Table) -> None:
        if event.f == OFFSETS:
            self._judge_progress(event)
        elif event.f in (TOPICS, GROUPS):
            self._judge_names(event)

    def _judge_progress(self, event: Table) -> None:
        consumption = self.known.consumption
        for (group, queue, offset), slave in self.progress.items():
            if consumption.was_committed(MASTER, group, queue, offset):
                continue
            self.judged += 1
            if consumption.shows(event, group, queue) == offset:
                self.violate(event, f"the master has {group} at {offset} of {queue}, committed at {slave} only")

    def _judge_names(self, event: Table) -> None:
        for (table, name), slave in self.named.items():
            if table == event.f and (table, name) not in self.used:
                self.judged += 1
                if holds(event, name):
                    self.violate(event, f"the master has {name} among its {table}, created at {slave} only")
