"""What laws share that judge messages which consumers sent back: who asked for what.

A send-back names its message by where the record begins. Where the master's log has lost a part, another message may
lie there by now: nothing is judged from then on.
"""

from typing import NamedTuple

from ....history import MS
from ....texts.content import told
from ...kinds.groups import Back
from ...law import Law
from ...places import MASTER
from .deliver_delayed import LEVELS, delays_ms

RETRY, DEAD = "%RETRY%", "%DLQ%"
"""How the topics of a group begin, where such messages come again, or end."""
FIRST_LEVEL = 3
"""The delay level of a message that comes back for the first time; each time it is one higher."""


class Asked(NamedTuple):
    """A message that was sent back, as its consumer told."""

    event: Back
    at: int
    """Where its record begins."""
    times: int
    """How often it had been sent back before, as the consumer knew."""
    level: int
    most: int


class SentBack(Law):
    """Bounded by the send-backs of one trial."""

    def begin(self) -> None:
        self.asked: dict[int, Asked] = {}
        """All that a consumer asked the pair's master for, by operation."""
        self.taken: dict[int, int] = {}
        """When the master said that it has one, ns; said by the incarnation that was asked."""

    @property
    def excused(self) -> bool:
        """Whether the master's log ever lost something."""
        return MASTER in self.known.stores.lost

    def delay_ns(self, level: int) -> int:
        """What a level that the master has means to it."""
        return self._delays()[level - 1] * MS

    def level_of(self, back: Asked, times: int) -> int:
        """The level with which a message comes again after so many retries; 0: not at all, it is a dead letter."""
        if times >= back.most:
            return 0
        return min(back.level or FIRST_LEVEL + times, len(self._delays()))

    def _delays(self) -> tuple[int, ...]:
        return delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))

    def on_back(self, event: Back) -> None:
        if event.f == "asked":
            said = told(event.detail)
            at, times, level, most = (int(said.get(name, 0)) for name in ("at", "times", "level", "most"))
            self.asked[event.op] = Asked(event, at, times, level, most)
        elif event.f == "ok" and event.op in self.asked and self.known.calls.is_current(event):
            self.taken[event.op] = event.t
