"""When a broker's log becomes durable: FlushRealTimeService and GroupCommitService of RocketMQ, sans-IO.

ASYNC_FLUSH flushes an interval after the log became dirty; SYNC_FLUSH flushes at once, one flush at a time, and a send
that waits is answered when a flush covers it or its deadline passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.ports import Effects, Watcher

MS = 1_000_000
MAX_WAITING_SENDS = 10_000


class Flusher:
    """Flushes one log by its configured type."""

    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.io = io
        self.watcher = watcher
        self.sync = config.flushDiskType == "SYNC_FLUSH"
        self.interval_ns = config.flushIntervalCommitLog * MS
        self.timeout_ns = config.syncFlushTimeout * MS
        self.waiting: deque[tuple[int, int, Callable[[str], None]]] = deque()
        self.running = False
        self.armed = False
        self.urged = 0

    def urge(self) -> None:
        """Somebody waits for what is written: flush it at once, whatever the flush type."""
        self.urged = self.log.end
        self._flush()

    def grown(self) -> None:
        """The log has new bytes."""
        if self.sync:
            self._flush()
        elif not self.armed:
            self.armed = True
            self.io.timer(("flush", None), self.io.now() + self.interval_ns)

    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        """``answer`` is called once, with PUT_OK when [.., end) is durable, or FLUSH_DISK_TIMEOUT."""
        if len(self.waiting) >= MAX_WAITING_SENDS:
            answer("FLUSH_DISK_TIMEOUT")
            return
        deadline = self.io.now() + self.timeout_ns
        if not self.waiting:
            self.io.timer(("flush-timeout", None), deadline)
        self.waiting.append((end, deadline, answer))

    def on_timer(self, what: str) -> None:
        """The flush interval is over, or a waiting send's deadline passed."""
        if what == "flush":
            self.armed = False
            self._flush()
            return
        now = self.io.now()
        while self.waiting and self.waiting[0][1] <= now:
            self.waiting.popleft()[2]("FLUSH_DISK_TIMEOUT")
        if self.waiting:
            self.io.timer(("flush-timeout", None), self.waiting[0][1])

    def on_flushed(self, upto: int) -> None:
        """A flush ended: everything below ``upto`` is durable."""
        self.running = False
        self.log.mark_flushed(upto)
        self.watcher.flushed(upto)
        while self.waiting and self.waiting[0][0] <= upto:
            self.waiting.popleft()[2]("PUT_OK")
        if self.urged > upto:
            self._flush()
        elif self.log.end > upto:
            self.grown()

    def _flush(self) -> None:
        if self.running or self.log.flushed >= self.log.end:
            return
        self.running = True
        self.io.flush(self.log.flush_due(), self.log.end)
