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

from typing import NamedTuple

from ....history import MS
from ....judging.law import DURABILITY, only
from ....kinds.machine import Clock, Fault, Lab
from ....kinds.node import Start, Wipe
from ...kinds.log import Append, Cut, Expire
from ...law import Law
from ...places import MASTER

HOUR_MS = 3_600_000
FIRST_MS = 60_000
"""From a start to the first look."""
ON_DEMAND, DEMANDED_NS = "retention", 30_000 * MS
"""The fault that deletes files, and how long after it a deletion may still come of it, where time is real."""


class Written(NamedTuple):
    """What was written to a log at once: where it begins, and when, ms by the node's clock."""

    lo: int
    at_ms: int


class LogRetention(Law):
    id = "log-retention"
    kind = DURABILITY
    promise = "No file of a log is deleted by itself that has a message younger than fileReservedTime."
    source = "CleanCommitLogService, MappedFileQueue.deleteExpiredFileByTime"
    needs = frozenset({"config", "append", "expire"})

    def begin(self) -> None:
        self.ahead: dict[str, int] = {}
        """By node: how far its clock is ahead, ms."""
        self.written: dict[str, list[Written]] = {}
        """By node, in the order of time; bounded by the trial's appends."""
        self.stored: dict[int, int] = {}
        """By where a message begins: when the master stored it, ms by its clock."""
        self.demanded: dict[str, int] = {}
        """When files were last deleted on demand, ns."""

        self.looked: dict[str, int] = {}
        """When a broker may have looked last, or a minute was over since its start, ns."""
        self.exact = True

    def on_lab(self, event: Lab) -> None:
        self.exact = not event.in_real_time

    def on_start(self, event: Start) -> None:
        self.looked[event.node] = event.t + FIRST_MS * MS

    def on_clock(self, event: Clock) -> None:
        self.ahead[event.node] = event.ahead_ms

    @only(ON_DEMAND)
    def on_fault(self, event: Fault) -> None:
        if event.node is not None:
            self.demanded[event.node] = event.t

    def on_append(self, event: Append) -> None:
        at_ms = self._wall_ms(event.node, event.t)
        self.written.setdefault(event.node, []).append(Written(event.lo, at_ms))
        if event.node == MASTER:
            self.stored[event.lo] = at_ms

    def on_cut(self, event: Cut) -> None:
        self.written[event.node] = [each for each in self.written.get(event.node, ()) if each.lo < event.new_end]

    def on_wipe(self, event: Wipe) -> None:
        self.written.pop(event.node, None)

    def on_expire(self, event: Expire) -> None:
        node, now = event.node, self._wall_ms(event.node, event.t)
        found = self.written.get(node, [])
        gone = [each for each in found if each.lo < event.new_start]
        self.written[node] = [each for each in found if each.lo >= event.new_start]
        demanded = self.demanded.get(node)
        if not gone or (demanded is not None and event.t - demanded <= DEMANDED_NS):
            return
        self.judged += 1
        self._judge_time(event)
        kept_ms = self.known.setting(node, "fileReservedTime") * HOUR_MS
        # A slave may go by the time at which its master stored a message.
        age = min(now - min(each.at_ms, self.stored.get(each.lo, each.at_ms)) for each in gone)
        # Who knows no times of files goes by the message behind them, which was stored before if a clock was put back.
        age = max(age, now - self.stored.get(event.new_start, now))
        if age < kept_ms:
            what = f"{node} deletes what lies before {event.new_start}, of which a part is {age} ms old"
            self.violate(event, f"{what}; fileReservedTime is {kept_ms} ms", since=None)

    def _judge_time(self, event: Expire) -> None:
        due = self.looked.get(event.node, 0)
        if self.exact and event.t < due:
            self.violate(event, f"{event.node} looks for old files {(due - event.t) // MS} ms too early", since=None)
        self.looked[event.node] = event.t + self.known.setting(event.node, "cleanResourceInterval") * MS

    def _wall_ms(self, node: str, t: int) -> int:
        """What the node's clock says, from when the history begins."""
        return t // MS + self.ahead.get(node, 0)
