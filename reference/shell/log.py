"""What a running broker says on stderr: few lines, and never at the price of its work.

At most :data:`LINES_A_SECOND`; the next line says how many were left out. A reader of stderr that does not read stops
nothing: a line that does not fit is left out, too.
"""

import os
import select
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from ..ports import Conn

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


UNSYNCED = {"failed": "cannot be fetched from the master", "unread": "of the master cannot be read"}
"""What is said of a table that is not taken over."""


class LogWatcher:
    """Says what an operator should know of what happens inside a broker: changes, not what comes round again.

    ``name_servers``: how many it registers at.
    """

    def __init__(self, log: Log, name_servers: int = 1) -> None:
        self.log = log
        self.name_servers = name_servers
        self._synced: dict[str, str] = {}
        self._master: str | None = None
        # In a row; one that is away among several is told of once.
        self._answers = name_servers

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """Not worth a line."""

    def flushed(self, upto: int) -> None:
        """Not worth a line."""

    def dispatched(self, upto: int) -> None:
        """Not worth a line."""

    def persisted(self, table: str) -> None:
        """Not worth a line."""

    def synced(self, table: str, status: str) -> None:
        """A table of the master could be taken over and before it could not, or the other way round."""
        said = UNSYNCED.get(status, "are those of the master")
        if status == "asked" or self._synced.get(table) == said:
            return
        self._synced[table] = said
        self.log.say(f"metadata: {table} {said}")

    def registered(self, answer: Mapping[str, str] | None) -> None:
        """A name server does not answer, or all do again; or they say that the master is another one."""
        if answer is None:
            if self._answers >= self.name_servers:
                self.log.say("registration: a name server does not answer")
            self._answers = 0
            return
        self._answers += 1
        master = answer.get("masterAddr", "")
        if self._answers == self.name_servers or master != self._master:
            self.log.say(f"registration: done{f', the master is {master}' if master else ''}")
        self._master = master

    def expired(self, lo: int) -> None:
        self.log.say(f"retention: the log starts at {lo} now")

    def misfits(self, why: str) -> None:
        self.log.say(
            f"replication has stopped: {why}; set it to the master's value and start with an empty store to go on"
        )

    def refused(self, conn: Conn, reported: int, end: int, why: str) -> None:
        self.log.say(f"refused {conn}: it reports {reported}, the log ends at {end}: {why}")
