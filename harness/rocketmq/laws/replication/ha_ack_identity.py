"""``ha-ack-identity``: a report above the master's log end proves nothing, so no acknowledgement rests on it.

Judged at every answered send that such a report would cover: PUT_OK is a violation unless a slave had validly reported
the message's end as well, or a peer that is no slave had (``ack-replicated`` counts those).

Left out: that the connection is refused or closed, see ``ha-divergence-refused``. Source: the check that RocketMQ 4.9.3
added to HAConnection for later reports, extended to first ones (any TCP peer could acknowledge).
"""

from ....event_types.client import Ok
from ....judging.law import only
from ...law import Law


class HaAckIdentity(Law):
    id = "ha-ack-identity"
    promise = "The master never believes a report above its own log end: no acknowledgement rests on one."
    source = "HAConnection.ReadSocketService; apache/rocketmq issues 1155 and 3015"
    needs = frozenset({"append", "report", "ok"})

    @only("send")
    def on_ok(self, event: Ok) -> None:
        known = self.known
        if known.ahead < 0 or not event.waits or not known.needed:
            return
        if event.hi is None or event.hi > known.ahead:
            return
        self.judged += 1
        if event.status == "PUT_OK" and not known.is_covered(event) and not known.rests_on_rogues(event):
            self.violate(
                event,
                f"{event.message} ending at {event.hi} was acknowledged; only a report of {known.ahead}, above the "
                "master's log end, covers it",
            )
