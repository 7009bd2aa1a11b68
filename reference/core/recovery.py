"""Where a commit log ends after a start: the last whole record or filler, and nothing behind it.

After a clean stop parsing begins at the third last file, otherwise at the first: there is no checkpoint yet that would
let an abnormal start skip files. A record is whole if it decodes (magic, sizes, CRC) and lies where it says it does, a
filler if it reaches exactly to its file's end. Parsing goes on in the next file after a filler, and stops for good at
anything else: everything behind is cut, zeroed and made durable.

Where this differs from RocketMQ, on purpose:
- A record must carry its own position and no NUL in topic or properties; RocketMQ compares neither.
- A filler that nothing follows stays part of the log. RocketMQ keeps or drops it depending on whether the next file had
  been created ahead. Only its 8 defined bytes are needed: the others are undefined (zeros, here).
- What is kept is synced, so it may be reported as durable; what is cut is erased.

A log whose first bytes were replicated into the middle of a file (a master that does not start at a file border) begins
with zeros there, so nothing in it can be parsed: it is cut to its file's start. RocketMQ does the same.
Source: CommitLog.recoverNormally and recoverAbnormally, MappedFileQueue.truncateDirtyFiles.
"""

from __future__ import annotations

from typing import NamedTuple

from pairproof.reference.core.files import MappedFiles
from pairproof.reference.errors import CodecError
from pairproof.reference.wire.record import BLANK_SIZE, Blank, decode, peek, why_misplaced

FILES_AFTER_CLEAN_STOP = 3
_WINDOW = 64 * 1024


class Recovery(NamedTuple):
    """How a log was recovered."""

    kind: str
    """``empty`` (no file), ``normal`` or ``abnormal``."""
    start: int
    end: int
    cut_from: int | None
    """The offset behind the last non-zero byte that was cut; None if nothing but zeros was."""
    why: str
    """Why the log ends at ``end`` instead of ``cut_from``; empty if nothing was cut."""


class LogRecovery:
    """One recovery of one loaded log. Its decisions are methods, so that another version can replace exactly one."""

    def __init__(self, files: MappedFiles, clean: bool) -> None:
        self.files = files
        self.clean = clean
        self._window = b""
        self._window_at = 0

    def run(self) -> Recovery:
        """Parse, cut, make durable, and say what was done."""
        files = self.files
        if not files.starts:
            return Recovery("empty", 0, 0, None, "")
        first = self.first_file()
        end, why = self.find_end(first)
        removed = self.cut(end)
        files.sync(first, files.end)
        kind = "normal" if self.clean else "abnormal"
        cut_from = removed if removed > files.end else None
        return Recovery(kind, files.start, files.end, cut_from, "" if cut_from is None else why)

    def first_file(self) -> int:
        """Start offset of the file where parsing begins."""
        starts = self.files.starts
        return starts[-FILES_AFTER_CLEAN_STOP:][0] if self.clean else starts[0]

    def find_end(self, at: int) -> tuple[int, str]:
        """The offset behind the last whole record or filler from ``at`` on, and why nothing whole follows."""
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
        return why_misplaced(found, at) or found.size

    def cut(self, end: int) -> int:
        """End the log at ``end``; the offset behind the last non-zero byte that this removed."""
        return self.files.truncate(end)

    def _load(self, at: int, room: int) -> tuple[bytes, int]:
        """A piece of the file that holds what begins at ``at`` as far as its size says, and where it begins there."""
        inside = at - self._window_at
        if not 0 <= inside <= len(self._window) - BLANK_SIZE:
            inside = self._refill(at, min(_WINDOW, room))
        size, _ = peek(self._window, inside)
        if len(self._window) - inside < size <= room:
            inside = self._refill(at, max(size, min(_WINDOW, room)))
        return self._window, inside

    def _refill(self, at: int, size: int) -> int:
        self._window, self._window_at = self.files.read(at, size), at
        return 0
