"""``store-time-ordered``: store timestamps do not decrease along a log, except where the master's clock was set.

Checks:
- Neighbouring records that the master stored between two settings of its clock (``clock``); without a trace of appends,
  only before the first setting. A promotion counts as a setting: the log then has another clock's times.
Abstains when:
- The records of a diverged slave (see ``logs``) are behind the common part, where they may be mixed.
Source: CommitLog.putMessage, which takes the timestamp under the lock that orders the log; lookups by time and the
checkpoint search a log as ordered.
"""

from ....event_types.machine import Clock
from ....history import Event
from ....judging.law import only
from ...event_types.log import Append, Record
from ...law import Law
from ...topology import MASTER


class StoreTimeOrdered(Law):
    needs = frozenset({"record"})

    def begin(self) -> None:
        self.stored: dict[tuple[int | None, str | None], int | None] = {}
        """By record: the setting under which it was stored, after the first one. None: one of two."""
        self.just_set = False
        self.last: dict[str | None, tuple[Event, int | None]] = {}

    @only(node=MASTER)
    def on_clock(self, event: Clock) -> None:
        self.just_set = True

    @property
    def settings(self) -> int:
        return len(self.known.clocks.get(MASTER, ())) + self.known.stores.promotions

    @only("put", node=MASTER)
    def on_append(self, event: Append) -> None:
        if self.settings:
            # The first record may have read the clock before the setting.
            self.stored[event.lo, event.message] = None if self.just_set else self.settings
            self.just_set = False

    def on_record(self, event: Record) -> None:
        if event.store_ms is None or event.lo >= self.known.logs.diverged.get(event.node, event.hi):
            return
        stored = self.stored.get((event.lo, event.message), 0)
        before = self.last.get(event.node)
        self.last[event.node] = (event, stored)
        if before is None or stored is None or before[0].op != event.audit or before[1] != stored:
            return
        if self.settings and "append" not in self.known.observes:
            return
        self.judged += 1
        value = before[0].value or 0
        if event.store_ms < value:
            what = f"{event.message} at {event.lo} was stored at {event.store_ms} ms, the last record at {value} ms"
            self.violate(event, what)
