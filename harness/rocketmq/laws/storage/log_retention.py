"""``log-retention``: no log file with a message younger than fileReservedTime is deleted, except on demand.

Checks:
- The age, by the node's clock, of the youngest record in the deleted files: since it was written there, or since the
  master stored it or the message after it, whichever is longer.
- The time of each deletion (not in real-time labs, which see a start after it is over).
Abstains when:
- Files are deleted on demand.
- Old files remain, or are deleted outside the hours of deleteWhen, which are not recorded.
Source: DefaultMessageStore.addScheduleTask, CleanCommitLogService, MappedFileQueue.deleteExpiredFileByTime.
"""

from __future__ import annotations

from ....event_types.machine import Fault, Lab
from ....history import MS
from ....judging.law import DURABILITY, EVERY, EventFilter, only
from ...event_types.log import Expire
from ...law import Law

HOUR_MS = 3_600_000
FIRST_CLEANUP_MS = 60_000
ON_DEMAND, DEMANDED_NS = "retention", 30_000 * MS
"""The fault that deletes files, and how long it may take in real-time labs."""


class LogRetention(Law):
    kind = DURABILITY
    needs = frozenset({"config", "append", "expire"})
    awaits = {"expire": EVERY, "fault": EventFilter(frozenset({ON_DEMAND}))}

    def begin(self) -> None:
        self.demanded: dict[str, int] = {}
        self.next_cleanup: dict[str, int] = {}
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
        # A slave may use the time at which its master stored a message.
        age = min(max(now - known.wall_ms(each), now - stored.get(each.lo, now)) for each in gone)
        # Without file times, a broker uses the next message; it is older if a clock was set back.
        age = max(age, now - stored.get(event.new_start, now))
        if age < kept_ms:
            what = f"{node} deletes its log before {event.new_start}; its youngest record is {age} ms old"
            self.violate(event, f"{what}; fileReservedTime is {kept_ms} ms", since=None)

    def _judge_time(self, event: Expire) -> None:
        known, node = self.known, event.node
        due = max(self.next_cleanup.get(node, 0), known.nodes.last_start(node) + FIRST_CLEANUP_MS * MS)
        if self.exact and event.t < due:
            self.violate(event, f"{node} deletes old files {(due - event.t) // MS} ms too early", since=None)
        self.next_cleanup[node] = event.t + known.setting(node, "cleanResourceInterval") * MS
