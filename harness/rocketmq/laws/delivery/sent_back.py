"""What laws share that judge messages which consumers sent back: who asked for what.

A send-back names its message by where the record begins. Where the master's log has lost a part, another message may
lie there by now: nothing is judged from then on.
"""

from collections.abc import Collection

from ....history import MS
from ...event_types.groups import Back
from ...known.sent import Request
from ...law import Law
from ...topology import MASTER
from .deliver_delayed import LEVELS, delays_ms

RETRY, DEAD = "%RETRY%", "%DLQ%"
"""How the topics of a group begin, where such messages come again, or end."""
FIRST_LEVEL = 3
"""The delay level of a message that comes back for the first time; each time it is one higher."""


class SentBack(Law):
    @property
    def asked(self) -> Collection[Request[Back]]:
        """All that a consumer asked the pair's master for."""
        return self.known.sent.backs.values()

    @property
    def excused(self) -> bool:
        """Whether the master's log ever lost something."""
        return MASTER in self.known.stores.lost

    def delay_ns(self, level: int) -> int:
        """What a level that the master has means to it."""
        return self._delays()[level - 1] * MS

    def level_of(self, back: Request[Back], times: int) -> int:
        """The level with which a message comes again after so many retries; 0: not at all, it is a dead letter."""
        if times >= int(back.said.get("most", 0)):
            return 0
        return min(int(back.said.get("level", 0)) or FIRST_LEVEL + times, len(self._delays()))

    def _delays(self) -> tuple[int, ...]:
        return delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))
