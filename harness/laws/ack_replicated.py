"""``ack-replicated``: a SYNC_MASTER says PUT_OK to a waiting send only when a slave has the message.

Has: a valid report at or above the message's end reached the master before the answer reached the client, and the slave
had appended that far (where its appends are traced). The slave's log began at or below the message: one that joined
without a log starts at its master's last file, and its reports prove nothing of what lies before. A report of a slave
in class rollback is taken at its word, since the master cannot know better.

Left out: whether that slave still has it now, see ``contract``. Source: property 5, HAService.GroupTransferService.
"""

from __future__ import annotations

from pairproof.harness.history import Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import HOSTILE, MASTER


class AckReplicated(Law):
    """See the module."""

    id = "ack-replicated"
    promise = "PUT_OK to a waiting send on a SYNC_MASTER: a slave had appended all of it and reported its last byte."
    source = "HAService.GroupTransferService; the promise of synchronous double write"
    needs = frozenset({"append", "report", "ok"})
    key = "message"

    def on_ok(self, event: Event) -> None:
        """A send was answered."""
        if event.status != "PUT_OK" or event.f != "send" or not event.value or not self.ledger.sync_master:
            return
        self.judged += 1
        if not self.ledger.is_covered(event):
            self.violate(event, self._why(event))

    def _why(self, ok: Event) -> str:
        if self.ledger.pushed >= (ok.hi or 0) and self._begin_behind(ok):
            return f"{ok.message} was acknowledged; no slave holds [{ok.lo}, {ok.hi}): its log begins behind it"
        return f"{ok.message} was acknowledged; no slave had reported its end, {ok.hi}"

    def _begin_behind(self, ok: Event) -> bool:
        begins = [lo for node, lo in self.ledger.starts.items() if node not in (MASTER, HOSTILE)]
        return ok.lo is not None and bool(begins) and min(begins) > ok.lo
