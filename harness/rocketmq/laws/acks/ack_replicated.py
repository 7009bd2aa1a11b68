"""``ack-replicated``: a SYNC_MASTER says PUT_OK to a waiting send only when enough slaves have the message.

Enough: inSyncReplicas - 1 different ones, since the master counts itself; in 4.x always one. A master that waits for
none (an ASYNC_MASTER, or 5.x's default) makes no promise, and the law does not apply. Has: a valid report at or above
the message's end reached the master before the answer reached the client, and the slave had appended that far (where
its appends are traced). The slave's log began at or below the message: one that joined without a log starts at its
master's last file, and its reports prove nothing of what lies before. A report of a diverged slave is taken at
its word, since the master cannot know better.

Enough may also be peers of which the lab knows that they are no slaves: they reported what they never stored. The 4.9
wire has no identity, so such an answer is no violation; ``notes`` count it as ``strangers_word``.

Left out: whether those slaves still have it now, see ``contract``; answers of a life of the master that ended while
they were on their way. Source: HAService.GroupTransferService
(5.x counts a slave's connections, not slaves).
"""

from ....event_types.client import SENDS, Ok
from ....event_types.node import Config
from ....judging.law import DURABILITY, only
from ...law import Law
from ...settings import parse, promised_slaves
from ...topology import MASTER, ROGUE


class AckReplicated(Law):
    id = "ack-replicated"
    kind = DURABILITY
    promise = (
        "A SYNC_MASTER answers a waiting send with PUT_OK only after a slave (on 5.x as many as inSyncReplicas asks "
        "for) has appended all of it and reported its last byte."
    )
    source = "HAService.GroupTransferService; the promise of synchronous double write"
    applies_with = "brokerRole=SYNC_MASTER and a slave; on 5.x also inSyncReplicas of 2 or more"
    needs = frozenset({"append", "report", "ok"})

    @only(node=MASTER)
    def on_config(self, event: Config) -> None:
        self.applicable = promised_slaves(parse(event.detail or "{}")) > 0

    def on_ok(self, event: Ok) -> None:
        needed = self.known.needed
        if event.status != "PUT_OK" or event.f not in SENDS or not event.waits or not needed:
            return
        self.judged += 1
        holders = self.known.holders(event)
        if self.known.rests_on_rogues(event):
            self.notes["strangers_word"] = self.notes.get("strangers_word", 0) + 1
        elif holders < needed and not self._was_on_its_way(event):
            self.violate(event, self._why(event, holders))

    def _was_on_its_way(self, ok: Ok) -> bool:
        """Whether a life of the master gave it that has ended since: what strangers had said to that is forgotten."""
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
