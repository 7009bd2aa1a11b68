"""What laws share that judge transactions: which half messages were sent, and who asked to end them how.

An END_TRANSACTION names its half message by where the record begins. Where the master's log has lost a part, another
message may lie there by now: nothing is judged from then on.
"""

from typing import NamedTuple

from ....kinds.client import SENDS, Invoke
from ....texts.content import told
from ...kinds.transactions import Decide
from ...law import Law
from ...places import MASTER

HALF = "RMQ_SYS_TRANS_HALF_TOPIC/"
COMMIT = "commit"


class Asked(NamedTuple):
    """An end that was asked for."""

    event: Decide
    says: str
    at: int
    """Where the half message's record begins."""


class Transacted(Law):
    """Bounded by the transactions of one trial."""

    def begin(self) -> None:
        self.halves: dict[str | None, Invoke] = {}
        """By message."""
        self.asked: dict[int, Asked] = {}
        """By operation."""
        self.taken: set[int] = set()
        """Operations that the master answered by the incarnation that was asked."""

    @property
    def excused(self) -> bool:
        """Whether the master's log ever lost something."""
        return MASTER in self.known.stores.lost

    def on_invoke(self, event: Invoke) -> None:
        if event.f in SENDS and told(event.detail).get("half"):
            self.halves[event.message] = event

    def on_decide(self, event: Decide) -> None:
        if event.f == "asked":
            said = told(event.detail)
            self.asked[event.op] = Asked(event, str(said.get("says")), int(said.get("at", -1)))
        elif event.f == "ok" and event.op in self.asked and self.known.calls.is_current(event):
            self.taken.add(event.op)

    def commits(self, message: str | None) -> list[Asked]:
        """All that were asked for this half message, whatever came of them."""
        return [each for each in self.asked.values() if each.event.message == message and each.says == COMMIT]
