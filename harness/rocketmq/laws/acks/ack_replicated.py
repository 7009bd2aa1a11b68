"""``ack-replicated``: a SYNC_MASTER answers a waiting send with PUT_OK only after a slave (on 5.x: inSyncReplicas - 1
slaves) has appended all of it and reported its last byte.

Enough are inSyncReplicas - 1 different slaves, since the master counts itself; in 4.x one. Where that is none, the law
does not apply.

Checks:
- Before the client's answer, the master received a slave's valid report at or above the message's end, and the slave
  had appended that far (if its appends are traced). Reports of a diverged slave count: the master cannot recognise it.
- The slave's log began at or below the message. A slave that joined without a log starts at its master's last file.
Abstains when:
- The reports are from rogue peers: the 4.9 wire has no identity. ``notes`` count them as ``strangers_word``.
- The answer was in flight when the master ended.
- The slaves lose the message later (``contract``).
Source: HAService.GroupTransferService (5.x counts a slave's connections, not slaves); the promise of synchronous double
write.
"""

from ....event_types.client import SENDS, Ok
from ....judging.law import DURABILITY
from ...law import Law
from ...topology import MASTER, ROGUE


class AckReplicated(Law):
    kind = DURABILITY
    applies_with = "brokerRole=SYNC_MASTER and a slave; on 5.x also inSyncReplicas of 2 or more"
    needs = frozenset({"append", "report", "ok"})

    def applies(self) -> bool:
        return self.known.needed > 0

    def on_ok(self, event: Ok) -> None:
        needed = self.known.needed
        if event.status != "PUT_OK" or event.f not in SENDS or not event.waits or not needed:
            return
        self.judged += 1
        holders = self.known.holders(event)
        if self.known.rests_on_rogues(event):
            self.notes["strangers_word"] = self.notes.get("strangers_word", 0) + 1
        elif holders < needed and not self._was_in_flight(event):
            self.violate(event, self._why(event, holders))

    def _was_in_flight(self, ok: Ok) -> bool:
        """Whether an incarnation of the master that has ended may have sent it; its reports are forgotten."""
        ended = self.known.nodes.ended_at.get(MASTER)
        return ended is not None and ok.t - ended < self.known.healthy_ns

    def _why(self, ok: Ok, holders: int) -> str:
        if holders:
            return (
                f"{ok.message} was acknowledged; {holders} of {self.known.needed} slaves had reported its end, {ok.hi}"
            )
        if self.known.pushed >= (ok.hi or 0) and self._begin_behind(ok):
            return f"{ok.message} was acknowledged; no slave holds [{ok.lo}, {ok.hi}): its log begins behind it"
        return f"{ok.message} was acknowledged; no slave had reported its end, {ok.hi}"

    def _begin_behind(self, ok: Ok) -> bool:
        begins = [lo for node, lo in self.known.logs.starts.items() if node not in (MASTER, ROGUE)]
        return ok.lo is not None and bool(begins) and min(begins) > ok.lo
