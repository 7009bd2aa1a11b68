"""``log-flush-prompt``: data written to a log is durable within flushCommitLogThoroughInterval and
flushIntervalCommitLog, with SYNC_FLUSH immediately (and a poll).

This bounds the loss of a power failure.

Checks:
- With ASYNC_FLUSH data is durable within flushCommitLogThoroughInterval and flushIntervalCommitLog, with SYNC_FLUSH
  immediately. The bound adds flushIntervalCommitLog for each earlier undurable file (a round flushes one file), the
  lab's time per flush, and a poll; in real-time labs also syncFlushTimeout, after which RocketMQ itself considers a
  flush too slow.
Abstains when:
- A fault affected the node, for example its disk, when or after the data was written, or the data waited behind such a
  flush.
- The node was paused: this time does not count.
Source: CommitLog.FlushRealTimeService, CommitLog.GroupCommitService.
"""

from collections import deque

from ....event_types.node import Crash, Start, Stop
from ....history import MS, Event
from ....judging.law import CONVENTION
from ...event_types.log import Append, Cut, Flush
from ...known.deadlines import POLL_NS, is_late
from ...law import Law

THOROUGH, INTERVAL = "flushCommitLogThoroughInterval", "flushIntervalCommitLog"


class LogFlushPrompt(Law):
    kind = CONVENTION
    needs = frozenset({"config", "append", "flush"})
    timed = True

    def begin(self) -> None:
        self.waiting: dict[str, deque[tuple[int, int, int]]] = {}
        """By node, for undurable data: its end, the time of its append (ns), and the durable end at that time."""

    def on_append(self, event: Append) -> None:
        waiting = self.waiting.setdefault(event.node, deque())
        waiting.append((event.hi, event.t, self.known.logs.flushed.get(event.node, event.lo)))

    def on_flush(self, event: Flush) -> None:
        waiting = self.waiting.get(event.node)
        if not waiting or waiting[0][0] > event.upto:
            return
        self.judged += 1
        self._check(event, event.node)
        excused = not self.known.disturbances.is_unaffected(event.node, waiting[0][1])
        while waiting and waiting[0][0] <= event.upto:
            waiting.popleft()
        if excused:
            # A fault had delayed the flushes until now.
            for number, (hi, since, flushed) in enumerate(waiting):
                waiting[number] = hi, max(since, event.t), flushed

    def on_start(self, event: Start | Cut) -> None:
        self.waiting.pop(event.node, None)

    on_cut = on_start

    def on_crash(self, event: Crash | Stop) -> None:
        self._check(event, event.node)
        self.waiting.pop(event.node, None)

    on_stop = on_crash

    def end(self, last: Event) -> None:
        for node in self.waiting:
            self._check(last, node)

    def _check(self, event: Event, node: str) -> None:
        waiting, known = self.waiting.get(node), self.known
        if not waiting:
            return
        hi, since, flushed = waiting[0]
        size, interval = known.setting(node, "mappedFileSizeCommitLog"), known.setting(node, INTERVAL)
        files = hi // size - flushed // size
        within = files * interval
        if known.config.get(node, {}).get("flushDiskType") != "SYNC_FLUSH":
            within += known.setting(node, THOROUGH) + interval
        if known.instant_ns:
            within += known.setting(node, "syncFlushTimeout")
        # One flush may be in progress; one for each file follows.
        bound = within * MS + (files + 2) * known.flush_ns + POLL_NS + known.healthy_ns
        if is_late(known, node, since, event.t, bound) and known.disturbances.is_unaffected(node, since):
            what = f"{node} has not flushed its log up to {hi} for {(event.t - since) // MS} ms"
            self.violate(event, f"{what}; that is due within {bound // MS} ms", since=since)
