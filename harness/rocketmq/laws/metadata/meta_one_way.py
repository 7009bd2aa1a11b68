"""``meta-one-way``: nothing flows from a slave's tables to its master's.

Checks each reading of the master's tables for

- progress of a group in a queue that clients tried to commit at a slave, and that no commit can have brought to the
  master in any of its incarnations;
- topics and groups that an administrator tried to create at a slave and never at the master, and that no client used.

Abstains from what both were asked to store, at whatever time, and from data versions. A slave that becomes the master
brings its own tables. Source: SlaveSynchronize: a slave only asks.
"""

from ....event_types.client import Invoke
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import ADMIN, GROUPS, OFFSETS, TOPICS, Name, holds
from ...topology import MASTER, SLAVES
from .syncing import MetadataLaw


class MetaOneWay(MetadataLaw):
    id = "meta-one-way"
    promise = "No entry of a slave's tables flows into its master's."
    source = "SlaveSynchronize.syncAll: a slave asks, and tells nothing"
    needs = frozenset({"config", "invoke", "table"})

    def begin(self) -> None:
        super().begin()
        self.progress: dict[tuple[str, str, int], str] = {}
        """Group, queue and offset of commits at a slave, and at which."""
        self.named: dict[Name, Invoke] = {}
        """Topics and groups that somebody tried to create at a slave."""

    @only("commit", *ADMIN, node=SLAVES)
    def on_invoke(self, event: Invoke) -> None:
        if event.f == "commit":
            place = event.group or "", event.queue or "", event.queue_offset or 0
            self.progress.setdefault(place, event.node)
        else:
            self.named.setdefault((ADMIN[event.f], event.message or ""), event)

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
        tables, promotion = self.known.tables, self.known.stores.promotion
        for name, call in self.named.items():
            is_brought = promotion is not None and call.seq < promotion.seq
            if name[0] != event.f or is_brought or name in tables.used or tables.is_made(MASTER, name):
                continue
            self.judged += 1
            if holds(event, name[1]):
                self.violate(event, f"the master has {name[1]} among its {name[0]}, created at {call.node} only")
