"""Finds the end of a commit log at a start, and decides about the bytes after it.

A record is whole if it decodes (magic, sizes, CRC), lies at its own offset and has no lost sector in its topic or
properties; a filler is whole if it reaches exactly to its file's end. Parsing continues in the next file after a
filler, and stops at anything else. It begins at the third last file after a clean stop, otherwise at the first.

- **After a clean stop nothing is cut.** A log that is not whole was damaged since, and the broker refuses to start
  (StoreRefused) before a byte has changed; also if the queues hold messages after the log's end, whose files are
  missing. Two cases are not damage. A slave may stop in the middle of a record: then no whole record follows the last
  one, and the queues end with it. And a slave may continue in the middle of a record with the log of a master that has
  lost its store: its broker could not read on there, so the queues end earlier although whole messages follow.
- **After an unclean stop** everything after the end is cut, zeroed and made durable.

Lost sectors: after a machine crash, sectors that never reached the disk are zeros. The CRC covers the body only, and
zeroed sizes do not add up; but topic and properties may decode with zeros in them. RocketMQ stores NUL characters
there, so only 512 zeros at a multiple of 512 in the file count. In a record that may not have been durable at an
unclean stop these count, too: a sector of zeros that begins in the text and reaches beyond the record's end; and in a
copied log, whose flush may end within a record, zeros from anywhere in the text to the end of their sector. A slave's
log may also end in the middle of a text: a last record that ends in zeros and is in no queue counts as unfinished.

Where this differs from RocketMQ, on purpose:
- RocketMQ cuts also after a clean stop, accepts a record at any offset, and ignores lost sectors.
- A filler at the end stays part of the log. RocketMQ keeps or drops it depending on whether the next file was created
  ahead. Only its 8 defined bytes are needed: the others are undefined (zeros, here).
- The remaining log is synced, so it may be reported as durable; cut bytes are erased.

A log whose first bytes were replicated into the middle of a file (a master that does not start at a file boundary)
begins with zeros, so it cannot be parsed: after an unclean stop it is cut to its file's start, as in RocketMQ. Source:
CommitLog.recoverNormally and recoverAbnormally, MappedFileQueue.truncateDirtyFiles.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from ..errors import CodecError, StoreRefused
from ..wire.record import (
    BLANK_SIZE,
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_MAGICS,
    Blank,
    Record,
    decode,
    peek,
    text_size,
    why_misplaced,
)
from .files import MappedFiles

FILES_AFTER_CLEAN_STOP = 3
SECTOR = 512
MAX_MISSED = 64 * 1024 * 1024
"""Bytes of record-like garbage after a cut at which counting whole records stops."""
UNTOUCHED = "nothing was changed: restore"
_WINDOW = 64 * 1024
_MAGIC_AT = 4
_IN_NO_QUEUE = 0x4
"""The bit common to the system flags of prepared and rolled back messages."""


class Recovery(NamedTuple):
    kind: str
    """``empty`` (no file), ``normal`` or ``abnormal``."""
    start: int
    end: int
    cut_from: int | None
    """The offset after the last non-zero byte cut; None if only zeros were."""
    why: str
    lost: int = 0
    """Whole records in the cut bytes."""
    unfinished: bool = False

    def describe(self) -> str:
        """The cut, for people; empty if nothing was cut."""
        if self.cut_from is None:
            return ""
        return f"cut {self.cut_from - self.end} bytes at {self.end}, with {counted(self.lost)} in them: {self.why}"


class Hints(NamedTuple):
    copied: bool = False
    durable_ms: int = 0
    """Records stored before this time are durable, by the checkpoint."""
    dispatched: Callable[[], int] = lambda: -1
    """Returns the log offset after the last message in the stored queues, -1 without one. Called only if needed."""


class LogRecovery:
    """One recovery of one loaded log. Its decisions are methods, so that a subclass can replace exactly one."""

    def __init__(self, files: MappedFiles, clean: bool, hints: Hints | None = None) -> None:
        self.files = files
        self.clean = clean
        self.hints = hints or Hints()
        self._window = b""
        self._window_at = 0
        self._doubtful: int | None = None
        """Start of the first record that may not have been durable. Later ones may not either, whatever their time:
        clocks go back.
        """

    def run(self) -> Recovery:
        files = self.files
        if not files.starts:
            if self.clean:
                self.check_whole(0, 0, "")
            return Recovery("empty", 0, 0, None, "")
        first = files.starts[-FILES_AFTER_CLEAN_STOP:][0] if self.clean else files.start
        end, why = self.find_end(first)
        if end == first > files.start:
            # The last files hold nothing whole: parse all files.
            first = files.start
            end, why = self.find_end(first)
        used = files.used_until(end)
        if self.clean:
            self.check_whole(end, used, why)
            files.end = end
            files.sync(first, files.end)
            return Recovery("normal", files.start, files.end, None, "", unfinished=used > end)
        lost = self.count_records(end, used)
        removed = self.cut(end)
        files.sync(first, files.end)
        cut_from = removed if removed > files.end else None
        return Recovery("abnormal", files.start, files.end, cut_from, "" if cut_from is None else why, lost)

    def find_end(self, at: int) -> tuple[int, str]:
        """The offset after the last whole record or filler from ``at`` on, and why nothing whole follows."""
        limit = self.files.limit
        while at < limit:
            step = self.step(at)
            if isinstance(step, str):
                return at, step
            at += step
        return at, ""

    def step(self, at: int) -> int | str:
        """Bytes of the whole record or filler at ``at``, or why there is none."""
        room = self.files.file_size - at % self.files.file_size
        try:
            window, inside = self._load(at, room)
            found = decode(window, inside, origin=at - inside)
        except CodecError as why:
            return str(why)
        if isinstance(found, Blank):
            return room if found.size == room else f"filler at {at} has size {found.size}, but the file ends in {room}"
        if not self.clean and self._doubtful is None and found.store_ms >= self.hints.durable_ms:
            self._doubtful = at
        return why_misplaced(found, at) or self.why_torn(found, at) or found.size

    def why_torn(self, record: Record, at: int) -> str | None:
        """Where a sector is lost in a record's topic or properties; None if none is. See the module."""
        message = record.message
        if b"\0" not in message.properties and "\0" not in message.topic:
            return None
        end, size = at + record.size, self.files.file_size
        text = end - text_size(message)
        suspect = self._doubtful is not None and self._doubtful <= at
        sector = text - text % size % SECTOR
        while sector < end:
            boundary = sector + SECTOR
            begin = min(end, boundary) - 1 if suspect and self.hints.copied else sector
            if begin >= text and (suspect or boundary <= end) and self._is_zero(begin, size):
                return f"record at {at} has a lost sector: zeros from {begin} on"
            sector = boundary
        # A slave's unfinished record may decode, too, and a slave may have become a master since.
        ends_in_zero = message.properties[-1:] == b"\0" and not any(self.files.read(end, BLANK_SIZE))
        if ends_in_zero and (self.clean or suspect) and self._dispatched < end:
            return f"record at {at} ends in zeros, nothing follows, and no queue has it: it is not written whole"
        return None

    def check_whole(self, end: int, used: int, why: str) -> None:
        """StoreRefused if a log lost bytes since its clean stop.

        After its end there may be an unfinished record, or another master's log that no queue has.
        """
        reached = self._dispatched
        if used <= end and reached <= end:
            return
        if used <= end:
            raise StoreRefused(
                f"the log ends at {end}, but the queues hold messages up to {reached}, and it was stopped in an "
                f"orderly way: {UNTOUCHED} the log's missing files (does storePathCommitLog name their folder?), or "
                f"create an empty file named abort in it, to lose these messages as after a crash"
            )
        lost, last = self.count_records(end, used), self._last_record_end(end)
        # A slave without room for its queues stops dispatch before its log's end; its master has those messages. Its
        # queues do not have a partial record either, which may be all that its oldest files left.
        alone = end == self.files.start and reached <= end
        own = reached == last or (self.hints.copied and (reached < last or alone))
        if (lost or not own) and not (0 <= reached <= end and self._stopped_dispatch(reached, used)):
            raise StoreRefused(
                f"the log is not whole, although it was stopped in an orderly way: {why}; a cut at {end} would lose "
                f"{used - end} bytes, with {counted(lost)} in them; {UNTOUCHED} the store from a copy, or create an "
                f"empty file named abort in it, to have it cut there as after a crash"
            )

    def count_records(self, end: int, used: int) -> int:
        return sum(1 for _ in self._whole(end, used))

    def cut(self, end: int) -> int:
        return self.files.truncate(end)

    @cached_property
    def _dispatched(self) -> int:
        return self.hints.dispatched()

    def _stopped_dispatch(self, reached: int, used: int) -> bool:
        """Whether the broker itself could not read on.

        Then its dispatch, which had reached ``reached``, skips records that belong to no queue or do not add up to
        their size, and finds no complete record; and the queues lack whole messages that follow.
        """
        at = max(reached, self.files.start)
        while (room := self.files.file_size - at % self.files.file_size) >= BLANK_SIZE and at < used:
            size, magic = peek(self.files.read(at, BLANK_SIZE), 0)
            is_record = magic in (MAGIC_V1, MAGIC_V2) and FIXED_SIZE <= size <= min(room, used - at)
            if not is_record and magic != MAGIC_BLANK:
                break
            if isinstance(self.step(at), int) and self._is_for_a_queue(at):
                return False
            at += size if is_record else room
        return any(self._is_for_a_queue(whole) for whole, _ in self._whole(at, used))

    def _is_for_a_queue(self, at: int) -> bool:
        window, inside = self._load(at, self.files.file_size - at % self.files.file_size)
        found = decode(window, inside, origin=at - inside)
        return isinstance(found, Record) and not found.message.sys_flag & _IN_NO_QUEUE

    def _whole(self, end: int, used: int) -> Iterator[tuple[int, int]]:
        """(offset, size) of each whole record in [end, used), wherever it begins."""
        at, missed = end, 0
        while missed < MAX_MISSED and (at := self._next_magic(at, used)) >= 0:
            step = self.step(at)
            if isinstance(step, int):
                yield at, step
                at += step
            else:
                at, missed = at + 1, missed + BLANK_SIZE + len(self._window)

    def _last_record_end(self, end: int) -> int:
        at = max(self.files.start, end - end % self.files.file_size - self.files.file_size)
        last = -1
        while at < end:
            step = self.step(at)
            if isinstance(step, str):
                # In a file that was not parsed.
                break
            at += step
            # A record never reaches its file's end; a filler does.
            if at % self.files.file_size:
                last = at
        return last

    def _is_zero(self, at: int, size: int) -> bool:
        inside = at % size
        piece = self.files.read(at, min(SECTOR - inside % SECTOR, size - inside))
        return not any(piece)

    def _next_magic(self, at: int, until: int) -> int:
        """Start of the next possible record from ``at`` on; -1 if none begins before ``until``."""
        while at < until:
            piece = self.files.read(at + _MAGIC_AT, min(_WINDOW, until - at))
            found = min((index for magic in RECORD_MAGICS if (index := piece.find(magic)) >= 0), default=-1)
            if found >= 0:
                return at + found
            file_end = at - at % self.files.file_size + self.files.file_size
            # A magic may span two pieces, but not two files.
            ahead = at + len(piece) - _MAGIC_AT + 1
            at = file_end if ahead + 2 * _MAGIC_AT > file_end else max(ahead, at + 1)
        return -1

    def _load(self, at: int, room: int) -> tuple[bytes, int]:
        """A window with the record at ``at``, as far as its size field is plausible, and its position in the window."""
        inside = at - self._window_at
        if not 0 <= inside <= len(self._window) - BLANK_SIZE:
            inside = self._refill(at, min(_WINDOW, room))
        size, magic = peek(self._window, inside)
        # Eight bytes suffice for a filler; the size field of anything else is not trusted.
        if magic in (MAGIC_V1, MAGIC_V2) and len(self._window) - inside < size <= room:
            inside = self._refill(at, max(size, min(_WINDOW, room)))
        return self._window, inside

    def _refill(self, at: int, size: int) -> int:
        self._window, self._window_at = self.files.read(at, size), at
        return 0


def counted(records: int) -> str:
    """``1 whole record``, ``2 whole records``."""
    return f"{records} whole record{'' if records == 1 else 's'}"
