"""Checks that replicated bytes fit the slave's files: ``mappedFileSizeCommitLog`` must equal the master's.

The HA protocol does not carry that size. But a copy begins at a boundary of the master's files, no record crosses one,
and a filler ends at one. With another size a slave cannot read its log back, and the master takes it for a second copy.
So the first eight bytes of each record and filler are checked before they are stored.

Bytes that begin no record are not checked: after a diverged history the boundaries are unknown. Source:
CommitLog.doAppend, HAConnection (start of a copy), MappedFileQueue.rollNextFile.
"""

from ..wire.record import BLANK_SIZE, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, peek
from .commit_log import CommitLog

SETTING = "mappedFileSizeCommitLog"


class Boundaries:
    """Tracks the record boundaries in a slave's growing log. ``misfit``: why the log cannot grow; final."""

    def __init__(self, log: CommitLog) -> None:
        self.log = log
        self.misfit: str | None = None
        self._next: int | None = None
        """Start of the next record or filler; None if unknown."""
        self._reached: int | None = None
        self._known = False

    def fits(self, offset: int, body: bytes) -> bool:
        if not self._known or self.log.end == 0:
            # Recovery ends the log after a whole record; an empty log begins at a file of the master.
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
        """Record that the bytes of the last :meth:`fits` are in the log."""
        self._next = self._reached

    def _after(self, at: int, offset: int, body: bytes) -> int | None:
        head = body[at - offset : at - offset + BLANK_SIZE] if at >= offset else self._begun(at, offset, body)
        length, magic = peek(head)
        room = self.log.file_size - at % self.log.file_size
        if magic == MAGIC_BLANK:
            if length != room:
                self._refuse(f"a file of the master ends at {at + length}")
        elif magic not in (MAGIC_V1, MAGIC_V2):
            return None
        elif length + BLANK_SIZE > room:
            self._refuse(f"the master has a record [{at}, {at + length}), across {at + room}")
        return at + length if length >= BLANK_SIZE else None

    def _begun(self, at: int, offset: int, body: bytes) -> bytes:
        """The first bytes of an entry that the log holds in part; zeros if the log lacks them."""
        held = self.log.read(at, offset - at)
        return held + body[: BLANK_SIZE - len(held)] if len(held) == offset - at else bytes(BLANK_SIZE)

    def _refuse(self, why: str) -> None:
        self.misfit = f"{SETTING} is {self.log.file_size} here, but differs at the master: {why}"
