"""``log-flush-prompt``: data written to a log is durable within flushCommitLogThoroughInterval and
flushIntervalCommitLog, with SYNC_FLUSH immediately (and a poll); from a transient store pool it is committed within
commitCommitLogThoroughInterval and commitIntervalCommitLog.

This bounds the losses of a power failure and of a kill.

Checks:
- With ASYNC_FLUSH data is durable within flushCommitLogThoroughInterval and flushIntervalCommitLog, with SYNC_FLUSH
  immediately. The bound adds flushIntervalCommitLog for each earlier undurable file (a round flushes one file), the
  lab's time per flush, and a poll; in real-time labs also syncFlushTimeout, after which RocketMQ itself considers a
  flush too slow.
- A pool's data is committed at once if it completes its file or commitCommitLogLeastPages. Otherwise the bound is the
  two intervals, and both again for each earlier uncommitted file. The flush may wait as long, and never precedes it.
Abstains when:
- A fault affected the node, for example its disk, when or after the data was written, or the data waited behind such a
  flush.
- The node was paused: this time does not count.
Source: CommitLog.FlushRealTimeService, CommitLog.GroupCommitService, CommitLog.CommitRealTimeService.
"""

from collections import deque
from typing import NamedTuple

from ....event_types.node import Crash, Start, Stop
from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.log import Append, Commit, Cut, Flush
from ...known.deadlines import POLL_NS, is_late
from ...law import Law
from ...settings import COMMIT_INTERVAL, COMMIT_THOROUGH

PAGE = 4_096
COMMITTED, FLUSHED = "committed", "flushed"
THOROUGH, INTERVAL = "flushCommitLogThoroughInterval", "flushIntervalCommitLog"


class Waiting(NamedTuple):
    """Data that is not committed, or not durable."""

    hi: int
    since: int
    """When it was appended, ns."""
    reached: int
    """The committed or durable end at that time."""


class LogFlushPrompt(Law):
    kind = CONVENTION
    needs = frozenset({"config", "append", "flush"})
    timed = True

    def begin(self) -> None:
        self.waiting: dict[tuple[str, str], deque[Waiting]] = {}
        """By node, and committed or flushed."""

    def on_append(self, event: Append) -> None:
        node, logs = event.node, self.known.logs
        waiting = self.waiting.setdefault((node, FLUSHED), deque())
        waiting.append(Waiting(event.hi, event.t, logs.flushed.get(node, event.lo)))
        if node in self.known.stores.pooled and "commit" in self.known.observes:
            waiting = self.waiting.setdefault((node, COMMITTED), deque())
            waiting.append(Waiting(event.hi, event.t, logs.committed.get(node, event.lo)))

    def on_flush(self, event: Flush) -> None:
        readable = self.known.logs.readable(event.node, event.upto)
        if event.upto > readable:
            what = f"{event.node} flushed its log up to {event.upto}, but had committed {readable} only"
            self.violate(event, what, since=None)
        self._reached(event, FLUSHED)

    def on_commit(self, event: Commit) -> None:
        self._reached(event, COMMITTED)

    def _reached(self, event: Flush | Commit, what: str) -> None:
        waiting = self.waiting.get((event.node, what))
        if not waiting or waiting[0].hi > event.upto:
            return
        self.judged += 1
        self._check(event, event.node, what)
        excused = not self.known.disturbances.is_unaffected(event.node, waiting[0].since)
        while waiting and waiting[0].hi <= event.upto:
            waiting.popleft()
        if excused:
            # A fault had delayed them until now.
            for number, each in enumerate(waiting):
                waiting[number] = each._replace(since=max(each.since, event.t))

    def on_start(self, event: Start | Cut) -> None:
        for what in (COMMITTED, FLUSHED):
            self.waiting.pop((event.node, what), None)

    on_cut = on_start

    def on_crash(self, event: Crash | Stop) -> None:
        for what in (COMMITTED, FLUSHED):
            self._check(event, event.node, what)
            self.waiting.pop((event.node, what), None)

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for node, what in self.waiting:
            self._check(last, node, what)

    def _check(self, event: Event, node: str, what: str) -> None:
        waiting, known = self.waiting.get((node, what)), self.known
        if not waiting:
            return
        hi, since, _ = first = waiting[0]
        bound = self._flush_ns(node, first) if what == FLUSHED else self._commit_ns(node, first)
        if is_late(known, node, since, event.t, bound) and known.disturbances.is_unaffected(node, since):
            text = f"{node} has not {what} its log up to {hi} for {(event.t - since) // MS} ms"
            self.violate(event, f"{text}; that is due within {bound // MS} ms", since=since)

    def _flush_ns(self, node: str, first: Waiting) -> int:
        known = self.known
        size, interval = known.setting(node, "mappedFileSizeCommitLog"), known.setting(node, INTERVAL)
        files = first.hi // size - first.reached // size
        within = files * interval
        if known.config.get(node, {}).get("flushDiskType") != "SYNC_FLUSH":
            within += known.setting(node, THOROUGH) + interval
        if known.instant_ns:
            within += known.setting(node, "syncFlushTimeout")
        # One flush may be in progress; one for each file follows.
        return within * MS + (files + 2) * known.flush_ns + POLL_NS + known.pool_ns(node) + known.healthy_ns

    def _commit_ns(self, node: str, first: Waiting) -> int:
        known, (hi, _, committed) = self.known, first
        size, least = known.setting(node, "mappedFileSizeCommitLog"), known.setting(node, "commitCommitLogLeastPages")
        files, begin = (hi - 1) // size - committed // size, committed - committed % size
        is_full = hi == begin + size or not least
        slack = known.healthy_ns + (POLL_NS if known.instant_ns else 0)
        if not files and (is_full or (hi - begin) // PAGE - (committed - begin) // PAGE >= least):
            return slack
        return (files + 1) * (known.setting(node, COMMIT_INTERVAL) + known.setting(node, COMMIT_THOROUGH)) * MS + slack
