"""Reput: dispatch records from the log into the consume queues and the key index.

Only whole records are dispatched, up to the first incomplete one: a slave may hold a part. Fillers are skipped, as are
records whose parts do not add up to their size. At any other bytes dispatch stops, records why, and retries. Queues get
messages without a transaction and committed ones, the index also prepared ones. CRCs are not checked.

Where this differs from RocketMQ, on purpose: a master does not skip unreadable bytes either; and after an abnormal stop
everything from the log's start is dispatched again, since the checkpoint's times are only as right as the clock.
Source: DefaultMessageStore.ReputMessageService, start and recover; CommitLog.checkMessageAndReturnSize and
recoverAbnormally; IndexService.buildIndex.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import CodecError, StoreFull
from ..wire.properties import properties_of
from ..wire.record import (
    BLANK_SIZE,
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    Blank,
    Record,
    decode,
    peek,
)
from .checkpoint import Checkpoint, store_ms_at
from .commit_log import CommitLog
from .consume_queue import Entry
from .consume_queues import ConsumeQueues
from .delay import DEFAULT_DELAYS_MS, queue_tags_code
from .key_index import KeyIndex

_WINDOW = 64 * 1024
_TRANSACTION, _NONE, _COMMIT, _ROLLBACK = 0xC, 0x0, 0x8, 0xC

Arrived = Callable[[Record, int], None]
"""Called with each message new to its queue, and its tags code."""


def keys_of(properties: Mapping[str, str]) -> list[str]:
    """A message's index keys: its client id and each word of KEYS."""
    unique = properties.get("UNIQ_KEY")
    words = [word for word in properties.get("KEYS", "").split(" ") if word]
    return [unique, *words] if unique else words


@dataclass(eq=False)
class Dispatcher:
    """One node's dispatch. ``index`` is None if messageIndexEnable is off.

    ``at`` is the dispatch position, ``last_ms`` the store time of the last dispatched record (initially the
    checkpoint's). ``stalled`` is why dispatch cannot continue although bytes are there; None while it waits for the
    rest of a record. ``lacks_room``: the cause is a full disk, which may pass.
    """

    log: CommitLog
    queues: ConsumeQueues
    index: KeyIndex | None
    delays_ms: tuple[int, ...] = DEFAULT_DELAYS_MS
    arrived: Arrived | None = None
    at: int = 0
    last_ms: int = 0
    stalled: str | None = None
    lacks_room: bool = False
    _added: int = 0

    def replay_from(self, checkpoint: Checkpoint) -> int:
        """After an abnormal stop: the offset up to which the stored queues are trusted."""
        return self.log.start

    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        """Open queues and index, align them with the log, and find where to continue. Call once, after the log's
        recovery.

        After a clean stop that is the end of the last message in any queue. Nothing is dispatched yet.
        """
        log = self.log
        self.last_ms = checkpoint.logics_ms
        self.queues.recover(clean)
        self.queues.truncate(log.end)
        at = max(log.start, self.queues.last_end)
        if not clean:
            at = self.replay_from(checkpoint)
            self.queues.truncate(at)
        self.queues.expire(log.start)
        if self.index is not None:
            dropped = self.index.recover(clean, checkpoint.index_ms, log.end)
            if dropped or not clean:
                at = max(log.start, min(at, self.index.end_offset))
            self.index.expire(log.start)
        self.at = at

    def dispatch(self) -> int:
        """Dispatch every whole record up to the log's end; the number of messages added to queues.

        Stops without room for a file, and at anything that is not a record.
        """
        log = self.log
        self.stalled, self.lacks_room = None, False
        self.at = max(self.at, log.start)
        before = self._added
        wanted = _WINDOW
        while self.at < log.end:
            window = log.read(self.at, wanted)
            missing = self._scan(window)
            if self.stalled is not None or self.at + missing > log.end:
                break
            wanted = max(_WINDOW, missing)
        return self._added - before

    def expire(self) -> None:
        self.queues.expire(self.log.start)
        if self.index is not None:
            self.index.expire(self.log.start)
        self.at = max(self.at, self.log.start)

    def store_ms(self, entry: Entry) -> int:
        return store_ms_at(self.log, entry.physical_offset)

    def _scan(self, window: bytes) -> int:
        """Dispatch the whole records in ``window``, which begins at ``at`` and lies in one file.

        Returns the bytes that the next step needs from the new ``at`` on.
        """
        begin = self.at
        room = self.log.file_size - begin % self.log.file_size
        inside = 0
        while inside < len(window):
            left = len(window) - inside
            if left < BLANK_SIZE:
                return self._wait(BLANK_SIZE, room - inside)
            size, magic = peek(window, inside)
            if magic == MAGIC_BLANK:
                if begin + room > self.log.end:
                    return room - inside
                self.at = begin + room
                return 0
            if magic not in (MAGIC_V1, MAGIC_V2) or not FIXED_SIZE <= size <= room - inside:
                self.stalled = f"no record at {self.at}: size {size}, magic {magic & 0xFFFFFFFF:#010x}"
                return 0
            if size > left:
                return size
            try:
                self._dispatch_record(window, inside)
            except StoreFull as why:
                self.stalled, self.lacks_room = f"record at {self.at}: {why}", True
                return 0
            inside += size
            self.at = begin + inside
        return 0

    def _wait(self, size: int, room: int) -> int:
        if size > room:
            self.stalled = f"no record at {self.at}: its file ends in {room} bytes"
        return size

    def _dispatch_record(self, window: bytes, inside: int) -> None:
        try:
            record = decode(window, inside, check_crc=False, origin=self.at - inside)
        except CodecError:
            return
        assert not isinstance(record, Blank)
        message = record.message
        kind = message.sys_flag & _TRANSACTION
        properties = properties_of(message.properties)
        # The index first: if it lacks room nothing has changed, and its work is not repeated.
        if self.index is not None and kind != _ROLLBACK:
            self.index.put(message.topic, keys_of(properties), self.at, record.store_ms)
        if kind in (_NONE, _COMMIT):
            code = queue_tags_code(message.topic, properties, record.store_ms, self.delays_ms)
            entry = Entry(self.at, record.size, code)
            if self.queues.put(message.topic, message.queue_id, record.queue_offset, entry):
                self._added += 1
                if self.arrived is not None:
                    self.arrived(record, code)
        self.last_ms = record.store_ms
