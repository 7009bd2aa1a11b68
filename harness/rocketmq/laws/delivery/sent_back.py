"""Base of laws about messages that consumers send back.

A send-back names its message by its log offset. After the master has lost a part of its log, another message may be at
that offset, so nothing is judged.
"""

from collections.abc import Collection

from ....history import MS
from ...event_types.groups import Back
from ...known.sent import Request
from ...law import Law
from ...topology import MASTER
from .deliver_delayed import LEVELS, delays_ms

FIRST_LEVEL = 3
"""The delay level of the first retry; each retry adds one."""


class SentBack(Law):
    @property
    def asked(self) -> Collection[Request[Back]]:
        return self.known.sent.backs.values()

    @property
    def excused(self) -> bool:
        return MASTER in self.known.stores.lost

    def has_no_retries(self, back: Request[Back]) -> bool:
        """Whether the group may have had no retry queue: then a broker confirms, and stores nothing."""
        event = back.event
        groups = self.known.tables.groups(event.node or "", event.group or "", event.seq)
        return any(not each.retryQueueNums for each in groups)

    def delay_ns(self, level: int) -> int:
        return self._delays()[level - 1] * MS

    def level_of(self, back: Request[Back], times: int) -> int:
        """The delay level after so many retries; 0 for a dead letter."""
        if times >= int(back.said.get("most", 0)):
            return 0
        return min(int(back.said.get("level", 0)) or FIRST_LEVEL + times, len(self._delays()))

    def _delays(self) -> tuple[int, ...]:
        return delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))
