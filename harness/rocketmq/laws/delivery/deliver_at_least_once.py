"""``deliver-at-least-once``: a group receives again only what lies above the progress that its broker knew.

When a consumer takes a queue it asks a broker for the group's progress; when a broker's answer sends it back, that
broker knows the progress, too. Of what the group had been given before, only that may come again which lies at or above
the least progress that this broker may then have known: its last commit; after a kill the last one that it had written,
and of a slave what its last sync brought. A slave's answer sends nobody back at all: what it lacks it may still get.
``notes`` count the ``repeats``.

Left out: broadcasting consumers, whose progress no broker knows; everything after the master lost a part of its log,
since offsets come a second time then; brokers of which a power loss took the knowledge. Not applicable with
offsetCheckInSlave, where a slave that lags sends consumers back. Source: ConsumerOffsetManager, RebalanceImpl.
"""

from ....event_types.client import Deliver, Ok
from ....judging.law import DURABILITY, only
from ...known.registers import NONE
from ...topology import SLAVES
from .never_moved import NeverMoved


class DeliverAtLeastOnce(NeverMoved):
    id = "deliver-at-least-once"
    kind = DURABILITY
    promise = "Messages that a group gets again lie above the last commit at the broker that told it where to resume."
    source = "ConsumerOffsetManager; RebalancePushImpl.computePullFromWhere"
    needs = frozenset({"invoke", "ok", "deliver", "assign"})

    def begin(self) -> None:
        self.notes = {"repeats": 0}

    @only("pull", node=SLAVES)
    def on_ok(self, event: Ok) -> None:
        if event.group is None:
            return
        asked, told = event.asked_from, event.queue_offset
        if asked is not None and told is not None and told < asked:
            self.judged += 1
            self.violate(
                event, f"{event.node} sends {event.group} back from {asked} to {told} in {event.queue}, though it may "
                "only be behind"
            )  # fmt: skip

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
            self.violate(
                event, f"{event.message}, {event.queue} at {event.queue_offset}, came to {event.group} again, though "
                f"{held.asked_at} knew that it had gone on to {held.floor}"
            )  # fmt: skip
