"""When bytes of the transient store pool are committed to the page cache: CommitRealTimeService, sans-IO.

The service wakes up at each put, and commitIntervalCommitLog after its last wake-up. It commits the bytes of one file,
if these fill the file or commitCommitLogLeastPages. A thorough wake-up needs no least number: the first one after
commitCommitLogThoroughInterval without a commit or a thorough one. Idle wake-ups are computed, not executed.
"""

from ..ports import MS, Effects, Watcher
from .commit_log import CommitLog
from .config import BrokerConfig

COMMIT = ("commit", None)


class Committer:
    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.io = io
        self.watcher = watcher
        self.least_pages = config.commitCommitLogLeastPages
        self.interval_ns = config.commitIntervalCommitLog * MS
        self.thorough_ns = config.commitCommitLogThoroughInterval * MS
        self.woke = self.thorough = io.now()
        """The last wake-up, and the last one that committed or was thorough."""
        self.committed = 0

    def start(self) -> None:
        self.woke = self.thorough = self.io.now()
        self.committed = self.log.end

    def wake(self) -> None:
        """A put or the timer wakes the service."""
        if not self.log.has_pool:
            return
        if self.log.written > self.log.end:
            self._commit(self.io.now())
        self._note()

    def finish(self) -> None:
        """Commit everything, as before an orderly stop."""
        while self.log.commit(0):
            self._note()

    def _commit(self, now: int) -> None:
        idle = (now - self.woke - 1) // self.interval_ns
        each = max(1, -(-self.thorough_ns // self.interval_ns))
        if idle >= each:
            self.thorough = max(self.thorough, self.woke + idle // each * each * self.interval_ns)
        self.woke = now
        is_thorough = now >= self.thorough + self.thorough_ns
        if self.log.commit(0 if is_thorough else self.least_pages) or is_thorough:
            self.thorough = now
        if self.log.written > self.log.end:
            self.io.timer(COMMIT, now + self.interval_ns)

    def _note(self) -> None:
        if self.log.end > self.committed:
            self.committed = self.log.end
            self.watcher.committed(self.committed)
