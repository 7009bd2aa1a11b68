"""``ha-ack-identity``: no acknowledgement rests on a report above the master's own log end.

Checks:
- Each answered send that such a report would cover: PUT_OK needs a valid report of the message's end by a slave, or by
  a rogue peer (``ack-replicated`` counts those).
Source: the check that RocketMQ 4.9.3 added to HAConnection.ReadSocketService for later reports, extended to first ones
(any TCP peer could acknowledge); apache/rocketmq issues 1155 and 3015.
"""

from ....event_types.client import Ok
from ....judging.law import only
from ...law import Law


class HaAckIdentity(Law):
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
            report = f"a report of {known.ahead}, above the master's log end"
            self.violate(event, f"{event.message} ending at {event.hi} was acknowledged; only {report}, covers it")
