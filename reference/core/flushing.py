"""When a broker's log becomes durable: FlushRealTimeService and GroupCommitService of RocketMQ, sans-IO.

ASYNC_FLUSH follows :mod:`pairproof.reference.core.flush_schedule`: by default four pages, or everything each ten
seconds. SYNC_FLUSH flushes at once, one flush at a time; a waiting send is answered when a flush covers it or its
deadline passes.

If only flushed bytes are pushed (``haPushes``), every wake-up flushes everything: otherwise slaves would lag ten
seconds. RocketMQ has no such mode.
"""

from collections import deque
from collections.abc import Callable

from ..ports import MS, Effects, Watcher
from .commit_log import CommitLog
from .config import BrokerConfig
from .flush_schedule import FlushSchedule, Look, flush_to

MAX_WAITING_SENDS = 10_000


class Flusher:
    def __init__(self, config: BrokerConfig, log: CommitLog, io: Effects, watcher: Watcher) -> None:
        self.log = log
        self.io = io
        self.watcher = watcher
        self.sync = config.flushDiskType == "SYNC_FLUSH"
        thorough_ns = config.flushCommitLogThoroughInterval * MS
        self.schedule = FlushSchedule(
            config.flushIntervalCommitLog * MS,
            config.flushCommitLogLeastPages,
            0 if config.haPushes == "flushed" else thorough_ns,
            io.now(),
        )
        self.takes_all = config.haPushes == "flushed"
        self.timeout_ns = config.syncFlushTimeout * MS
        self.waiting: deque[tuple[int, int, Callable[[str], None]]] = deque()
        self.running = False
        self.on_put = config.version.flushes_on_put and not config.is_slave
        self.look: Look | None = None
        self.urged = 0

    def start(self) -> None:
        self.schedule.began = self.io.now()

    def urge(self) -> None:
        """Flush everything written at once, whatever the flush type."""
        self.urged = self.log.end
        self._flush(self.urged)

    def grown(self) -> None:
        if self.sync:
            self._flush(self.log.end)
        elif self.log.flushed < self.log.end:
            if self.on_put:
                self._flush(self._flushes(self.schedule.least_pages))
            self._await_look()

    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        """Call ``answer`` once: with PUT_OK when [.., end) is durable, or with FLUSH_DISK_TIMEOUT."""
        if len(self.waiting) >= MAX_WAITING_SENDS:
            answer("FLUSH_DISK_TIMEOUT")
            return
        deadline = self.io.now() + self.timeout_ns
        if not self.waiting:
            self.io.timer(("flush-timeout", None), deadline)
        self.waiting.append((end, deadline, answer))

    def on_timer(self, what: str) -> None:
        if what == "flush":
            self._look()
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
            self._flush(self.log.end)
        elif self.log.end > upto:
            self.grown()

    def _look(self) -> None:
        log, look = self.log, self.look
        self.look = None
        least = look.least_pages if look is not None else 0
        self._flush(log.end if self.takes_all else self._flushes(least))
        if not self.running and log.flushed < log.end:
            # An urged flush has covered this wake-up's pages already; later pages wait.
            self._await_look()

    def _await_look(self) -> None:
        look = self.schedule.next_ripe(self.io.now(), self._flushes(self.schedule.least_pages) is not None)
        if self.look is None or look.at < self.look.at:
            self.look = look
            self.io.timer(("flush", None), look.at)

    def _flushes(self, least_pages: int) -> int | None:
        return flush_to(self.log.flushed, self.log.end, self.log.file_size, least_pages)

    def _flush(self, upto: int | None) -> None:
        if self.running or upto is None or self.log.flushed >= upto:
            return
        self.running = True
        self.io.flush(self.log.flush_due(upto), upto)
