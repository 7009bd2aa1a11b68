"""``config-applied``: a broker serves no call that its administrators' settings forbid.

Checks:
- No pull is answered as served if during the whole call the group may not consume, the topic may not be read, or the
  queue is beyond the topic's queues to read.
- No send is stored in a queue beyond all of the topic's queues.
- On a slave the settings are those that it synced.
Abstains when:
- Several settings are possible, as during a change, or one of them allows the call. A deleted topic may come back with
  the next send, a deleted group with the next pull.
- The broker grants a call that it should refuse for another reason: see ``invalid-refused``. Wrong refusals: see
  ``valid-taken``.
Source: PullMessageProcessor.processRequest, AbstractSendMessageProcessor.msgCheck, which ignores a topic's permissions.
"""

from ....event_types.client import SENDS, Ok
from ....judging.law import EventFilter, only
from ...known.metadata import CHANGES
from ...law import Law


class ConfigApplied(Law):
    needs = frozenset({"invoke", "ok"})
    awaits = {"invoke": EventFilter(frozenset(CHANGES))}

    @only("pull", "select", *SENDS)
    def on_ok(self, event: Ok) -> None:
        begun, tables = self.known.calls.begun(event), self.known.tables
        topic, _, number = (event.queue or "").rpartition("/")
        if begun is None or not number.isdecimal():
            return
        node, since = event.node, begun.call.seq
        is_send = event.f in SENDS
        if is_send:
            allowed = {each is None or each.takes(int(number)) for each in tables.topics(node, topic, since)}
        else:
            allowed = tables.reads(node, event.queue or "", event.group or "", since)
        self.judged += bool(allowed)
        if allowed == {False}:
            who = event.message if is_send else event.group or "a reader"
            what = f"{event.f} of {who} at {event.queue}"
            self.violate(event, f"{node} answered {event.status} to the {what}, which administrators forbade")
