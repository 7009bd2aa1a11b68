"""``meta-one-way``: nothing flows from a slave's tables to its master's.

Judged at each reading of the master's tables, while there is something that only a slave was told:

- consumer offsets: the progress of a group in a queue that clients tried to commit at a slave, and that no client can
  have told the master, or none since the master was killed before it had saved that;
- topics and groups: names that an administrator tried to create at a slave and never at the master, and that no client
  used either.

A slave that becomes the master brings its own. Left out: a value that both were told, at whatever time; data versions.
Source: SlaveSynchronize: a slave only asks.
"""

from collections import Counter

from pairproof.harness.kinds.client import Consumer, Fail, Info, Invoke, Ok
from pairproof.harness.kinds.node import Crash, Wipe
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.kinds.metadata import Persist, Table
from pairproof.harness.rocketmq.known.metadata import (
    ADMIN,
    GROUPS,
    OFFSETS,
    TOPICS,
    MetadataLaw,
    Name,
    entries,
    holds,
    topic_of,
)
from pairproof.harness.rocketmq.laws.acks.answering import NO_ANSWER
from pairproof.harness.rocketmq.places import MASTER


class MetaOneWay(MetadataLaw):
    id = "meta-one-way"
    promise = "No entry of a slave's tables flows into its master's."
    source = "SlaveSynchronize.syncAll: a slave asks, and tells nothing"
    needs = frozenset({"config", "invoke", "table"})

    def begin(self) -> None:
        super().begin()
        self.slave_told: dict[tuple[Name, int], str] = {}
        """Progress that a slave was told, and which one."""
        self.named: dict[Name, str] = {}
        """Topics and groups that somebody tried to create at a slave, and at which."""
        self.told: Counter[tuple[Name, int]] = Counter()
        """How often the master may have been told some progress that it still knows."""
        self.ever: set[tuple[Name, int]] = set()
        """What it was told in any life: a slave may have fetched that in time."""
        self.recent: list[tuple[Name, int]] = []
        """What of it a kill takes: it has not been saved since."""
        self.open: dict[int | None, tuple[Name, int]] = {}
        """Commits at the master that are under way."""
        self.used: set[Name] = set()
        """Topics and groups that somebody used, or created at the master."""
        self.queues: set[str | None] = set()

    def on_invoke(self, event: Invoke) -> None:
        if event.group is not None:
            self.used.add((GROUPS, event.group))
        if event.f == "commit":
            self._commit(event)
        elif event.f in ADMIN:
            name = (ADMIN[event.f], event.message or "")
            if event.node in self.slaves:
                self.named.setdefault(name, event.node)
            else:
                self.used.add(name)
        else:
            self.queues.add(event.queue)

    def on_consumer(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group))

    def _commit(self, event: Invoke) -> None:
        if event.node in places.SLAVES:
            self.slave_told.setdefault(_progress(event), event.node or "")
        elif event.node == MASTER:
            told = self.open[event.op] = _progress(event)
            self.told[told] += 1
            self.ever.add(told)
            self.recent.append(told)

    def on_ok(self, event: Ok | Info) -> None:
        self.open.pop(event.op, None)

    on_info = on_ok

    def on_fail(self, event: Fail) -> None:
        """A call did not happen; if nobody answered it, it did not even reach the master."""
        told = self.open.pop(event.op, None)
        if told is not None and event.status in NO_ANSWER:
            self.told[told] -= 1
            if told in self.recent:
                self.recent.remove(told)

    def on_persist(self, event: Persist) -> None:
        """The master saved what it knows."""
        if event.node == MASTER and event.f == OFFSETS:
            self.recent.clear()

    def on_crash(self, event: Crash) -> None:
        """The master forgets what it has not saved, and no connection of this life reaches its next."""
        if event.node == MASTER and "persist" in self.known.observes:
            self.told.subtract(self.recent)
            self.recent.clear()
            self.open.clear()

    def on_wipe(self, event: Wipe) -> None:
        """What a slave was told, or had fetched, its store takes along when that becomes the master's."""
        if event.node == MASTER and event.detail is not None:
            self.told.update({*self.slave_told, *self.ever})
            self.used.update(self.named)
            self.slave_told.clear()
            self.named.clear()

    def on_table(self, event: Table) -> None:
        if event.node != MASTER:
            return
        if event.f == OFFSETS and self.slave_told:
            self._judge_progress(event)
        elif event.f in (TOPICS, GROUPS) and self.named:
            self._judge_names(event)

    def _judge_progress(self, event: Table) -> None:
        table = entries(event)
        for told, slave in self.slave_told.items():
            if self.told[told] <= 0:
                self.judged += 1
                (_, name), offset = told
                key, _, queue = name.rpartition("/")
                if table.get(key, {}).get(queue) == offset:
                    self.violate(event, f"the master knows {name} to be at {offset}, which only {slave} was told")

    def _judge_names(self, event: Table) -> None:
        used = self.used | {(TOPICS, topic_of(queue)) for queue in self.queues}
        for (table, name), slave in self.named.items():
            if table == event.f and (table, name) not in used:
                self.judged += 1
                if holds(event, name):
                    self.violate(event, f"the master has {name} among its {table}, which only {slave} was told")


def _progress(commit: Invoke) -> tuple[Name, int]:
    topic, _, queue = (commit.queue or "").rpartition("/")
    return (OFFSETS, f"{topic}@{commit.group}/{queue}"), commit.queue_offset or 0
