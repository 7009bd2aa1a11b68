"""Reput: from the log, record by record, into the consume queues and the key index.

Only whole records are dispatched, up to the first one that is not complete: a slave may hold a part. Fillers are jumped
over, as are records whose parts do not add up to their size; at anything else dispatch stays, says why and tries again.
Queues get messages without a transaction and committed ones, the index also prepared ones. No CRC is checked.

Where this differs from RocketMQ, on purpose: a master does not skip what it cannot read either; and after an abnormal
stop everything from the log's start is dispatched again, since the checkpoint's times are only as right as the clock.
Source: DefaultMessageStore.ReputMessageService, start and recover; CommitLog.checkMessageAndReturnSize and
recoverAbnormally; IndexService.buildIndex.
"""

from collections.abc import Callable, Mapping

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
"""Told of each message that its queue did not have yet, with its tags code."""


def keys_of(properties: Mapping[str, str]) -> list[str]:
    """What a message can be found by: its client's id, and each word of KEYS."""
    unique = properties.get("UNIQ_KEY")
    words = [word for word in properties.get("KEYS", "").split(" ") if word]
    return [unique, *words] if unique else words


class Dispatcher:
    """One node's dispatch. ``index`` is None where messageIndexEnable is off.

    ``at`` is how far it has come, ``last_ms`` the store time of the last record dispatched (before the first: what the
    checkpoint says), and ``stalled`` why it cannot go on although bytes are there; None while it only waits for the
    rest of a record.
    ``lacks_room`` says that this is a full disk, which may not last.
    """

    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        index: KeyIndex | None,
        delays_ms: tuple[int, ...] = DEFAULT_DELAYS_MS,
        arrived: Arrived | None = None,
    ) -> None:
        self.log = log
        self.queues = queues
        self.index = index
        self.delays_ms = delays_ms
        self.arrived = arrived
        self.at = 0
        self.last_ms = 0
        self.stalled: str | None = None
        self.lacks_room = False
        self._added = 0

    # Decisions.

    def replay_from(self, checkpoint: Checkpoint) -> int:
        """After an abnormal stop: the offset up to which the stored queues are believed."""
        return self.log.start

    # Life.

    def recover(self, clean: bool, checkpoint: Checkpoint) -> None:
        """Open queues and index, make them agree with the log, and find where to go on. Once, after the log's own.

        After a clean stop that is behind the last message that any queue has. Nothing is dispatched yet.
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
        """Dispatch every whole record up to the log's end; how many messages that adds to the queues.

        Without room for a file it stays, as for anything that is no record.
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
        """The log's first files are gone: so are the messages in them."""
        self.queues.expire(self.log.start)
        if self.index is not None:
            self.index.expire(self.log.start)
        self.at = max(self.at, self.log.start)

    def store_ms(self, entry: Entry) -> int:
        """When an entry's message was stored; -1 if it cannot be read."""
        return store_ms_at(self.log, entry.physical_offset)

    def _scan(self, window: bytes) -> int:
        """Dispatch what is whole in ``window``, which begins at ``at`` and lies in one file.

        How many bytes from the new ``at`` on the next step needs.
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
        # The index first: if it has no room nothing has been done, and what it did is not done twice.
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
