"""Whether what a slave is sent fits the files of its own log: ``mappedFileSizeCommitLog`` must be the master's.

Nothing on the wire names that size. But a copy begins at a border of the master's files, no record crosses one, and a
filler ends at one. A slave whose own files end elsewhere cannot read its log back, and a master that hears its reports
takes it for a second copy. So each record's and filler's first eight bytes are looked at before they are stored.

Where the bytes are no record's beginning, as behind the end of a history that is not the master's, nothing is said:
nobody knows the borders there any more. Source: CommitLog.doAppend, HAConnection (where a copy begins),
MappedFileQueue.rollNextFile.
"""

from ..wire.record import BLANK_SIZE, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, peek
from .commit_log import CommitLog

SETTING = "mappedFileSizeCommitLog"


class Boundaries:
    """Follows the borders of records in one slave's log while that grows. ``misfit``: why the log cannot; final."""

    def __init__(self, log: CommitLog) -> None:
        self.log = log
        self.misfit: str | None = None
        self._next: int | None = None
        """Where the next record or filler begins; None where that is not known."""
        self._reached: int | None = None
        self._known = False

    def fits(self, offset: int, body: bytes) -> bool:
        """Whether ``body``, which continues the log at ``offset``, may be stored there."""
        if not self._known or self.log.end == 0:
            # Recovery has ended the log behind a whole record; an empty one begins as a file of the master does.
            self._known, self._next = True, offset
            if self.log.end == 0 and offset % self.log.file_size:
                self._refuse(f"a file of the master begins at {offset}")
        end = offset + len(body)
        following = self._next
        while following is not None and following + BLANK_SIZE <= end and self.misfit is None:
            following = self._after(following, offset, body)
        self._reached = following
        return self.misfit is None

    def stored(self) -> None:
        """What was asked for last is in the log now."""
        self._next = self._reached

    def _after(self, at: int, offset: int, body: bytes) -> int | None:
        """Where the record or filler ends that begins at ``at``."""
        head = body[at - offset : at - offset + BLANK_SIZE] if at >= offset else self._begun(at, offset, body)
        length, magic = peek(head)
        room = self.log.file_size - at % self.log.file_size
        if magic == MAGIC_BLANK:
            if length != room:
                self._refuse(f"a file of the master ends at {at + length}")
        elif magic not in (MAGIC_V1, MAGIC_V2):
            return None
        elif length + BLANK_SIZE > room:
            # A master leaves room for a filler.
            self._refuse(f"the master has a record [{at}, {at + length}), across {at + room}")
        return at + length if length >= BLANK_SIZE else None

    def _begun(self, at: int, offset: int, body: bytes) -> bytes:
        """The first bytes of what the log already holds a part of; bytes that nothing means where it is not so."""
        held = self.log.read(at, offset - at)
        return held + body[: BLANK_SIZE - len(held)] if len(held) == offset - at else bytes(BLANK_SIZE)

    def _refuse(self, why: str) -> None:
        self.misfit = f"{SETTING} is {self.log.file_size} here, and another one at the master: {why}"
