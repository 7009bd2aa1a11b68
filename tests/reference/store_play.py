"""What the store's tests share: a disk with folders and power losses, a whole store, and the captured stores."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.reference.core.checkpoint import Checkpoint, store_ms_at
from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.consume_queue import Entry
from pairproof.reference.core.consume_queues import ConsumeQueues
from pairproof.reference.core.dispatch import Dispatcher
from pairproof.reference.core.key_index import KeyIndex
from pairproof.reference.core.recovery import Hints
from pairproof.reference.errors import StoreFull
from pairproof.reference.wire.record import Message, Record, decode

GOLDEN = Path(__file__).parent.parent / "golden" / "rocketmq-4.9.7"
BROKERS = ("master", "slave", "late-slave")
LOG_FILE, QUEUE_FILE, SLOTS, ENTRIES = 1024, 100, 7, 6
GOLDEN_LAYOUT = (65536, 400, 1000, 4000)
NOW_MS = 1_700_000_000_000
KEYS = ["all", *(f"{letter}{number}" for letter in "ku" for number in range(60))]


class TreeDisk(SimDisk):
    """The simulated disk with folders; ``room`` is how many more files may be created."""

    def __init__(self) -> None:
        super().__init__()
        self.room = 10_000

    def open(self, name: str, size: int) -> Any:
        if name not in self.files:
            if self.room <= 0:
                raise StoreFull(f"no room for {name}")
            self.room -= 1
        return super().open(name, size)

    def content(self, folder: str) -> dict[str, bytes]:
        return {name: bytes(file.cache) for name, file in sorted(self.files.items()) if name.startswith(f"{folder}/")}


class BlocklessDisk(TreeDisk):
    """A full disk that takes new files, which are sparse, but no block of theirs."""

    def open(self, name: str, size: int) -> Any:
        full, self.full[:] = list(self.full), []
        try:
            return super().open(name, size)
        finally:
            self.full[:] = full


def golden_disk(broker: str, *folders: str) -> TreeDisk:
    """A copy of a captured store, or of some of its folders."""
    disk = TreeDisk()
    root = GOLDEN / "store" / broker
    for file in sorted(root.rglob("*")):
        name = file.relative_to(root).as_posix()
        if file.is_file() and (not folders or name.split("/")[0] in folders):
            data = file.read_bytes()
            disk.open(name, len(data)).write(0, data)
            disk.sync(name)
    return disk


class Store:
    """A log and all that is derived from it, started on ``disk``."""

    def __init__(
        self,
        disk: TreeDisk,
        clean: bool = True,
        layout: tuple[int, ...] = (),
        kind: type[Dispatcher] = Dispatcher,
        indexed: bool = True,
        copied: bool = False,
    ) -> None:
        log_file, queue_file, slots, entries = layout or (LOG_FILE, QUEUE_FILE, SLOTS, ENTRIES)
        self.disk = disk
        self.log = CommitLog(disk, log_file)
        self.queues = ConsumeQueues(disk, queue_file)
        self.index = KeyIndex(disk, slots, entries, lambda: NOW_MS)
        self.checkpoint = Checkpoint(disk)
        self.arrived: list[tuple[int, int]] = []
        self.dispatcher = kind(self.log, self.queues, self.index if indexed else None, arrived=self._arrived)
        self.log.recover(clean, Hints(copied, self.checkpoint.physic_ms, partial(self.queues.stored_end, clean)))
        self.dispatcher.recover(clean, self.checkpoint)

    def put(self, number: int, queue_id: int = 0, topic: str = "topic", ms: int = 0, **changes: Any) -> int:
        """Store a message as a master does and dispatch it; where it lies."""
        properties = b"TAGS\x01Tag%d\x02KEYS\x01k%d all\x02UNIQ_KEY\x01u%d" % (number % 3, number, number)
        message = Message(topic, queue_id, b"b" * (number % 5 * 20), properties)._replace(**changes)
        put = self.log.put(message, self.queues.next_offset(topic, queue_id), ms or NOW_MS + number)
        self.dispatcher.dispatch()
        return put.lo

    def flush(self) -> None:
        """A flush of everything, and the checkpoint that it allows."""
        flushed_ms = self.dispatcher.last_ms
        for name in [*self.log.flush_due(), *self.index.begin_flush()]:
            self.disk.sync(name)
        self.queues.sync()
        self.index.finish_flush()
        self.checkpoint.physic_ms = self.checkpoint.logics_ms = flushed_ms
        self.checkpoint.index_ms = self.index.flushed_ms
        self.checkpoint.save()
        self.disk.sync("checkpoint")

    def stop(self) -> None:
        """An orderly end."""
        self.flush()
        self.queues.sync()
        self.index.sync()

    def view(self) -> dict[tuple[str, int], tuple[int, list[Entry]]]:
        """First offset and live entries of every queue that has any."""
        found = {}
        for topic, queue_id in self.queues.known():
            first = self.queues.min_offset(topic, queue_id)
            entries = self.queues.get(topic, queue_id, first, 10_000)
            if entries:
                found[topic, queue_id] = (first, entries)
        return found

    def answers(self, keys: list[str], topic: str = "topic") -> dict[str, list[int]]:
        """What the index answers for each key, as far as the log still has it."""
        end = 1 << 60
        found = {key: self.index.query(topic, key, 1000, 0, end).offsets for key in keys}
        return {key: [at for at in offsets if at >= self.log.start] for key, offsets in found.items()}

    def _arrived(self, record: Any, code: int) -> None:
        self.arrived.append((record.queue_offset, code))


def fresh(log_disk: TreeDisk, layout: tuple[int, ...] = (), copied: bool = False) -> Store:
    """Everything derived anew from the same log."""
    disk = TreeDisk()
    for name, data in log_disk.content("commitlog").items():
        disk.open(name, len(data)).write(0, data)
    store = Store(disk, clean=False, layout=layout, copied=copied)
    store.dispatcher.dispatch()
    return store


def started(*args: Any, **kwargs: Any) -> Store:
    return Store(TreeDisk(), *args, **kwargs)


def min_ms(checkpoint: Checkpoint) -> int:
    """Everything stored until then is durable in the log and in the queues, as RocketMQ has it."""
    return max(0, min(checkpoint.physic_ms, checkpoint.logics_ms) - 3_000)


def first_file_to_replay(log: CommitLog, since_ms: int) -> int:
    """RocketMQ's choice after an abnormal stop: the newest file whose first record was stored until ``since_ms``.

    Else the first file. Right only as long as the clock never went back.
    Source: CommitLog.isMappedFileMatchedRecover.
    """
    for start in reversed(log.files.starts):
        if 0 < store_ms_at(log, start) <= since_ms:
            return start
    return log.start


def same(store: Store, other: Store, whole: bool = True) -> None:
    """Two stores over the same log answer alike, and the queues are dense; ``whole``: it ends with a whole record."""
    assert store.view() == other.view()
    assert store.answers(KEYS) == other.answers(KEYS)
    assert not whole or store.dispatcher.at == other.dispatcher.at == store.log.end
    assert store.dispatcher.stalled is None
    for (topic, queue_id), (first, entries) in store.view().items():
        for place, entry in enumerate(entries):
            found = decode(store.log.read(entry.physical_offset, entry.size))
            assert isinstance(found, Record)
            assert (found.queue_offset, found.message.topic, found.message.queue_id) == (first + place, topic, queue_id)
