"""Mutants of consumer progress: stored and reported by brokers, committed by consumers."""

from collections.abc import Mapping
from typing import Any

from ...reference.client.process_queue import ProcessQueue
from ...reference.client.progress import Progress as ConsumersProgress
from ...reference.client.pulling import Pulling as ConsumersPulling
from ...reference.client.rebalancing import Rebalancing
from ...reference.client.routes import MASTER_ID, Choice
from ...reference.core.consumer_offsets import ConsumerOffsets
from ...reference.core.processors.progress import Progress
from ...reference.core.processors.pulling import Pulling
from ...reference.core.reading import Found, Reader, Takes
from ...reference.core.requests import Request
from ...reference.wire import beans, bodies
from ...reference.wire.bodies_client import MessageQueue
from .mutant import CONSUMER, seeded

FIRST_SLAVE_ID = 1

# Brokers' progress tables.


@seeded("master", "progress-never-ahead", "stores the offset behind the committed one")
class StoresOneMore(ConsumerOffsets):
    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        return super().commit(group, topic, queue_id, offset + 1)


@seeded("master", "progress-kept", "confirms a smaller commit, and keeps its larger one")
class KeepsTheLarger(ConsumerOffsets):
    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        return super().commit(group, topic, queue_id, max(offset, self.query(group, topic, queue_id) or 0))


@seeded("master", "progress-never-ahead", "reports the queue's end as the progress of an unknown group")
class BeginsAtTheEnd(Progress):
    def on_query(self, request: Request) -> None:
        header = request.header
        if self.parts.offsets.query(header["consumerGroup"], header["topic"], header["queueId"]) is None:
            request.answer(values={"offset": self.parts.store.queues.next_offset(header["topic"], header["queueId"])})
        else:
            super().on_query(request)


@seeded("slave", "progress-never-ahead", "a slave reports the queue's end as the progress of an unknown group")
class SlaveBeginsAtTheEnd(BeginsAtTheEnd):
    pass


@seeded("master", "progress-recovers", "after a restart moves groups to the queues' ends")
class SkipsBacklogAfterRestart(Progress):
    def on_query(self, request: Request) -> None:
        topic, queue_id = request.header["topic"], request.header["queueId"]
        if self.parts.store.recovery == "empty":
            super().on_query(request)
        else:
            request.answer(values={"offset": self.parts.store.queues.next_offset(topic, queue_id)})


@seeded("master", "progress-recovers", "starts with the backup of its progress table")
class LoadsBackup(ConsumerOffsets):
    def load(self) -> None:
        super().load()
        older = self.file.disk.read_whole(self.file.backup)
        if older:
            self.table = beans.decode(bodies.ConsumerOffsets, older).offset_table


@seeded("master", "progress-persisted", "restarts without any group's progress")
class LoadsNoProgress(ConsumerOffsets):
    def load(self) -> None:
        """Not loaded."""


@seeded("master", "progress-persisted", "never writes its progress table")
class NeverSavesProgress(ConsumerOffsets):
    def save(self) -> None:
        """Not saved."""


@seeded("master", "progress-persisted", "writes its progress table once per incarnation")
class SavesProgressOnce(ConsumerOffsets):
    saved = False

    def save(self) -> None:
        if not self.saved:
            super().save()
            self.saved = not self.changed


@seeded("master", "progress-live-consumer", "after a restart moves the first reader of a queue to its end")
class SkipsOnReturn(Reader):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: set[tuple[str, int]] = set()

    def read(self, topic: str, queue_id: int, offset: int, limit: int, takes: Takes | None = None) -> Found:
        found = super().read(topic, queue_id, offset, limit, takes)
        if self.store.recovery == "empty" or (topic, queue_id) in self.seen:
            return found
        self.seen.add((topic, queue_id))
        return found._replace(status="NO_MATCHED_MESSAGE", next_offset=found.high, messages=())


@seeded(
    "master",
    "progress-live-consumer",
    "after a restart confirms commits of earlier groups and discards them",
)
class KeepsWhatItLoaded(ConsumerOffsets):
    def load(self) -> None:
        super().load()
        self.loaded = frozenset(self.table)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        return f"{topic}@{group}" in self.loaded or super().commit(group, topic, queue_id, offset)


@seeded("master", "progress-on-pull", "ignores the progress in a pull")
class IgnoresCarried(Pulling):
    def stores_commits(self) -> bool:
        return False


# Consumers' commits.


@seeded(CONSUMER, "progress-to-master", "a consumer commits to a slave while the master is available")
class TellsReplicas(ConsumersProgress):
    def target(self, queue: MessageQueue, refreshed: bool) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, FIRST_SLAVE_ID)


@seeded(CONSUMER, "progress-to-master", "a consumer commits to no broker while the master is unavailable")
class TellsMastersOnly(ConsumersProgress):
    def target(self, queue: MessageQueue, refreshed: bool) -> Choice | None:
        return self.shared.routes.choose(queue.broker_name, MASTER_ID, only_this=True)


@seeded(CONSUMER, "progress-never-ahead", "a consumer that gives a queue up commits a message that it has not received")
class GivesUpOneFurther(Rebalancing):
    def last_offset(self, held: ProcessQueue) -> int:
        return super().last_offset(held) + 1


@seeded(CONSUMER, "progress-live-consumer", "a consumer returns to its first offset of a queue when a pull fails")
class BeginsAnewAfterFailure(ConsumersPulling):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.taken: dict[ProcessQueue, int] = {}

    def start(self, held: ProcessQueue, refreshed: bool = False) -> None:
        self.taken.setdefault(held, held.next_offset)
        super().start(held, refreshed)

    def _later(self, held: ProcessQueue) -> None:
        held.next_offset = self.taken[held]
        super()._later(held)


@seeded("slave", "meta-converges", "a slave keeps its offset where its master's is smaller")
class CopiesNoReset(ConsumerOffsets):
    def apply_from_master(self, offsets: Mapping[str, Mapping[int, int]]) -> None:
        kept = self.table
        super().apply_from_master({
            key: {queue: max(at, kept.get(key, {}).get(queue, 0)) for queue, at in queues.items()}
            for key, queues in offsets.items()
        })  # fmt: skip


@seeded("master", "progress-persisted", "does not save a smaller commit")
class SavesNoReset(ConsumerOffsets):
    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> bool:
        before, is_smaller = self.changed, offset < (self.query(group, topic, queue_id) or 0)
        taken = super().commit(group, topic, queue_id, offset)
        self.changed = before if is_smaller else self.changed
        return taken
