"""``deliver-at-least-once``: a group receives again only messages above the last commit at the broker that it resumed
from.

Checks:
- A consumer that takes a queue, or is sent back by an answer, resumes at or above the least progress that the broker
  may know: the last commit, after a kill the last saved one, for a slave the last synced one. ``notes`` count
  ``repeats``.
- A slave's answer to a pull sends no consumer back: the slave may only lack the message yet.
Abstains when:
- The group broadcasts: brokers do not store its progress.
- The master lost a part of its log (offsets are reused), or a power loss took the broker's table.
- offsetCheckInSlave is on (not applicable): a slave that lags sends consumers back.
Source: ConsumerOffsetManager, RebalancePushImpl.computePullFromWhere.
"""

from ....event_types.client import Deliver, Ok
from ....judging.law import DURABILITY, only
from ...known.registers import NONE
from ...topology import SLAVES
from .never_moved import NeverMoved


class DeliverAtLeastOnce(NeverMoved):
    kind = DURABILITY
    needs = frozenset({"invoke", "ok", "deliver", "assign"})

    def begin(self) -> None:
        self.notes = {"repeats": 0}

    @only("pull", node=SLAVES)
    def on_ok(self, event: Ok) -> None:
        if event.group is None:
            return
        asked, following = event.asked_from, event.queue_offset
        if asked is not None and following is not None and following < asked:
            self.judged += 1
            what = f"{event.node} sends {event.group} back from {asked} to {following} in {event.queue}"
            self.violate(event, f"{what}, though it may only be behind")

    def on_deliver(self, event: Deliver) -> None:
        known = self.known.consumption
        consumed = known.consumed_by(event) if event.group is not None else None
        if consumed is None or event.message not in consumed.messages:
            return
        self.notes["repeats"] += 1
        held = known.assignments.get((event.process, event.queue))
        if held is None or held.floor == NONE or consumed.reader != event.group or known.lost_from is not None:
            return
        self.judged += 1
        if event.queue_offset < held.floor:
            what = f"{event.message}, {event.queue} at {event.queue_offset}, came to {event.group} again"
            self.violate(event, f"{what}, though {held.asked_at} knew that it had gone on to {held.floor}")
