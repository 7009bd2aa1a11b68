"""A running broker's messages on stderr: few lines, which never block its work.

At most :data:`LINES_A_SECOND`; the next line counts the omitted ones. If the reader of stderr does not read, a line
that does not fit is omitted, too.
"""

import os
import select
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from ..ports import Conn, Watcher

LINES_A_SECOND = 20
MAX_LINE = 1_000


class Log:
    def __init__(self, fd: int = 2, clock: Callable[[], float] = time.monotonic) -> None:
        self.fd = fd
        self.clock = clock
        self.second = -1
        self.written = 0
        self.left_out = 0

    def say(self, text: str) -> None:
        second = int(self.clock())
        if second != self.second:
            self.second, self.written = second, 0
        if self.written >= LINES_A_SECOND or not self._takes():
            self.left_out += 1
            return
        self.written += 1
        missing = f" ({self.left_out} lines omitted before this)" if self.left_out else ""
        line = " ".join(text.split())[:MAX_LINE]
        try:
            os.write(self.fd, f"{datetime.now():%F %T} {line}{missing}\n".encode("utf-8", "backslashreplace"))
        except OSError:
            # The reader is gone.
            self.left_out += 1
            return
        self.left_out = 0

    def _takes(self) -> bool:
        try:
            return bool(select.select([], [self.fd], [], 0)[1])
        except (OSError, ValueError):
            return False


UNSYNCED = {"failed": "cannot be fetched from the master", "unread": "of the master cannot be read"}


class LogWatcher(Watcher):
    """Logs changes inside a broker that an operator needs: not repetitions, puts, flushes, dispatches and saves.

    ``name_servers``: the number of its name servers.
    """

    def __init__(self, log: Log, name_servers: int = 1) -> None:
        self.log = log
        self.name_servers = name_servers
        self._synced: dict[str, str] = {}
        self._master: str | None = None
        # Consecutive answers; a name server that is down among several is logged once.
        self._answers = name_servers

    def synced(self, table: str, status: str) -> None:
        """Log a change between synced and not synced."""
        text = UNSYNCED.get(status, "are those of the master")
        if status == "asked" or self._synced.get(table) == text:
            return
        self._synced[table] = text
        self.log.say(f"metadata: {table} {text}")

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        """Log a name server that stops answering, the recovery of all, and a change of the master."""
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
