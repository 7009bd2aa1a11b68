"""All consume queues of one node, in consumequeue/<topic>/<queue id>/, created at dispatch.

A topic from a peer becomes a folder name, so only legal topics and queue ids of at least 0 get a queue. Source:
DefaultMessageStore.consumeQueueTable, loadConsumeQueue and FlushConsumeQueueService, TopicValidator.
"""

import re
from collections.abc import Callable

from ..errors import StoreRefused
from ..ports import Disk
from .consume_queue import MAX_QUEUE_OFFSET, ConsumeQueue, Entry
from .topics import STORED_NAME

FOLDER = "consumequeue"
_QUEUE_ID = re.compile(r"0|[1-9][0-9]{0,9}")


class ConsumeQueues:
    """The queues by topic and queue id. An unknown queue is empty and begins at 0."""

    def __init__(self, disk: Disk, file_size: int, least_pages: int = 0) -> None:
        self._disk = disk
        self._file_size = file_size
        self._queues: dict[tuple[str, int], ConsumeQueue] = {}
        self._least_pages = least_pages
        self.ripe = False
        """Whether some queue has enough dirty pages for any flush round."""
        self.dirty: dict[tuple[str, int], ConsumeQueue] = {}
        self._flushing: list[tuple[ConsumeQueue, int]] = []

    def __contains__(self, queue: tuple[str, int]) -> bool:
        return queue in self._queues

    @property
    def last_end(self) -> int:
        return max((queue.last_end for queue in self._queues.values()), default=-1)

    def known(self) -> list[tuple[str, int]]:
        return sorted(self._queues)

    def check(self, clean: bool) -> None:
        for each in self._stored():
            ConsumeQueue(self._disk, self._path(*each), self._file_size).check(clean)

    def stored_end(self, clean: bool = True) -> int:
        queues = [ConsumeQueue(self._disk, self._path(*each), self._file_size) for each in self._stored()]
        return max((queue.stored_end(clean) for queue in queues), default=-1)

    def recover(self, clean: bool) -> None:
        for topic, queue_id in self._stored():
            self._made(topic, queue_id).recover(clean)

    def put(self, topic: str, queue_id: int, offset: int, entry: Entry) -> bool:
        """Add a message's entry to its queue, creating the queue if needed.

        False if the queue has the entry, or for an illegal topic, queue id or offset; StoreFull without room.
        """
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            if not STORED_NAME.fullmatch(topic) or queue_id < 0:
                return False
            queue = self._made(topic, queue_id)
        if not 0 <= offset <= MAX_QUEUE_OFFSET or not queue.put(offset, entry):
            return False
        self.dirty[topic, queue_id] = queue
        self.ripe = self.ripe or queue.flush_to(self._least_pages) is not None
        return True

    def next_offset(self, topic: str, queue_id: int) -> int:
        queue = self._queues.get((topic, queue_id))
        return queue.next_offset if queue else 0

    def min_offset(self, topic: str, queue_id: int) -> int:
        queue = self._queues.get((topic, queue_id))
        return queue.first if queue else 0

    def get(self, topic: str, queue_id: int, offset: int, limit: int) -> list[Entry]:
        queue = self._queues.get((topic, queue_id))
        return queue.get(offset, limit) if queue else []

    def offset_by_time(self, topic: str, queue_id: int, ms: int, store_ms: Callable[[Entry], int]) -> int:
        queue = self._queues.get((topic, queue_id))
        return queue.offset_by_time(ms, store_ms) if queue else 0

    def truncate(self, log_end: int) -> None:
        """Remove, durably, every message that begins at or after ``log_end``; at 0 also the queues' files."""
        for queue in self._queues.values():
            if log_end:
                queue.truncate(log_end)
            else:
                queue.clear()

    def expire(self, log_start: int) -> None:
        """Remove messages before the log's new start; the queues keep their offsets."""
        for queue in self._queues.values():
            queue.expire(log_start)

    def begin_flush(self, least_pages: int = 0) -> list[str]:
        """Disk names that a flush round flushes; call :meth:`finish_flush` after the flush.

        At most one file per queue, and only with ``least_pages`` dirty pages; 0: everything.
        """
        due = {key: (queue, queue.flush_to(least_pages)) for key, queue in self.dirty.items()}
        self._flushing = [(queue, upto) for queue, upto in due.values() if upto is not None]
        self.dirty = {key: queue for key, (queue, upto) in due.items() if upto is None or upto < queue.files.end}
        self.ripe = False
        return [name for queue, upto in self._flushing for name in queue.flush_due(upto)]

    def finish_flush(self) -> None:
        for queue, upto in self._flushing:
            queue.mark_flushed(upto)
        self._flushing = []
        self.ripe = any(queue.flush_to(self._least_pages) is not None for queue in self.dirty.values())

    def sync(self) -> None:
        # A flush in progress may never end.
        for queue in dict.fromkeys([*(queue for queue, _ in self._flushing), *self.dirty.values()]):
            for name in queue.flush_due():
                self._disk.sync(name)
            queue.mark_flushed(queue.files.end)
        self.dirty, self._flushing, self.ripe = {}, [], False

    def _stored(self) -> list[tuple[str, int]]:
        found = []
        for topic in self._disk.folders(FOLDER):
            for queue_id in self._disk.folders(f"{FOLDER}/{topic}"):
                if not STORED_NAME.fullmatch(topic) or not _QUEUE_ID.fullmatch(queue_id):
                    raise StoreRefused(f"{FOLDER}/{topic}/{queue_id} is not a consume queue: move it elsewhere")
                found.append((topic, int(queue_id)))
        return found

    def _made(self, topic: str, queue_id: int) -> ConsumeQueue:
        folder = self._path(topic, queue_id)
        queue = self._queues[topic, queue_id] = ConsumeQueue(self._disk, folder, self._file_size)
        return queue

    def _path(self, topic: str, queue_id: int) -> str:
        return f"{FOLDER}/{topic}/{queue_id}"
