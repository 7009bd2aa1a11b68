"""What laws share that judge transactions.

An END_TRANSACTION names its half message by where the record begins. Where the master's log has lost a part, another
message may lie there by now: nothing is judged from then on.
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
        """Whether the master's log ever lost something."""
        return MASTER in self.known.stores.lost

    @property
    def asked(self) -> Collection[Request[Decide]]:
        """All ends that were asked for."""
        return self.known.sent.ends.values()

    def commits(self, message: str | None) -> list[Request[Decide]]:
        """All that were asked for this half message, whatever came of them."""
        return [each for each in self.asked if each.event.message == message and each.said.get("says") == COMMIT]
