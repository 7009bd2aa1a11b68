"""``ack-within-limits``: a broker stores no message that is larger than it was told to take.

A body of more than maxMessageSize bytes, and properties of which no record can say how long they are, are refused.
Judged at each answer to such a send: no status that says "stored" may be among them.

Left out: batches, of which versions limit the parts or the whole; bodies whose size the history does not say, which
are small; what else a record consists of, which some versions count, too. Source: MessageExtEncoder.encode.
"""

from ....event_types.client import Fail, Invoke, Ok
from ....judging.law import CONVENTION, only
from ....texts.content import is_followed, payload
from ...contract import STORED
from ...law import Law


class AckWithinLimits(Law):
    id = "ack-within-limits"
    kind = CONVENTION
    promise = "No message is stored whose body is larger than maxMessageSize, or whose properties no record can hold."
    source = "MessageExtEncoder.encode: MESSAGE_SIZE_EXCEEDED, PROPERTIES_SIZE_EXCEEDED"
    needs = frozenset({"config", "invoke", "ok"})

    def _why_not(self, event: Invoke) -> str | None:
        said, most = payload(event.detail), self.known.setting(event.node, "maxMessageSize")
        if "illegal" in said:
            # Its size is that of the properties.
            return "more properties than a record can hold" if said["illegal"] else None
        size = said.get("size", 0)
        return f"a body of {size} bytes, where maxMessageSize is {most}" if size > most else None

    @only("send")
    def on_ok(self, event: Ok | Fail) -> None:
        call = self.known.calls.begun(event)
        if call is None or call.follows or is_followed(call.call):
            return
        why = self._why_not(call.call)
        if why is None:
            return
        self.judged += 1
        if event.status in STORED:
            self.violate(event, f"{event.node} answers {event.status} to {event.message}, which has {why}")

    on_fail = on_ok
