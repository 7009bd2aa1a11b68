"""What a running broker says on stderr: few lines, and never at the price of its work.

At most :data:`LINES_A_SECOND`; the next line says how many were left out. A reader of stderr that does not read stops
nothing: a line that does not fit is left out, too.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from datetime import datetime

from pairproof.reference.ports import Conn

LINES_A_SECOND = 20
MAX_LINE = 1_000


class Log:
    """Writes lines to one file descriptor."""

    def __init__(self, fd: int = 2, clock: Callable[[], float] = time.monotonic) -> None:
        self.fd = fd
        self.clock = clock
        self.second = -1
        self.said = 0
        self.left_out = 0

    def say(self, text: str) -> None:
        """Write one line with the time, or count it as left out."""
        second = int(self.clock())
        if second != self.second:
            self.second, self.said = second, 0
        if self.said >= LINES_A_SECOND or not self._takes():
            self.left_out += 1
            return
        self.said += 1
        missing = f" ({self.left_out} lines left out before this)" if self.left_out else ""
        line = " ".join(text.split())[:MAX_LINE]
        try:
            os.write(self.fd, f"{datetime.now():%F %T} {line}{missing}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            # Nobody can be told.
            self.left_out += 1
            return
        self.left_out = 0

    def _takes(self) -> bool:
        try:
            return bool(select.select([], [self.fd], [], 0)[1])
        except (OSError, ValueError):
            return False


class LogWatcher:
    """Says what an operator should know of what happens inside a broker."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """Not worth a line."""

    def flushed(self, upto: int) -> None:
        """Not worth a line."""

    def expired(self, lo: int) -> None:
        """The oldest files are gone."""
        self.log.say(f"retention: the log starts at {lo} now")

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        """A slave is not served."""
        self.log.say(f"refused {conn}: it reports {reported}, the log ends at {end}: {why}")
