"""One node's message store: the log and its derived files, kept consistent.

Bytes that a put or a slave's append adds to the log are dispatched into queues and key index at once, unless the shell
delays the dispatch thread (:meth:`~pairproof.reference.ports.Effects.runs`). Until then a message has its queue offset,
but readers do not find it. Derived files become durable later; the checkpoint records up to which store time. A start
recovers the log, then aligns the derived files with it. Source: DefaultMessageStore, CommitLog.topicQueueTable.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from ..errors import StoreFull
from ..ports import MS, Effects, Watcher
from ..wire.record import Message, Record, decode
from . import checkpoint
from .checkpoint import Checkpoint
from .commit_log import CommitLog, blank_of
from .committing import COMMIT, Committer
from .config import BrokerConfig
from .consume_queues import ConsumeQueues
from .delay import parse_levels
from .dispatch import Arrived, Dispatcher
from .flush_schedule import FlushSchedule, Look
from .flushing import Flusher
from .key_index import KeyIndex
from .recovery import Hints, Recovery

ABORT = "abort"
DERIVED = ("derived-flush", None)
DISPATCH = ("dispatch", None)
RETRY_NS = 1_000 * MS


class Stored(NamedTuple):
    """A stored message: [lo, hi) in the log, and its queue offset."""

    lo: int
    hi: int
    queue_offset: int


class MessageStore:
    """Log, queues, index and checkpoint. The parts are class attributes, so that a subclass can replace one.

    ``arrived`` is called for each message new to its queue. ``recovery`` and ``recovered`` describe the last recovery.
    """

    log_class: ClassVar[type[CommitLog]] = CommitLog
    queues_class: ClassVar[type[ConsumeQueues]] = ConsumeQueues
    index_class: ClassVar[type[KeyIndex]] = KeyIndex
    dispatcher_class: ClassVar[type[Dispatcher]] = Dispatcher
    flusher_class: ClassVar[type[Flusher]] = Flusher
    committer_class: ClassVar[type[Committer]] = Committer

    def __init__(self, config: BrokerConfig, io: Effects, watcher: Watcher, arrived: Arrived | None = None) -> None:
        self.io = io
        self.watcher = watcher
        disk = io.disk
        self.log = self.log_class(disk, config.mappedFileSizeCommitLog, max_message_size=config.maxMessageSize)
        self.log.has_pool = config.has_pool
        self.committer = self.committer_class(config, self.log, io, watcher)
        least = config.flushConsumeQueueLeastPages
        self.queues = self.queues_class(disk, config.mappedFileSizeConsumeQueue, least)
        self.index: KeyIndex | None = None
        if config.messageIndexEnable:
            self.index = self.index_class(disk, config.maxHashSlotNum, config.maxIndexNum, io.wall_ms)
        self.delays_ms = parse_levels(config.messageDelayLevel)
        self.dispatcher = self.dispatcher_class(self.log, self.queues, self.index, self.delays_ms, arrived)
        self.flusher = self.flusher_class(config, self.log, io, watcher)
        self.copied = config.is_slave
        interval_ns = config.flushIntervalConsumeQueue * MS
        thorough_ns = config.flushConsumeQueueThoroughInterval * MS
        self.derived = FlushSchedule(interval_ns, least, thorough_ns, io.now())
        self.recovery = "empty"
        self.recovered = Recovery("empty", 0, 0, None, "")
        self.checkpoint: Checkpoint
        self.held = False
        """Whether the dispatch thread was delayed at its last wake-up."""
        self._given: dict[tuple[str, int], int] = {}
        """Next offsets of queues with undispatched messages."""
        self._wake_up: Look | None = None
        self._flushing = False
        self._flushing_ms: int | None = None
        """During a thorough flush: the store time up to which it makes the queues durable."""

    def ends_cleanly(self) -> bool:
        return ABORT not in self.io.disk.names("")

    def start(self) -> None:
        """Recover the log, align queues and index with it, and create the abort file.

        StoreRefused, with nothing changed, if this could destroy data.
        """
        clean = self.ends_cleanly()
        self.checkpoint = Checkpoint(self.io.disk)
        # Each part must match the settings before anything is cut.
        self.queues.check(clean)
        if self.index is not None:
            self.index.stored()
        hints = Hints(self.copied, self.checkpoint.physic_ms, partial(self.queues.stored_end, clean))
        self.recovered = self.log.recover(clean, hints)
        self.recovery = self.recovered.kind
        self.dispatcher.recover(clean, self.checkpoint)
        if clean:
            # Only now: a refused store stays unchanged. An existing file may hold a process id (5.x).
            self.io.disk.open(ABORT, 0)
            self.io.disk.sync(ABORT)
        self.committer.start()
        self.flusher.start()
        self.derived.began = self.io.now()
        self._dispatch()

    def stop(self) -> None:
        self.committer.finish()
        self._dispatch()
        for name in self.log.flush_due():
            self.io.disk.sync(name)
        self.log.mark_flushed(self.log.end)
        self.queues.sync()
        if self.index is not None:
            self.index.sync()
        self._note_times(self.dispatcher.last_ms)
        self.io.disk.sync(checkpoint.NAME)
        self.io.disk.delete(ABORT)

    def put(self, message: Message) -> Stored:
        """Append as a master does, and dispatch. Errors as :meth:`CommitLog.put`; nothing is written then.

        StoreFull also while the queues lack room for the log's messages: their next offsets are unknown.
        """
        self._catch_up()
        stored = self._append(message, self.queue_offset_for(message))
        self._dispatch_put(message, stored)
        return stored

    def put_batch(self, messages: Sequence[Message]) -> list[Stored]:
        """Append messages for one queue, all or none, within one file of the log; see :meth:`put`."""
        self._catch_up()
        first = self.queue_offset_for(messages[0])
        self._record_filler(self.log.make_room(messages))
        stored = [self._append(each, first + number) for number, each in enumerate(messages)]
        self._dispatch_put(messages[0], stored[-1])
        return stored

    def queue_offset_for(self, message: Message) -> int:
        """The next offset in the message's queue; 0 for a half message, which is in no queue."""
        if _is_half(message):
            return 0
        queue = message.topic, message.queue_id
        return max(self.queues.next_offset(*queue), self._given.get(queue, 0))

    def dispatch(self) -> None:
        self.held = not self.io.runs(DISPATCH)
        if not self.held:
            self._dispatch()

    def _dispatch(self) -> None:
        self.held = False
        before = self.dispatcher.at
        self.dispatcher.dispatch()
        if self.dispatcher.at > before:
            self.watcher.dispatched(self.dispatcher.at)
            self._schedule_flush()
        if self.dispatcher.at >= self.log.written:
            self._given.clear()
        if self.dispatcher.lacks_room:
            # Retry even if the log does not grow.
            self.io.timer(DISPATCH, self.io.now() + RETRY_NS)

    def expire(self, keep_files: int) -> bool:
        """Retention: delete all but the newest ``keep_files`` of the log and the entries of the others.

        Returns whether there were any. Files with undispatched messages stay: no queue has their offsets.
        """
        if self.held:
            waiting = sum(each + self.log.file_size > self.dispatcher.at for each in self.log.files.starts)
            keep_files = max(keep_files, waiting)
        if len(self.log.files.starts) <= max(1, keep_files):
            return False
        # After the deletion only the queues record which offsets were given.
        self.queues.sync()
        self.watcher.expired(self.log.expire(keep_files))
        self.dispatcher.expire()
        return True

    @property
    def behind(self) -> bool:
        return self.held or self.dispatcher.lacks_room

    def record_at(self, offset: int) -> Record | None:
        size = self.log.record_size(offset)
        if not size:
            return None
        found = decode(self.log.read(offset, size), check_crc=False, origin=offset)
        return found if isinstance(found, Record) else None

    def on_timer(self, key: tuple[str, None]) -> None:
        if key == DERIVED:
            self._flush_derived()
        elif key == DISPATCH:
            self.dispatch()
        elif key == COMMIT:
            self.committer.wake()
            self.dispatch()
            self.flusher.grown()
        else:
            self.flusher.on_timer(key[0])

    def on_flushed(self, token: Hashable) -> None:
        if token != DERIVED:
            assert isinstance(token, int)
            self.flusher.on_flushed(token)
            return
        self.queues.finish_flush()
        if self.index is not None:
            self.index.finish_flush()
        if self._flushing_ms is not None:
            self._note_times(self._flushing_ms)
        self._flushing, self._flushing_ms = False, None
        self._schedule_flush()

    def _catch_up(self) -> None:
        if self.dispatcher.at < self.log.end:
            self.dispatch()
            waits = self.held and self.dispatcher.stalled is None
            if self.dispatcher.at < self.log.end and not waits:
                raise StoreFull(self.dispatcher.stalled or "the queues are behind the log")

    def _dispatch_put(self, message: Message, last: Stored) -> None:
        self.committer.wake()
        self.dispatch()
        if self.dispatcher.at < self.log.written and not _is_half(message):
            self._given[message.topic, message.queue_id] = last.queue_offset + 1

    def _append(self, message: Message, queue_offset: int) -> Stored:
        put = self.log.put(message, queue_offset, self.io.wall_ms())
        self._record_filler(put.filler)
        self.watcher.appended(put.lo, put.hi, put.data, "put")
        return Stored(put.lo, put.hi, queue_offset)

    def _record_filler(self, filler: tuple[int, int] | None) -> None:
        if filler is not None:
            at, end = filler
            self.watcher.appended(at, end, blank_of(filler), "filler")

    def _schedule_flush(self) -> None:
        """Schedule the next useful flush, unless one is in flight, whose end calls this again.

        The checkpoint may need an update even if everything is flushed.
        """
        if self._flushing or not (self.queues.dirty or self.checkpoint.logics_ms != self.dispatcher.last_ms):
            return
        ripe = self.queues.ripe or (self.index is not None and self.index.ripe)
        wake_up = self.derived.next_ripe(self.io.now(), ripe)
        if self._wake_up is None or wake_up.at < self._wake_up.at:
            self._wake_up = wake_up
            self.io.timer(DERIVED, wake_up.at)

    def _flush_derived(self) -> None:
        least = self._wake_up.least_pages if self._wake_up is not None else 0
        self._wake_up = None
        if self._flushing:
            return
        names = self.queues.begin_flush(least)
        if self.index is not None:
            names += self.index.begin_flush()
        if not least:
            self._flushing_ms = self.dispatcher.last_ms
            names.append(checkpoint.NAME)
        self._flushing = True
        self.io.flush(list(dict.fromkeys(names)), DERIVED)

    def _note_times(self, derived_ms: int) -> None:
        """Update the checkpoint; the log's time only if all of it is durable."""
        times = self.checkpoint
        times.logics_ms = derived_ms
        if self.log.flushed >= self.log.end:
            times.physic_ms = self.dispatcher.last_ms
        if self.index is not None:
            times.index_ms = self.index.flushed_ms
        times.save()


def _is_half(message: Message) -> bool:
    return message.sys_flag & 0xC in (0x4, 0xC)
