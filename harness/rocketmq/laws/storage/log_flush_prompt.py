"""``log-flush-prompt``: what a node writes to its log becomes durable in time, whether anybody waits for it or not.

With ASYNC_FLUSH within flushCommitLogThoroughInterval and flushIntervalCommitLog, however little has gathered; with
SYNC_FLUSH at once. A look flushes one file: another flushIntervalCommitLog for each file before it that was not durable
either, the time that the lab's disk takes for each flush, and a poll come on top. It is the bound of what a power loss
may take. Where time is real a disk may take its own, up to syncFlushTimeout, after which RocketMQ itself calls a flush
too slow.

Left out: what was written before or while a fault had hold of the node, as of its disk, and what waits behind the flush
of that; time for which it was paused.
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
    id = "log-flush-prompt"
    kind = CONVENTION
    promise = (
        "What is written to a log is durable within flushCommitLogThoroughInterval and flushIntervalCommitLog, with "
        "SYNC_FLUSH at once (and a poll)."
    )
    source = "CommitLog.FlushRealTimeService, GroupCommitService"
    needs = frozenset({"config", "append", "flush"})
    timed = True

    def begin(self) -> None:
        self.waiting: dict[str, deque[tuple[int, int, int]]] = {}
        """By node: where what is not durable yet ends, when it was written, ns, and what was durable then."""

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
            # Until now the disk was busy with what a fault had held up.
            for place, (hi, since, flushed) in enumerate(waiting):
                waiting[place] = hi, max(since, event.t), flushed

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
        """Judge what has waited longest."""
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
        # One flush may be under way; then comes one for each file.
        bound = within * MS + (files + 2) * known.flush_ns + POLL_NS + known.healthy_ns
        if is_late(known, node, since, event.t, bound) and known.disturbances.is_unaffected(node, since):
            what = f"{node} has not flushed its log up to {hi} for {(event.t - since) // MS} ms"
            self.violate(event, f"{what}; that is due within {bound // MS} ms", since=since)
