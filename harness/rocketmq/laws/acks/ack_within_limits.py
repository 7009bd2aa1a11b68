"""``ack-within-limits``: a broker stores no body larger than maxMessageSize, and no properties that a record cannot
hold.

Checks:
- No send is answered as stored with a body above maxMessageSize, or with properties too long for a record's length
  field.
Abstains when:
- The send is a batch: versions differ in limiting its parts or the whole.
- The history has no size for the body, which is small then.
Source: MessageExtEncoder.encode: MESSAGE_SIZE_EXCEEDED, PROPERTIES_SIZE_EXCEEDED. Some versions also count other parts
of the record.
"""

from ....event_types.client import Fail, Invoke, Ok
from ....judging.law import CONVENTION, only
from ....texts.content import is_followed, payload
from ...contract import STORED
from ...law import Law


class AckWithinLimits(Law):
    kind = CONVENTION
    needs = frozenset({"config", "invoke", "ok"})

    def _why_not(self, event: Invoke) -> str | None:
        content, most = payload(event.detail), self.known.setting(event.node, "maxMessageSize")
        if "illegal" in content:
            # Its size is the size of the properties.
            return "more properties than a record can hold" if content["illegal"] else None
        size = content.get("size", 0)
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
