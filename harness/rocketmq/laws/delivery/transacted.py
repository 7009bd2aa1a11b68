"""Base of laws about transactions.

An END_TRANSACTION names its half message by its log offset. After the master has lost a part of its log, another
message may be at that offset, so nothing is judged.
"""

from collections.abc import Collection

from ...event_types.transactions import Decide
from ...known.sent import Request
from ...law import Law
from ...topology import MASTER

HALF = "RMQ_SYS_TRANS_HALF_TOPIC/"
COMMIT = "commit"


class Transacted(Law):
    @property
    def excused(self) -> bool:
        return MASTER in self.known.stores.lost

    @property
    def asked(self) -> Collection[Request[Decide]]:
        return self.known.sent.ends.values()

    def commits(self, message: str | None) -> list[Request[Decide]]:
        """All commits sent for this half message, with any result."""
        return [each for each in self.asked if each.event.message == message and each.said.get("says") == COMMIT]
