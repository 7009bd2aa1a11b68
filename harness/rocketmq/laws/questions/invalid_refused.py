"""``invalid-refused``: a request that makes no sense is refused, with a code that tells the client so.

Each broker, and a simulated name server, is sent one such request at a trial's end; what it may answer stands in
``invalid_requests``. Any other answer is a violation: success, say, or a code on which clients try again. Bytes that
are not a frame must end the connection: nothing says which request an answer would be for. Left out: no answer in
time, and SYSTEM_BUSY for a reason in brackets, which say nothing about the request; RocketMQ before 4.9, which takes
topics of any name and of no size, and deletes its own: what was measured begins with 4.9.
Source: SendMessageProcessor, PullMessageProcessor, AdminBrokerProcessor, TopicValidator.
"""

from ...event_types.invalid import Invalid
from ...invalid_requests import REQUESTS
from ...law import Law
from .asked import BUSY, SILENT

SINCE = (4, 9)
"""The first version that is known to refuse all of them."""


class InvalidRefused(Law):
    id = "invalid-refused"
    promise = "A request that makes no sense is refused with a code that says so."
    source = "SendMessageProcessor; PullMessageProcessor; AdminBrokerProcessor; TopicValidator"
    needs = frozenset({"invalid"})

    def on_invalid(self, event: Invalid) -> None:
        request = REQUESTS.get(event.f)
        if request is None or _says_nothing(event) or self.known.is_older(event.node, SINCE):
            return
        self.judged += 1
        if event.status not in request.refused:
            told = f": {event.detail}" if event.detail else ""
            allowed = ", ".join(sorted(request.refused))
            self.violate(event, f"{event.node}, sent {event.f}, answered {event.status}{told}; allowed: {allowed}")


def _says_nothing(event: Invalid) -> bool:
    if event.status == BUSY:
        # Such as [REJECTREQUEST], or [TIMEOUT_CLEAN_QUEUE]: a client may try again.
        return (event.detail or "").startswith("[")
    return event.status in SILENT
