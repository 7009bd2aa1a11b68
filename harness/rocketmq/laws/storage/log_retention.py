"""``log-retention``: a file of a log is deleted when all that is in it is older than fileReservedTime, never before,
and not in the first minute of its broker's life, nor twice within cleanResourceInterval.

What counts is the age by the node's own clock of the youngest record in the files that go: since it was written there,
or since the master stored it or the message behind, whichever is longer ago. An operator who puts a clock ahead, or
back and then right again, makes everything older. When a broker looks is not judged in labs with real time, which hear
of a start when that is over.

Left out: files that somebody has deleted on demand; whether old ones go at all, and how soon; the hours of deleteWhen,
since a history does not know which hour it is. Source: DefaultMessageStore.addScheduleTask, CleanCommitLogService,
MappedFileQueue.deleteExpiredFileByTime.
"""

from __future__ import annotations

from ....event_types.machine import Fault, Lab
from ....history import MS
from ....judging.law import DURABILITY, EVERY, EventFilter, only
from ...event_types.log import Expire
from ...law import Law

HOUR_MS = 3_600_000
FIRST_MS = 60_000
"""From a start to the first look."""
ON_DEMAND, DEMANDED_NS = "retention", 30_000 * MS
"""The fault that deletes files, and how long after it a deletion may still come of it, where time is real."""


class LogRetention(Law):
    id = "log-retention"
    kind = DURABILITY
    promise = "No file of a log is deleted by itself that has a message younger than fileReservedTime."
    source = "CleanCommitLogService, MappedFileQueue.deleteExpiredFileByTime"
    needs = frozenset({"config", "append", "expire"})
    awaits = {"expire": EVERY, "fault": EventFilter(frozenset({ON_DEMAND}))}

    def begin(self) -> None:
        self.demanded: dict[str, int] = {}
        """When files were last deleted on demand, ns."""
        self.looked: dict[str, int] = {}
        """When a broker may have looked last, ns."""
        self.exact = True

    def on_lab(self, event: Lab) -> None:
        self.exact = not event.in_real_time

    @only(ON_DEMAND)
    def on_fault(self, event: Fault) -> None:
        if event.node is not None:
            self.demanded[event.node] = event.t

    def on_expire(self, event: Expire) -> None:
        node, known, now = event.node, self.known, self.known.wall_ms(event)
        gone = [each for each in known.logs.held.get(node, ()) if each.lo < event.new_start]
        demanded = self.demanded.get(node)
        if not gone or (demanded is not None and event.t - demanded <= DEMANDED_NS):
            return
        self.judged += 1
        self._judge_time(event)
        kept_ms = known.setting(node, "fileReservedTime") * HOUR_MS
        stored = {each.lo: known.wall_ms(each) for each in known.logs.puts if each.lo <= event.new_start}
        # A slave may go by the time at which its master stored a message.
        age = min(max(now - known.wall_ms(each), now - stored.get(each.lo, now)) for each in gone)
        # Who knows no times of files goes by the message behind them, which was stored before if a clock was put back.
        age = max(age, now - stored.get(event.new_start, now))
        if age < kept_ms:
            what = f"{node} deletes what lies before {event.new_start}, of which a part is {age} ms old"
            self.violate(event, f"{what}; fileReservedTime is {kept_ms} ms", since=None)

    def _judge_time(self, event: Expire) -> None:
        known, node = self.known, event.node
        due = max(self.looked.get(node, 0), known.nodes.last_start(node) + FIRST_MS * MS)
        if self.exact and event.t < due:
            self.violate(event, f"{node} looks for old files {(due - event.t) // MS} ms too early", since=None)
        self.looked[node] = event.t + known.setting(node, "cleanResourceInterval") * MS
