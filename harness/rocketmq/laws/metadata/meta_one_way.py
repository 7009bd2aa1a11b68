"""``meta-one-way``: no entry of a slave's tables flows into its master's.

Checks:
- The master's tables have no group's progress that clients tried to commit at a slave, and that no commit can have
  brought to the master in any of its incarnations.
- They have no topic or group that an administrator tried to create at a slave and never at the master, and that no
  client used.
Abstains when:
- Both nodes were asked to store the entry, at any time.
- A promoted slave brings its own tables.
Source: SlaveSynchronize.syncAll: a slave only asks.
"""

from ....event_types.client import Invoke
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import ADMIN, GROUPS, OFFSETS, TOPICS, Name, holds
from ...topology import MASTER, SLAVES
from .syncing import MetadataLaw


class MetaOneWay(MetadataLaw):
    needs = frozenset({"config", "invoke", "table"})

    def begin(self) -> None:
        self.progress: dict[tuple[str, str, int], str] = {}
        """By group, queue and offset of a commit at a slave: the slave."""
        self.named: dict[Name, Invoke] = {}

    @only("commit", *ADMIN, node=SLAVES)
    def on_invoke(self, event: Invoke) -> None:
        if event.f == "commit":
            key = event.group or "", event.queue or "", event.queue_offset or 0
            self.progress.setdefault(key, event.node)
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
