"""One node's message store: the log and everything that is derived from it, kept in step.

What a put or a slave's append adds to the log is dispatched into queues and key index as soon as the thread that does
this gets to run: at once, unless the shell says otherwise (:meth:`~pairproof.reference.ports.Effects.runs`). What is
not dispatched yet has its queue offset, and no reader finds it. Derived files are made durable a while later; the
checkpoint says up to which store time they are. A start recovers the log, then makes the derived files agree with it.
Source: DefaultMessageStore, CommitLog.topicQueueTable.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from ..errors import StoreFull
from ..ports import MS, Effects, Watcher
from ..wire.record import Message, Record, decode
from . import checkpoint
from .checkpoint import Checkpoint
from .commit_log import CommitLog
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
    """Where a message went: [lo, hi) in the log, and its queue offset."""

    lo: int
    hi: int
    queue_offset: int


class MessageStore:
    """Log, queues, index and checkpoint. The parts are class attributes, so that a version of one replaces just that.

    ``arrived`` hears of each message that a queue did not have yet. ``recovery`` and
    ``recovered`` say how the last start found it.
    """

    log_class: ClassVar[type[CommitLog]] = CommitLog
    queues_class: ClassVar[type[ConsumeQueues]] = ConsumeQueues
    index_class: ClassVar[type[KeyIndex]] = KeyIndex
    dispatcher_class: ClassVar[type[Dispatcher]] = Dispatcher
    flusher_class: ClassVar[type[Flusher]] = Flusher

    def __init__(self, config: BrokerConfig, io: Effects, watcher: Watcher, arrived: Arrived | None = None) -> None:
        self.io = io
        self.watcher = watcher
        disk = io.disk
        self.log = self.log_class(disk, config.mappedFileSizeCommitLog, max_message_size=config.maxMessageSize)
        size = -(-config.mappedFileSizeConsumeQueue // 20) * 20
        least = config.flushConsumeQueueLeastPages
        self.queues = self.queues_class(disk, size, least_pages=least)
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
        """Whether the thread that dispatches did not get to run when it was last to."""
        self._given: dict[tuple[str, int], int] = {}
        """Next offsets of queues with messages that wait for it."""
        self._look: Look | None = None
        """The next look at the queues' files, if any."""
        self._flushing = False
        self._flushing_ms: int | None = None
        """Of a thorough flush that is under way: up to which store time it makes the queues durable."""

    # Decisions.

    def ends_cleanly(self) -> bool:
        """Whether the last stop was an orderly one: no abort file was left."""
        return ABORT not in self.io.disk.names("")

    # Life.

    def start(self) -> None:
        """Recover the log, make queues and index agree with it, and note that no clean stop has followed yet.

        StoreRefused for a store that this could destroy a part of; nothing has changed then.
        """
        clean = self.ends_cleanly()
        self.checkpoint = Checkpoint(self.io.disk)
        # Before anything is cut, from log or queues, each part must be what these settings say.
        self.queues.check(clean)
        if self.index is not None:
            self.index.stored()
        hints = Hints(self.copied, self.checkpoint.physic_ms, partial(self.queues.stored_end, clean))
        self.recovered = self.log.recover(clean, hints)
        self.recovery = self.recovered.kind
        self.dispatcher.recover(clean, self.checkpoint)
        if clean:
            # Not before: a store that is refused stays as it was. One that is there may hold a process id (5.x).
            self.io.disk.open(ABORT, 0)
            self.io.disk.sync(ABORT)
        self.flusher.start()
        self.derived.began = self.io.now()
        self._dispatch()

    def stop(self) -> None:
        """Dispatch what has not been yet, and make everything durable; the next start is a clean one."""
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

    # Writing.

    def put(self, message: Message) -> Stored:
        """Append as a master does, and dispatch. Errors as :meth:`CommitLog.put`; nothing is written then.

        StoreFull also while the queues lack room for what the log has: their next offsets are not known then.
        """
        self._catch_up()
        stored = self._append(message, self.queue_offset_for(message))
        self._dispatch_put(message, stored)
        return stored

    def put_batch(self, messages: Sequence[Message]) -> list[Stored]:
        """Append messages for one queue, all of them or none; see :meth:`put`. They lie in one file of the log."""
        self._catch_up()
        first = self.queue_offset_for(messages[0])
        self._tell_filler(self.log.make_room(messages))
        stored = [self._append(each, first + place) for place, each in enumerate(messages)]
        self._dispatch_put(messages[0], stored[-1])
        return stored

    def queue_offset_for(self, message: Message) -> int:
        """The offset that a message gets in its queue; a half message is in no queue, and gets 0."""
        if _is_half(message):
            return 0
        queue = message.topic, message.queue_id
        return max(self.queues.next_offset(*queue), self._given.get(queue, 0))

    def dispatch(self) -> None:
        """The log has grown: so do queues and index, unless the thread that does this does not get to run now."""
        self.held = not self.io.runs(DISPATCH)
        if not self.held:
            self._dispatch()

    def _dispatch(self) -> None:
        self.held = False
        before = self.dispatcher.at
        self.dispatcher.dispatch()
        if self.dispatcher.at > before:
            self.watcher.dispatched(self.dispatcher.at)
            self._await_look()
        if self.dispatcher.at >= self.log.end:
            self._given.clear()
        if self.dispatcher.lacks_room:
            # Perhaps nothing more comes that would make us look again.
            self.io.timer(DISPATCH, self.io.now() + RETRY_NS)

    def expire(self, keep_files: int) -> bool:
        """Retention: delete all but the newest ``keep_files`` of the log, and let go of all that lay in the others.

        Whether there were any. Files with messages that wait to be dispatched stay: no queue knows their offsets.
        """
        if self.held:
            waiting = sum(each + self.log.file_size > self.dispatcher.at for each in self.log.files.starts)
            keep_files = max(keep_files, waiting)
        if len(self.log.files.starts) <= max(1, keep_files):
            return False
        # Once the messages are gone only the queues know which offsets were given.
        self.queues.sync()
        self.watcher.expired(self.log.expire(keep_files))
        self.dispatcher.expire()
        return True

    # Reading.

    @property
    def behind(self) -> bool:
        """Whether the queues lack what the log has, for want of room or of time."""
        return self.held or self.dispatcher.lacks_room

    def record_at(self, offset: int) -> Record | None:
        """The record that begins at a log offset; None if none does."""
        size = self.log.record_size(offset)
        if not size:
            return None
        found = decode(self.log.read(offset, size), check_crc=False, origin=offset)
        return found if isinstance(found, Record) else None

    # What the shell tells.

    def on_timer(self, key: tuple[str, None]) -> None:
        if key == DERIVED:
            self._flush_derived()
        elif key == DISPATCH:
            self.dispatch()
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
        self._await_look()

    def _catch_up(self) -> None:
        if self.dispatcher.at < self.log.end:
            self.dispatch()
            waits = self.held and self.dispatcher.stalled is None
            if self.dispatcher.at < self.log.end and not waits:
                raise StoreFull(self.dispatcher.stalled or "the queues are behind the log")

    def _dispatch_put(self, message: Message, last: Stored) -> None:
        """Dispatch what was just put; ``last`` is where the last message for this queue lies."""
        self.dispatch()
        if self.held and not _is_half(message):
            self._given[message.topic, message.queue_id] = last.queue_offset + 1

    def _append(self, message: Message, queue_offset: int) -> Stored:
        put = self.log.put(message, queue_offset, self.io.wall_ms())
        self._tell_filler(put.filler)
        self.watcher.appended(put.lo, put.hi, put.data, "put")
        return Stored(put.lo, put.hi, queue_offset)

    def _tell_filler(self, filler: tuple[int, int] | None) -> None:
        if filler is not None:
            at, end = filler
            self.watcher.appended(at, end, self.log.read(at, end - at), "filler")

    def _await_look(self) -> None:
        """Wake at the look that finds enough, unless a flush is under way, whose end leads here again.

        Where others flushed all that is dirty, the checkpoint has yet to say so.
        """
        if self._flushing or not (self.queues.dirty or self.checkpoint.logics_ms != self.dispatcher.last_ms):
            return
        ripe = self.queues.ripe or (self.index is not None and self.index.ripe)
        look = self.derived.next_ripe(self.io.now(), ripe)
        if self._look is None or look.at < self._look.at:
            self._look = look
            self.io.timer(DERIVED, look.at)

    def _flush_derived(self) -> None:
        least = self._look.least_pages if self._look is not None else 0
        self._look = None
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
        """What the checkpoint may say now; the log's time only if all of it is durable."""
        times = self.checkpoint
        times.logics_ms = derived_ms
        if self.log.flushed >= self.log.end:
            times.physic_ms = self.dispatcher.last_ms
        if self.index is not None:
            times.index_ms = self.index.flushed_ms
        times.save()


def _is_half(message: Message) -> bool:
    """Whether it is prepared or rolled back, and so in no queue."""
    return message.sys_flag & 0xC in (0x4, 0xC)
